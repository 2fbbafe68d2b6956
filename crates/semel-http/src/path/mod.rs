//! Paths into JSON bodies (RFC 9535), parsed once when the rules are made.

mod walk;

use std::collections::HashSet;
use std::fmt;
use std::str::FromStr;

use jsonpath_rust::parser::model::JpQuery;
use jsonpath_rust::parser::parse_json_path;
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
    /// The values that the path finds, in the document's order; `None` if there is too much to look at.
    pub fn find<'a>(&self, document: &'a Value) -> Option<Vec<&'a Value>> {
        walk::find(&self.query, document)
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

/// The document without what the paths find in it; `None` if there is too much to look at. The document itself stays,
/// whatever finds it.
pub fn without(document: &Value, paths: &[JsonPath]) -> Option<Value> {
    let mut found: HashSet<*const Value> = HashSet::new();
    for path in paths {
        let values = path.find(document)?;
        found.extend(values.into_iter().map(std::ptr::from_ref));
    }
    Some(copy(document, &found))
}

/// A copy without what was found. Each value has its own address, so that one walk removes all of them.
fn copy(value: &Value, found: &HashSet<*const Value>) -> Value {
    let stays = |value: &&Value| !found.contains(&std::ptr::from_ref(*value));
    match value {
        Value::Array(items) => {
            let items = items.iter().filter(stays);
            Value::Array(items.map(|item| copy(item, found)).collect())
        }
        Value::Object(fields) => {
            let fields = fields.iter().filter(|(_, value)| stays(value));
            let fields = fields.map(|(name, value)| (name.clone(), copy(value, found)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
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
            let found: Vec<_> = path.find(&body).unwrap().into_iter().cloned().collect();
            assert_eq!(found, expected, "{path}");
        }
    }

    fn removed(body: &Value, path: &str) -> Value {
        without(body, &[path.parse().unwrap()]).unwrap()
    }

    #[test]
    fn removing_leaves_the_rest() {
        let body = json!({ "a": 1, "meta": { "sent_at": 7, "id": 2 }, "list": [{ "x": 1 }, 2, { "x": 3 }] });
        let list = json!([{ "x": 1 }, 2, { "x": 3 }]);
        for (path, expected) in [
            (
                "$.meta.sent_at",
                json!({ "a": 1, "meta": { "id": 2 }, "list": list }),
            ),
            ("$.absent", body.clone()),
            ("$", body.clone()),
            (
                "$.list[0,2]",
                json!({ "a": 1, "meta": { "sent_at": 7, "id": 2 }, "list": [2] }),
            ),
            (
                "$..x",
                json!({ "a": 1, "meta": { "sent_at": 7, "id": 2 }, "list": [{}, 2, {}] }),
            ),
            ("$.*", json!({})),
            (
                "$.list[?@.x > 1]",
                json!({ "a": 1, "meta": { "sent_at": 7, "id": 2 }, "list": [{ "x": 1 }, 2] }),
            ),
        ] {
            assert_eq!(removed(&body, path), expected, "{path}");
        }
    }

    /// The library is the reference for what is walked without it.
    #[test]
    fn the_walk_finds_what_the_library_finds() {
        let body = json!({
            "a": [0, 1, 2, { "a": [3, { "b": 4 }], "b": { "a": 5 } }, [6, [7]]],
            "b": { "c d": 8, "a": { "a": 9 } }, "\u{e9}": null,
        });
        for path in [
            "$",
            "$.a",
            "$['b']['c d']",
            "$.b.*",
            "$.a[*]",
            "$.*",
            "$..a",
            "$..*",
            "$..[0]",
            "$..['a','b']",
            "$.a[1]",
            "$.a[-1]",
            "$.a[-9]",
            "$.a[9]",
            "$.a[1:3]",
            "$.a[:]",
            "$.a[::2]",
            "$.a[::-1]",
            "$.a[3:0:-2]",
            "$.a[-2:]",
            "$.a[:-2]",
            "$.a[9:-9:-1]",
            "$.a[0,2,0]",
            "$.a..b",
            "$..a..a",
            "$..*..*",
            "$.\u{e9}",
            "$.a.b",
            "$.b[0]",
        ] {
            let parsed: JsonPath = path.parse().unwrap();
            let library = jsonpath_rust::query::js_path_process(&parsed.query, &body).unwrap();
            let library: Vec<_> = library.into_iter().map(|found| found.val).collect();
            assert_eq!(parsed.find(&body).unwrap(), library, "{path}");
        }
    }

    /// With one evaluation or one long location per match either would not end within any patience.
    #[test]
    fn a_hundred_thousand_matches_are_removed_in_one_walk() {
        let items: Vec<_> = (0..100_000).map(|_| json!({ "x": 1 })).collect();
        let body = json!({ "n".repeat(500_000): items });
        let left = removed(&body, "$..x");
        let items = left.as_object().unwrap().values().next().unwrap();
        assert_eq!(items.as_array().unwrap().len(), 100_000);
        assert!(
            items
                .as_array()
                .unwrap()
                .iter()
                .all(|item| *item == json!({}))
        );
    }

    #[test]
    fn a_path_that_visits_too_much_is_given_up() {
        let mut deep = json!(1);
        for _ in 0..100 {
            deep = json!([deep, [], [], []]);
        }
        let path: JsonPath = "$..*..*..*..*".parse().unwrap();
        assert_eq!(path.find(&deep), None);
    }

    #[test]
    fn broken_paths_are_refused() {
        for path in ["", "$.", "$[", "a b", "$..[", &"a".repeat(2_000)] {
            assert!(path.parse::<JsonPath>().is_err(), "{path}");
        }
    }
}
