//! Replaces values of a JSON text and leaves every other byte as it is.
//!
//! A text that is parsed and written anew would lose what numbers are beyond doubles, and the order of fields. So the parsed document only tells
//! which values are meant, and a walk along the text finds where they stand.

use std::collections::HashSet;

use bytes::Bytes;
use serde_json::Value;

use crate::path::JsonPath;

/// What stands in the place of a value.
const REDACTED: &str = "\"[redacted]\"";

/// The text without the values that the paths find: `Some(None)` if there are none, `None` if it cannot be told.
pub(super) fn without(text: &Bytes, paths: &[JsonPath]) -> Option<Option<Bytes>> {
    let text = std::str::from_utf8(text).ok()?;
    let document: Value = serde_json::from_str(text).ok()?;
    let mut found: HashSet<*const Value> = HashSet::new();
    for path in paths {
        let values = path.find(&document)?;
        found.extend(values.into_iter().map(std::ptr::from_ref));
    }
    let mut walk = Walk {
        text,
        at: 0,
        found: &found,
        out: String::with_capacity(text.len()),
        copied: 0,
    };
    walk.value(&document)?;
    walk.blank();
    if walk.at != text.len() {
        return None;
    }
    if walk.copied == 0 {
        return Some(None);
    }
    walk.out.push_str(&text[walk.copied..]);
    Some(Some(walk.out.into()))
}

/// A walk along a text that is known to be JSON, beside its document.
struct Walk<'a> {
    text: &'a str,
    at: usize,
    found: &'a HashSet<*const Value>,
    out: String,
    /// Up to where the text is in `out`.
    copied: usize,
}

impl Walk<'_> {
    /// Passes a value, and replaces it if it was found. `None` where the text says something else than the document.
    fn value(&mut self, value: &Value) -> Option<()> {
        self.blank();
        let began = self.at;
        let (out, copied) = (self.out.len(), self.copied);
        match value {
            Value::Array(items) => self.list(items)?,
            Value::Object(fields) => self.object(fields)?,
            Value::String(_) => self.string().map(drop)?,
            Value::Null | Value::Bool(_) | Value::Number(_) => self.word()?,
        }
        if self.found.contains(&std::ptr::from_ref(value)) {
            // What was replaced inside goes with the whole.
            self.out.truncate(out);
            self.copied = copied;
            self.out.push_str(&self.text[copied..began]);
            self.out.push_str(REDACTED);
            self.copied = self.at;
        }
        Some(())
    }

    fn list(&mut self, items: &[Value]) -> Option<()> {
        self.take(b'[')?;
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.take(b',')?;
            }
            self.value(item)?;
        }
        self.take(b']')
    }

    /// A name that stands twice has one value in the document and two in the text: then this fails.
    fn object(&mut self, fields: &serde_json::Map<String, Value>) -> Option<()> {
        self.take(b'{')?;
        for index in 0..fields.len() {
            if index > 0 {
                self.take(b',')?;
            }
            self.blank();
            let name: String = serde_json::from_str(self.string()?).ok()?;
            self.take(b':')?;
            self.value(fields.get(&name)?)?;
        }
        self.take(b'}')
    }

    fn string(&mut self) -> Option<&str> {
        let began = self.at;
        self.take(b'"')?;
        let bytes = self.text.as_bytes();
        loop {
            match bytes.get(self.at)? {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        self.text.get(began..self.at)
    }

    /// A number, `true`, `false` or `null`.
    fn word(&mut self) -> Option<()> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let ends = |byte: &u8| matches!(byte, b',' | b']' | b'}') || byte.is_ascii_whitespace();
        let len = rest.iter().position(ends).unwrap_or(rest.len());
        self.at += len;
        let is_word = !matches!(rest.first()?, b'{' | b'[' | b'"');
        (is_word && len > 0).then_some(())
    }

    fn take(&mut self, byte: u8) -> Option<()> {
        self.blank();
        let found = self.text.as_bytes().get(self.at) == Some(&byte);
        self.at += 1;
        found.then_some(())
    }

    fn blank(&mut self) {
        let rest = &self.text.as_bytes()[self.at.min(self.text.len())..];
        let blank = rest.iter().take_while(|byte| byte.is_ascii_whitespace());
        self.at += blank.count();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spliced(text: &str, paths: &[&str]) -> Option<Option<String>> {
        let paths: Vec<JsonPath> = paths.iter().map(|path| path.parse().unwrap()).collect();
        let text = Bytes::copy_from_slice(text.as_bytes());
        let spliced = without(&text, &paths)?;
        Some(spliced.map(|bytes| String::from_utf8(bytes.to_vec()).unwrap()))
    }

    #[test]
    fn only_what_is_found_is_replaced_and_no_other_byte() {
        for (text, paths, expected) in [
            (
                r#" { "z": 12345678901234567890.10, "card": { "number": "41\"11", "exp": 1e400 } , "a":[1, 2 ] }"#,
                vec!["$.card.number", "$.a[1]"],
                Some(
                    r#" { "z": 12345678901234567890.10, "card": { "number": "[redacted]", "exp": 1e400 } , "a":[1, "[redacted]" ] }"#,
                ),
            ),
            (
                r#"[{"x":{"y":1}},{"x":[]}]"#,
                vec!["$..x", "$..y"],
                Some(r#"[{"x":"[redacted]"},{"x":"[redacted]"}]"#),
            ),
            (r#""secret""#, vec!["$"], Some(r#""[redacted]""#)),
            (
                r#"{"\u0061":null}"#,
                vec!["$.a"],
                Some(r#"{"\u0061":"[redacted]"}"#),
            ),
            (r#"{"a":1}"#, vec!["$.b"], None),
        ] {
            // Numbers beyond doubles are no JSON to this parser.
            let text = text.replace("1e400", "1e40");
            let expected = expected.map(|one| one.replace("1e400", "1e40"));
            assert_eq!(spliced(&text, &paths), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_cannot_be_told_for_certain_is_not_spliced() {
        for text in [
            "",
            "no json",
            r#"{"card":{"number":1},"card":2}"#,
            "{\"a\":",
        ] {
            assert_eq!(spliced(text, &["$.card.number"]), None, "{text}");
        }
    }
}
