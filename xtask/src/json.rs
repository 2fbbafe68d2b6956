//! Reads the JSON that cargo prints.
//!
//! Cargo's output is well formed, so a mistake in it is reported by its place alone. Numbers are kept as they are written.

use crate::error::{Error, Result};

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Json {
    Null,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Json {
    /// Reads one value, with nothing after it.
    pub(crate) fn read(text: &str) -> Result<Self> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value()?;
        reader.skip_blanks();
        match reader.rest().is_empty() {
            true => Ok(value),
            false => Err(reader.expected("the end")),
        }
    }

    /// A member of an object; null if there is none.
    pub(crate) fn get(&self, name: &str) -> &Self {
        let Self::Object(members) = self else {
            return &Self::Null;
        };
        let found = members.iter().find(|(member, _)| member == name);
        found.map_or(&Self::Null, |(_, value)| value)
    }

    /// A text; nothing for other values.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The items of a list; none for other values.
    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// The names of an object's members.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let members = match self {
            Self::Object(members) => members.as_slice(),
            _ => &[],
        };
        members.iter().map(|(name, _)| name.as_str())
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn expected(&self, what: &str) -> Error {
        Error::failed(format!("JSON: expected {what} at byte {}", self.at))
    }

    fn skip_blanks(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start().len();
    }

    /// Goes past `mark` if it comes next.
    fn takes(&mut self, mark: &str) -> bool {
        self.skip_blanks();
        let found = self.rest().starts_with(mark);
        if found {
            self.at += mark.len();
        }
        found
    }

    fn value(&mut self) -> Result<Json> {
        for (word, value) in [
            ("null", Json::Null),
            ("true", Json::Bool(true)),
            ("false", Json::Bool(false)),
        ] {
            if self.takes(word) {
                return Ok(value);
            }
        }
        if self.takes("{") {
            return self.members("}", Self::member).map(Json::Object);
        }
        if self.takes("[") {
            return self.members("]", Self::value).map(Json::List);
        }
        match self.rest().chars().next() {
            Some('"') => self.string().map(Json::Text),
            Some(c) if c == '-' || c.is_ascii_digit() => Ok(Json::Number(self.number())),
            _ => Err(self.expected("a value")),
        }
    }

    /// What stands between commas until `end`.
    fn members<T>(&mut self, end: &str, one: fn(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut found = Vec::new();
        if self.takes(end) {
            return Ok(found);
        }
        loop {
            found.push(one(self)?);
            if self.takes(end) {
                return Ok(found);
            }
            if !self.takes(",") {
                return Err(self.expected("a comma"));
            }
        }
    }

    fn member(&mut self) -> Result<(String, Json)> {
        self.skip_blanks();
        let name = self.string()?;
        match self.takes(":") {
            true => Ok((name, self.value()?)),
            false => Err(self.expected("a colon")),
        }
    }

    fn number(&mut self) -> String {
        let rest = self.rest();
        let other = |c: char| !c.is_ascii_digit() && !"+-.eE".contains(c);
        let end = rest.find(other).unwrap_or(rest.len());
        self.at += end;
        rest[..end].to_owned()
    }

    fn string(&mut self) -> Result<String> {
        if !self.takes("\"") {
            return Err(self.expected("a text"));
        }
        let mut text = String::new();
        loop {
            let rest = self.rest();
            let end = rest.find(['"', '\\']);
            let end = end.ok_or_else(|| self.expected("the end of a text"))?;
            text.push_str(&rest[..end]);
            self.at += end + 1;
            if rest[end..].starts_with('"') {
                return Ok(text);
            }
            text.push(self.escape()?);
        }
    }

    /// What stands for another character, after its backslash. Half of a pair of surrogates is replaced: no rule looks at it.
    fn escape(&mut self) -> Result<char> {
        let rest = self.rest();
        let (c, length) = match rest.chars().next() {
            Some('n') => ('\n', 1),
            Some('t') => ('\t', 1),
            Some('r') => ('\r', 1),
            Some('b') => ('\u{8}', 1),
            Some('f') => ('\u{c}', 1),
            Some('u') => {
                let code = rest
                    .get(1..5)
                    .and_then(|hex| u32::from_str_radix(hex, 16).ok());
                let code = code.ok_or_else(|| self.expected("four digits"))?;
                (
                    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
                    5,
                )
            }
            Some(c @ ('"' | '\\' | '/')) => (c, 1),
            _ => return Err(self.expected("an escape")),
        };
        self.at += length;
        Ok(c)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read() {
        let text = r#" {"a": [1, -2.5e3, "x\n\u00e4\"", null, true], "b": {}, "c": []} "#;
        let read = Json::read(text).unwrap();
        let list = read.get("a").items();
        assert_eq!(list[0], Json::Number("1".into()));
        assert_eq!(list[1], Json::Number("-2.5e3".into()));
        assert_eq!(list[2].text(), Some("x\nä\""));
        assert_eq!(list[3..], [Json::Null, Json::Bool(true)]);
        assert_eq!(read.names().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert_eq!(read.get("nothing"), &Json::Null);
    }

    #[test]
    fn what_is_not_json_is_refused_with_its_place() {
        for (text, expected) in [
            ("", "JSON: expected a value at byte 0"),
            ("[1 2]", "JSON: expected a comma at byte 3"),
            ("{\"a\" 1}", "JSON: expected a colon at byte 5"),
            ("\"abc", "JSON: expected the end of a text at byte 1"),
            ("1 1", "JSON: expected the end at byte 2"),
            (r#""\x""#, "JSON: expected an escape at byte 2"),
        ] {
            assert_eq!(Json::read(text).unwrap_err().to_string(), expected);
        }
    }
}
