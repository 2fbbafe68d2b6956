//! Paths into JSON bodies (RFC 9535), parsed once when the rules are made.

use std::fmt;
use std::str::FromStr;

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
use jsonpath_rust::query::js_path_process;
use jsonpath_rust::query::queryable::Queryable;
use semel_core::{Error, Result};
use serde_json::Value;

/// The longest path, in bytes.
const BYTES_MAX: usize = 1_024;

/// A JSONPath such as `$.task.name`; a plain name such as `amount` means `$.amount`.
#[derive(Clone)]
pub struct JsonPath {
    text: String,
    query: JpQuery,
}

impl JsonPath {
    /// The values that the path finds, in the document's order.
    pub fn find<'a>(&self, document: &'a Value) -> Vec<&'a Value> {
        let found = js_path_process(&self.query, document).unwrap_or_default();
        found.into_iter().map(|found| found.val).collect()
    }

    /// Removes what the path finds.
    pub fn remove_from(&self, document: &mut Value) {
        // What cannot be removed (the document itself) stays: the fingerprint then compares more.
        let _ = document.delete_by_path(&self.text);
    }

    /// The last name of a path that is made of names only; for bodies that have no depth, such as forms.
    pub fn field(&self) -> Option<&str> {
        let name = self.text.strip_prefix("$.")?;
        let plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        name.chars().all(plain).then_some(name)
    }

    /// The path as it was written, with the `$` in front.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

impl FromStr for JsonPath {
    type Err = Error;

    fn from_str(written: &str) -> Result<Self> {
        if written.is_empty() || written.len() > BYTES_MAX {
            return Err(Error::invalid(format!(
                "a path has 1 to {BYTES_MAX} bytes, found {}",
                written.len()
            )));
        }
        let text = match written.starts_with('$') {
            true => written.to_owned(),
            false => format!("$.{written}"),
        };
        let bad = || {
            Error::invalid(format!(
                "expected a path into JSON such as $.order.id, found {written:?}"
            ))
        };
        // The grammar would end a plain name at a space and forget the rest.
        if text != written && text.contains(char::is_whitespace) {
            return Err(bad());
        }
        let query = parse_json_path(&text).map_err(|_| bad())?;
        Ok(Self { text, query })
    }
}

impl PartialEq for JsonPath {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl Eq for JsonPath {}

impl fmt::Debug for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Display for JsonPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn plain_names_and_paths_find_the_same() {
        let body = json!({ "task": { "name": "t-1" }, "items": [{ "id": 1 }, { "id": 2 }] });
        for (path, expected) in [
            ("$.task.name", vec![json!("t-1")]),
            ("task.name", vec![json!("t-1")]),
            ("$.items[*].id", vec![json!(1), json!(2)]),
            ("$.absent", vec![]),
        ] {
            let path: JsonPath = path.parse().unwrap();
            let found: Vec<_> = path.find(&body).into_iter().cloned().collect();
            assert_eq!(found, expected, "{path}");
        }
    }

    #[test]
    fn removing_leaves_the_rest() {
        let mut body = json!({ "a": 1, "meta": { "sent_at": 7, "id": 2 } });
        let path: JsonPath = "$.meta.sent_at".parse().unwrap();
        path.remove_from(&mut body);
        assert_eq!(body, json!({ "a": 1, "meta": { "id": 2 } }));
        "$.absent"
            .parse::<JsonPath>()
            .unwrap()
            .remove_from(&mut body);
        assert_eq!(body, json!({ "a": 1, "meta": { "id": 2 } }));
    }

    #[test]
    fn broken_paths_are_refused() {
        for path in ["", "$.", "$[", "a b", "$..[", &"a".repeat(2_000)] {
            assert!(path.parse::<JsonPath>().is_err(), "{path}");
        }
    }
}
