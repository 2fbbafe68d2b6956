//! The series of `/metrics`, as far as the overview needs them.

/// One series with its value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Series {
    pub(super) name: String,
    labels: Vec<(String, String)>,
    pub(super) value: f64,
}

impl Series {
    /// All series that `text` has; lines that are none are left out.
    pub(super) fn all(text: &str) -> Vec<Self> {
        text.lines().filter_map(Self::of).collect()
    }

    fn of(line: &str) -> Option<Self> {
        if line.starts_with('#') {
            return None;
        }
        let end = line.find(['{', ' '])?;
        let (name, rest) = line.split_at(end);
        let (labels, rest) = match rest.strip_prefix('{') {
            Some(rest) => labels(rest)?,
            None => (Vec::new(), rest),
        };
        let value = rest.split_whitespace().next()?.parse().ok()?;
        let name = name.to_owned();
        Some(Self {
            name,
            labels,
            value,
        })
    }

    /// The value of a label; empty if there is none.
    pub(super) fn label(&self, name: &str) -> &str {
        let label = self.labels.iter().find(|(label, _)| label == name);
        label.map_or("", |(_, value)| value)
    }

    /// What it is at every moment.
    pub(super) fn id(&self) -> Id<'_> {
        (&self.name, &self.labels)
    }
}

type Labels = Vec<(String, String)>;

/// What tells a series from all others: its name and its labels.
pub(super) type Id<'a> = (&'a str, &'a [(String, String)]);

/// Labels up to the closing brace, and what follows it.
fn labels(mut rest: &str) -> Option<(Labels, &str)> {
    let mut labels = Vec::new();
    loop {
        if let Some(rest) = rest.strip_prefix('}') {
            return Some((labels, rest));
        }
        let (name, quoted) = rest.split_once("=\"")?;
        let (value, after) = unquoted(quoted)?;
        labels.push((name.to_owned(), value));
        rest = after.strip_prefix(',').unwrap_or(after);
    }
}

/// A value up to its closing quote, and what follows it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                c => value.push(c),
            },
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_read_with_their_labels_and_comments_are_left_out() {
        let text =
            "# HELP a b\na_total{x=\"1,}\",y=\"say \\\"hi\\\"\"} 3\nb 0.5 171\nbroken{x=\"1\n";
        let all = Series::all(text);
        assert_eq!(all.len(), 2);
        assert_eq!(
            (all[0].label("x"), all[0].label("y")),
            ("1,}", "say \"hi\"")
        );
        assert_eq!((all[0].value, all[1].value), (3.0, 0.5));
        assert_eq!((all[1].name.as_str(), all[1].label("x")), ("b", ""));
    }
}
