//! `${VAR}` in values.

use std::collections::BTreeMap;

use super::{Node, Path, Scalar, SourcePosition, Value};
use crate::error::{Error, Kind, Result};
use crate::limits::VALUE_BYTES_MAX;

/// Variables by name.
pub type Variables = BTreeMap<String, String>;

/// Fills variables into the values of a file. What came from a variable itself stays as it is.
pub(crate) fn fill(file: &str, tree: &mut Node, variables: &Variables) -> Result<()> {
    walk(tree, &Path::default(), &mut |scalar, place, path| {
        let filled = filled(&scalar.text, variables).map_err(|message| {
            Error::whole(Kind::Invalid, file, message)
                .at(place.clone())
                .of(path)
        })?;
        if filled != scalar.text {
            scalar.written = Some(std::mem::replace(&mut scalar.text, filled));
        }
        Ok(())
    })
}

fn walk(
    node: &mut Node,
    path: &Path,
    visit: &mut impl FnMut(&mut Scalar, &SourcePosition, &Path) -> Result<()>,
) -> Result<()> {
    match (&mut node.value, &node.place) {
        (Value::Scalar(scalar), SourcePosition::File { .. }) => visit(scalar, &node.place, path),
        (Value::Null | Value::Scalar(_), _) => Ok(()),
        (Value::List(items), _) => {
            let mut items = items.iter_mut().enumerate();
            items.try_for_each(|(index, item)| walk(item, &path.to(index), visit))
        }
        (Value::Map(entries), _) => {
            let mut entries = entries.iter_mut();
            entries.try_for_each(|e| walk(&mut e.node, &path.to(e.name.as_str()), visit))
        }
    }
}

/// A text with its variables filled in, or what is wrong with it.
pub fn filled(text: &str, variables: &Variables) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("${") {
        // `$${` is how `${` itself is written.
        if rest[..at].ends_with('$') {
            out.push_str(&rest[..at - 1]);
            out.push_str("${");
            rest = &rest[at + 2..];
            continue;
        }
        out.push_str(&rest[..at]);
        let (name, after) = rest[at + 2..]
            .split_once('}')
            .ok_or("expected a } after ${")?;
        out.push_str(value(name, variables)?);
        rest = after;
    }
    out.push_str(rest);
    match out.len() {
        0..=VALUE_BYTES_MAX => Ok(out),
        found => Err(format!(
            "expected at most {VALUE_BYTES_MAX} bytes, found {found}"
        )),
    }
}

fn value<'a>(name: &str, variables: &'a Variables) -> Result<&'a str, String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty() || !name.chars().all(is_name) {
        return Err(format!(
            "expected the name of a variable between ${{ and }}, found {name:?}"
        ));
    }
    let value = variables.get(name).map(String::as_str);
    value.ok_or_else(|| format!("the variable {name} is not set"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_filled_in_where_they_stand() {
        let variables = [("A", "1"), ("B_2", "two"), ("D", "${A}")];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let variables = Variables::from(variables);
        for (text, expected) in [
            ("plain $ {A} $A", Ok("plain $ {A} $A")),
            ("${A}", Ok("1")),
            ("x${A}y${B_2}z", Ok("x1ytwoz")),
            ("$${A}", Ok("${A}")),
            ("$$${A}", Ok("$${A}")),
            ("$${A}${A}", Ok("${A}1")),
            ("${D}", Ok("${A}")),
            ("${C}", Err("the variable C is not set")),
            ("${A", Err("expected a } after ${")),
            (
                "${}",
                Err("expected the name of a variable between ${ and }, found \"\""),
            ),
            (
                "${A:-b}",
                Err("expected the name of a variable between ${ and }, found \"A:-b\""),
            ),
        ] {
            let expected = expected.map(str::to_owned).map_err(str::to_owned);
            assert_eq!(filled(text, &variables), expected, "{text}");
        }
    }

    #[test]
    fn a_value_has_a_longest_length() {
        let variables = Variables::from([("A".to_owned(), "x".repeat(VALUE_BYTES_MAX))]);
        assert!(filled("${A}", &variables).is_ok());
        assert!(filled("${A}.", &variables).is_err());
    }
}
