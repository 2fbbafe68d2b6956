//! The key of one operation, as it travels in a header.
//!
//! The rules are narrower than those of a store, which takes any text: a key must
//! come out of every proxy and every parser as it went in.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use http::HeaderValue;
use uuid::Uuid;

use crate::error::{Error, Result};

/// The longest key, in bytes.
pub const KEY_BYTES_MAX: usize = 255;

/// The name of one operation: the same key is the same effect. Cheap to clone.
///
/// ```
/// use semel_client::Key;
///
/// let fresh = Key::generate();
/// let own = Key::new("order-17")?;
/// assert_ne!(fresh, own);
/// assert!(Key::new("two words").is_err());
/// # Ok::<(), semel_client::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key(Arc<str>);

impl Key {
    /// A key that nobody has used: a UUID of version 7, so that keys sort by their age.
    pub fn generate() -> Self {
        Self(Uuid::now_v7().to_string().into())
    }

    /// A key of the caller's: 1–255 bytes of visible ASCII that do not begin with `"`.
    pub fn new(key: impl AsRef<str>) -> Result<Self> {
        checked(key.as_ref()).map(|key| Self(key.into()))
    }

    /// The key's text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key as the value of a header, bare or as a string of RFC 9651.
    pub(crate) fn to_header(&self, quoted: bool) -> HeaderValue {
        let text = if quoted {
            quote(&self.0)
        } else {
            self.0.to_string()
        };
        HeaderValue::try_from(text).expect("a key is visible ASCII, which every header may hold")
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Key {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::new(text)
    }
}

fn checked(key: &str) -> Result<&str> {
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(Error::invalid(format!(
            "key must have 1 to {KEY_BYTES_MAX} bytes, found {}",
            key.len()
        )));
    }
    if let Some((at, c)) = key.char_indices().find(|(_, c)| !c.is_ascii_graphic()) {
        return Err(Error::invalid(format!(
            "key must be visible ascii without spaces, found {c:?} at byte {at}"
        )));
    }
    // A server would take the quotes off, and mean another key than the caller.
    if key.starts_with('"') {
        return Err(Error::invalid(
            "key must not begin with a quote, found '\"'",
        ));
    }
    Ok(key)
}

fn quote(key: &str) -> String {
    let mut quoted = String::with_capacity(key.len() + 2);
    quoted.push('"');
    for c in key.chars() {
        if matches!(c, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(c);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Kind;

    #[test]
    fn a_key_is_1_to_255_bytes_of_visible_ascii() {
        let longest = "k".repeat(KEY_BYTES_MAX);
        for good in ["a", "order-17", "a\"b\\c", "~!,;=", &longest] {
            assert_eq!(Key::new(good).unwrap().as_str(), good);
        }
        let too_long = "k".repeat(KEY_BYTES_MAX + 1);
        for bad in [
            "", " ", "a b", "a\n", "a\0", "\x7f", "ключ", "\"a\"", &too_long,
        ] {
            assert_eq!(Key::new(bad).unwrap_err().kind(), Kind::Invalid, "{bad:?}");
        }
    }

    #[test]
    fn a_quoted_key_is_a_string_of_rfc_9651() {
        for (key, bare, quoted) in [
            ("order-17", "order-17", r#""order-17""#),
            (r#"a"b\c"#, r#"a"b\c"#, r#""a\"b\\c""#),
        ] {
            let key = Key::new(key).unwrap();
            assert_eq!(key.to_header(false), bare);
            assert_eq!(key.to_header(true), quoted);
        }
    }

    #[test]
    fn a_generated_key_is_a_uuid_of_version_7_and_a_valid_key() {
        let key = Key::generate();
        assert_eq!(Uuid::parse_str(key.as_str()).unwrap().get_version_num(), 7);
        assert_eq!(Key::new(key.as_str()).unwrap(), key);
        assert_ne!(Key::generate(), key);
    }
}
