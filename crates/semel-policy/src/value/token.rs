//! What a token of the admin side is described with.

use std::fmt;

use schemars::{Schema, json_schema};
use semel_core::{Scope, Tenant};

use super::word::{Refusal, Text};
use crate::limits::TOKEN_NAME_BYTES_MAX;

/// The name of a token, which logs and the audit show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenName(pub String);

impl Text for TokenName {
    const EXPECTED: &'static str =
        "a name of 1 to 64 letters, digits, dots, hyphens or underscores";

    fn parse(text: &str) -> Result<Self, Refusal> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || ".-_".contains(c);
        match (1..=TOKEN_NAME_BYTES_MAX).contains(&text.len()) && text.chars().all(is_plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$" })
    }
}

/// The digest of a token: it recognises the token and does not tell it.
#[derive(Clone, PartialEq, Eq)]
pub struct TokenHash(String);

impl TokenHash {
    /// The text, `blake3:` and 64 digits.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TokenHash")
    }
}

impl Text for TokenHash {
    const EXPECTED: &'static str = "blake3: and 64 hexadecimal digits";

    fn parse(text: &str) -> Result<Self, Refusal> {
        let digits = text.strip_prefix("blake3:");
        let is_hex = |digits: &str| digits.bytes().all(|b| b.is_ascii_hexdigit());
        match digits.is_some_and(|digits| digits.len() == 64 && is_hex(digits)) {
            true => Ok(Self(text.to_owned())),
            // The text is not shown: it may be a token that stands in the wrong place.
            false => Err(Refusal::Said(
                "expected blake3: and 64 hexadecimal digits, as semel token hash prints them; found another text"
                    .to_owned(),
            )),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^blake3:[0-9A-Fa-f]{64}$" })
    }
}

/// The beginning of the scopes that a token for claims is for, or `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopePrefix(pub String);

impl Text for ScopePrefix {
    const EXPECTED: &'static str = "the beginning of scopes such as payments, or *";

    fn parse(text: &str) -> Result<Self, Refusal> {
        let is_prefix = text == "*" || (!text.contains('*') && text.parse::<Scope>().is_ok());
        match is_prefix {
            true => Ok(Self(text.to_owned())),
            false => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": 255, "pattern": r"^(\*|[^*]+)$" })
    }
}

/// From when on a token is refused: a date, or a date with a time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expiry(pub String);

impl Text for Expiry {
    const EXPECTED: &'static str =
        "a date such as 2027-03-01, or a moment such as 2027-03-01T08:30:00Z";

    /// The shape alone; that there is such a day is checked when tokens are made of it.
    fn parse(text: &str) -> Result<Self, Refusal> {
        let (date, rest) = text.split_at_checked(10).ok_or(Refusal::Unlike)?;
        let is_date = date.bytes().enumerate().all(|(at, b)| match at {
            4 | 7 => b == b'-',
            _ => b.is_ascii_digit(),
        });
        let is_time = rest.is_empty() || rest.starts_with(['T', 't', ' ']);
        match is_date && is_time {
            true => Ok(Self(text.to_owned())),
            false => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}([Tt ].+)?$", "examples": ["2027-03-01"] })
    }
}

impl Text for Tenant {
    const EXPECTED: &'static str = "a tenant of 1 to 255 bytes";

    fn parse(text: &str) -> Result<Self, Refusal> {
        text.parse()
            .map_err(|error: semel_core::Error| Refusal::Said(error.to_string()))
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "minLength": 1, "maxLength": 255 })
    }
}
