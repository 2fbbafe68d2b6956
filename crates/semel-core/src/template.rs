//! Natural keys and deterministic ids: a template over the fields of a JSON value.
//!
//! `{orderId}#{line.id}#{version}` takes each field (dots go into objects, numbers into lists), trims white space
//! around it and joins the parts. `{email:lower}` also folds the case. A value's own `%`, control
//! characters, and the characters that separate fields in the template (here `#`) are percent-encoded,
//! so that two different sets of values never make the same text.

use std::fmt::Write as _;
use std::str::FromStr;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::identity::Key;

/// The most fields in one template.
pub const FIELDS_MAX: usize = 32;

/// A parsed template.
///
/// ```
/// use semel_core::Template;
///
/// let template: Template = "case-escalated:{eventId}:{recipientId}".parse()?;
/// let event = serde_json::json!({ "eventId": "evt-123", "recipientId": 7 });
/// assert_eq!(template.render(&event)?, "case-escalated:evt-123:7");
/// # Ok::<(), semel_core::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Template {
    parts: Vec<Part>,
    /// Characters that end a field: a value's own ones are encoded.
    reserved: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Fixed(String),
    Field { path: Vec<String>, lower: bool },
}

impl Template {
    /// The text for `value`: the same fields give the same text, other fields another one.
    pub fn render(&self, value: &Value) -> Result<String> {
        let mut out = String::new();
        for part in &self.parts {
            match part {
                Part::Fixed(text) => out.push_str(text),
                Part::Field { path, lower } => self.push_field(&mut out, value, path, *lower)?,
            }
        }
        Ok(out)
    }

    /// The same for callers that can look elsewhere: `None` if a field is absent or null. A field that is there and
    /// cannot identify anything is an error all the same.
    pub fn find(&self, value: &Value) -> Result<Option<String>> {
        let (mut out, mut is_whole) = (String::new(), true);
        for part in &self.parts {
            match part {
                Part::Fixed(text) => out.push_str(text),
                Part::Field { path, .. } if at(value, path).is_none_or(Value::is_null) => {
                    is_whole = false;
                }
                Part::Field { path, lower } => self.push_field(&mut out, value, path, *lower)?,
            }
        }
        Ok(is_whole.then_some(out))
    }

    /// The fields that it takes, as dotted paths.
    pub fn fields(&self) -> impl Iterator<Item = String> {
        self.parts.iter().filter_map(|part| match part {
            Part::Fixed(_) => None,
            Part::Field { path, .. } => Some(path.join(".")),
        })
    }

    /// The rendered text as a key.
    pub fn key(&self, value: &Value) -> Result<Key> {
        Key::new(self.render(value)?)
    }

    fn push_field(
        &self,
        out: &mut String,
        value: &Value,
        path: &[String],
        lower: bool,
    ) -> Result<()> {
        let text = scalar(value, path)?;
        let text = text.trim();
        if text.is_empty() {
            return Err(missing(path, "text that is not empty", "an empty text"));
        }
        if lower {
            self.push_encoded(out, &text.to_lowercase());
        } else {
            self.push_encoded(out, text);
        }
        Ok(())
    }

    fn push_encoded(&self, out: &mut String, text: &str) {
        for c in text.chars() {
            if c == '%' || c.is_control() || self.reserved.contains(c) {
                let mut utf8 = [0; 4];
                for byte in c.encode_utf8(&mut utf8).bytes() {
                    write!(out, "%{byte:02X}").expect("writing to a String cannot fail");
                }
            } else {
                out.push(c);
            }
        }
    }
}

/// The field at `path` as text; only strings, numbers and booleans identify anything.
fn scalar(value: &Value, path: &[String]) -> Result<String> {
    let expected = "a string, a number or a boolean";
    let found = at(value, path).ok_or_else(|| missing(path, expected, "nothing"))?;
    match found {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Bool(flag) => Ok(flag.to_string()),
        Value::Null => Err(missing(path, expected, "null")),
        Value::Array(_) => Err(missing(path, expected, "an array")),
        Value::Object(_) => Err(missing(path, expected, "an object")),
    }
}

/// What is at `path`: names go into objects, numbers into lists.
fn at<'a>(value: &'a Value, path: &[String]) -> Option<&'a Value> {
    path.iter().try_fold(value, |found, name| {
        let element = || found.get(name.parse::<usize>().ok()?);
        found.get(name).or_else(element)
    })
}

fn missing(path: &[String], expected: &str, found: &str) -> Error {
    Error::invalid(format!(
        "template field {{{}}} must be {expected}, found {found}",
        path.join(".")
    ))
}

impl FromStr for Template {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            push_fixed(&mut parts, &rest[..open], text)?;
            let close = rest[open..].find('}').map(|at| open + at);
            let close = close.ok_or_else(|| bad(text, "a closing brace"))?;
            parts.push(field(&rest[open + 1..close], text)?);
            rest = &rest[close + 1..];
        }
        push_fixed(&mut parts, rest, text)?;
        Self::from_parts(parts, text)
    }
}

impl Template {
    fn from_parts(parts: Vec<Part>, text: &str) -> Result<Self> {
        let fields = parts
            .iter()
            .filter(|p| matches!(p, Part::Field { .. }))
            .count();
        if fields == 0 || fields > FIELDS_MAX {
            return Err(bad(
                text,
                &format!("1 to {FIELDS_MAX} fields such as {{orderId}}"),
            ));
        }
        let neighbours = parts
            .windows(2)
            .any(|pair| matches!(pair, [Part::Field { .. }, Part::Field { .. }]));
        if neighbours {
            return Err(bad(text, "fixed text between two fields"));
        }
        // A value ends where the text after it begins, so only that text's first character is reserved.
        let after_field = parts.windows(2).filter_map(|pair| match pair {
            [Part::Field { .. }, Part::Fixed(text)] => text.chars().next(),
            _ => None,
        });
        let reserved = after_field.collect();
        Ok(Self { parts, reserved })
    }
}

fn push_fixed(parts: &mut Vec<Part>, fixed: &str, text: &str) -> Result<()> {
    if fixed.contains('}') {
        return Err(bad(text, "an opening brace before each closing one"));
    }
    if !fixed.is_empty() {
        parts.push(Part::Fixed(fixed.to_owned()));
    }
    Ok(())
}

fn field(inner: &str, text: &str) -> Result<Part> {
    let (path, lower) = match inner.split_once(':') {
        None => (inner, false),
        Some((path, "lower")) => (path, true),
        Some(_) => return Err(bad(text, "no modifier other than :lower")),
    };
    let path: Vec<String> = path.split('.').map(|name| name.trim().to_owned()).collect();
    if path.iter().any(String::is_empty) {
        return Err(bad(text, "a field name between the braces"));
    }
    Ok(Part::Field { path, lower })
}

fn bad(text: &str, expected: &str) -> Error {
    Error::invalid(format!("template {text:?} needs {expected}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn render(template: &str, value: &Value) -> Result<String> {
        template.parse::<Template>()?.render(value)
    }

    #[test]
    fn fields_are_trimmed_and_folded_only_where_asked() {
        let value = json!({ "orderId": " A-1 ", "line": { "id": 7 }, "mail": "Ada@X.org", "ok": true, "items": [{ "no": 5 }] });
        for (template, expected) in [
            ("{orderId}#{line.id}", "A-1#7"),
            ("{mail}", "Ada@X.org"),
            ("{mail:lower}/{ok}", "ada@x.org/true"),
            ("{items.0.no}", "5"),
        ] {
            assert_eq!(render(template, &value).unwrap(), expected);
        }
    }

    #[test]
    fn what_cannot_identify_is_refused() {
        let value = json!({ "null": null, "list": [1], "obj": {}, "blank": "  " });
        for field in ["absent", "null", "list", "obj", "blank", "obj.x"] {
            let error = render(&format!("{{{field}}}"), &value).unwrap_err();
            assert!(
                error.to_string().contains(&format!("{{{field}}}")),
                "{error}"
            );
        }
    }

    #[test]
    fn a_field_that_is_missing_is_not_one_that_is_wrong() {
        let template: Template = "{a}#{b.c}".parse().unwrap();
        for (value, expected) in [
            (json!({ "a": 1, "b": { "c": 2 } }), Some(Some("1#2"))),
            (json!({ "a": 1 }), Some(None)),
            (json!({ "a": null, "b": { "c": 2 } }), Some(None)),
            (json!({ "a": [1] }), None),
            (json!({ "a": 1, "b": { "c": " " } }), None),
            (json!(null), Some(None)),
        ] {
            let found = template.find(&value).ok();
            assert_eq!(
                found,
                expected.map(|text| text.map(str::to_owned)),
                "{value}"
            );
        }
    }

    #[test]
    fn broken_templates_say_what_they_need() {
        for text in ["", "fixed", "{a", "a}", "{}", "{a.}", "{a:upper}", "{a}{b}"] {
            assert!(text.parse::<Template>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn different_values_never_make_the_same_text(
            a in "[a#%b]{1,6}", b in "[a#%b]{1,6}", c in "[a#%b]{1,6}", d in "[a#%b]{1,6}",
        ) {
            let one = render("{x}#{y}", &json!({ "x": a, "y": b })).unwrap();
            let two = render("{x}#{y}", &json!({ "x": c, "y": d })).unwrap();
            prop_assert_eq!(one == two, (a, b) == (c, d));
        }
    }
}
