//! Texts with names in braces.

use std::fmt::Display;

/// What names stand for.
#[derive(Debug, Default, Clone)]
pub(super) struct Names(Vec<(String, String)>);

impl Names {
    pub(super) fn add(&mut self, name: &str, value: impl Display) {
        self.0.push((format!("{{{name}}}"), value.to_string()));
    }

    /// The text with every `{name}` that is known replaced. Settings files have braces of their own, so others are left.
    pub(super) fn fill(&self, text: &str) -> String {
        let start = text.to_owned();
        self.0
            .iter()
            .fold(start, |text, (name, value)| text.replace(name, value))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_names_are_replaced_and_other_braces_left() {
        let mut names = Names::default();
        names.add("port", 7);
        names.add("port2", 8);
        assert_eq!(
            names.fill("{port}-{port2} {127,0} { port = {port} }"),
            "7-8 {127,0} { port = 7 }"
        );
    }
}
