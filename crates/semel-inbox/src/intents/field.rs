//! A field of a JSON body that is set, not looked for: a path of plain names such as `$.task.name`.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use bytes::Bytes;
use semel_core::{Error, Result};
use serde_json::value::{RawValue, to_raw_value};

/// The deepest field.
const DEPTH_MAX: usize = 16;

/// Where in a JSON object something is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field(Vec<String>);

impl Field {
    /// The body with `text` written there; objects on the way are made. Fails if something else is in the way.
    ///
    /// All other values keep their spelling, so that no amount is rounded on its way.
    pub(super) fn set(&self, body: &[u8], text: &str) -> Result<Bytes> {
        let bad = || {
            Error::invalid(format!(
                "the key belongs at {self}, but the body is not an object of JSON there"
            ))
        };
        let whole = match body.is_empty() {
            true => None,
            // The error's own text could quote the payload.
            false => Some(serde_json::from_slice(body).map_err(|_| bad())?),
        };
        let made = put(whole, &self.0, text).map_err(|_| bad())?;
        Ok(Bytes::from(String::from(Box::<str>::from(made))))
    }
}

fn put(
    value: Option<&RawValue>,
    names: &[String],
    text: &str,
) -> serde_json::Result<Box<RawValue>> {
    let Some((name, deeper)) = names.split_first() else {
        return to_raw_value(text);
    };
    let mut fields: BTreeMap<String, Box<RawValue>> = match value.map(RawValue::get) {
        None | Some("null") => BTreeMap::new(),
        Some(object) => serde_json::from_str(object)?,
    };
    let inner = put(fields.get(name).map(|value| &**value), deeper, text)?;
    fields.insert(name.clone(), inner);
    to_raw_value(&fields)
}

impl FromStr for Field {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = || {
            Error::invalid(format!(
                "a field of a body is 1 to {DEPTH_MAX} plain names such as $.task.name, found {text:?}"
            ))
        };
        let names = text.strip_prefix("$.").unwrap_or(text).split('.');
        let names: Vec<String> = names.map(str::to_owned).collect();
        let plain = |name: &String| {
            let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
            !name.is_empty() && name.chars().all(fits)
        };
        match names.len() <= DEPTH_MAX && names.iter().all(plain) {
            true => Ok(Self(names)),
            false => Err(bad()),
        }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "$.{}", self.0.join("."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_set_where_it_belongs_and_all_else_keeps_its_spelling() {
        let field: Field = "$.task.name".parse().unwrap();
        for (before, after) in [
            ("{}", r#"{"task":{"name":"k"}}"#),
            ("", r#"{"task":{"name":"k"}}"#),
            ("null", r#"{"task":{"name":"k"}}"#),
            (
                r#"{"task": {"name": "old", "x": 1.10}, "n": 12345678901234567890.10}"#,
                r#"{"n":12345678901234567890.10,"task":{"name":"k","x":1.10}}"#,
            ),
        ] {
            let set = field.set(before.as_bytes(), "k").unwrap();
            assert_eq!(set, after, "{before}");
        }
        for other in [r#"{"task":7}"#, "[]", "no json"] {
            assert!(field.set(other.as_bytes(), "k").is_err(), "{other}");
        }
    }

    #[test]
    fn only_plain_names_are_fields() {
        for text in ["", "$", "$.", "$..a", "$.a[0]", "a b", "$.*"] {
            assert!(text.parse::<Field>().is_err(), "{text}");
        }
    }
}
