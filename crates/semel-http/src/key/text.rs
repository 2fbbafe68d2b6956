//! A key as it is written in a header: bare, or as an RFC 9651 string.

use http::HeaderName;
use semel_core::{Error, Result};
use sfv::{BareItem, Item, Parser};

/// The text of the key; `"abc"` and `abc` are the same key.
pub(super) fn parse(name: &HeaderName, value: &[u8]) -> Result<String> {
    let value = value.trim_ascii();
    if value.is_empty() {
        return Err(Error::invalid(format!("{name} is empty")));
    }
    if let Some(byte) = value.iter().find(|byte| !(b' '..=b'~').contains(*byte)) {
        return Err(Error::invalid(format!(
            "{name} must be printable ASCII, found the byte {byte:#04x}"
        )));
    }
    match value.first() {
        Some(b'"') => quoted(name, value),
        _ => Ok(String::from_utf8_lossy(value).into_owned()),
    }
}

fn quoted(name: &HeaderName, value: &[u8]) -> Result<String> {
    let bad = || {
        Error::invalid(format!(
            "{name} begins with a quote but is no RFC 9651 string"
        ))
    };
    let item: Item = Parser::new(value).parse().map_err(|_| bad())?;
    match item.bare_item {
        BareItem::String(text) => Ok(text.as_str().to_owned()),
        _ => Err(bad()),
    }
}
