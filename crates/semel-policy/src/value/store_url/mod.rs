//! Where records live: one store, or two that share the work. Addresses may hold passwords, so only their
//! harmless part is shown.
//!
//! Nothing is opened here, and what else an address may say is up to the store that it names.

mod address;
mod form;

pub use address::{Address, Engine};

use std::fmt;

use schemars::{Schema, json_schema};

use super::word::{Refusal, Text};
use crate::limits::URL_BYTES_MAX;

/// What stands between the addresses of a hybrid store.
const BETWEEN: char = '+';

/// Where records live, such as `sqlite:semel.db`, `postgres://db/semel`, or
/// `redis://cache+postgres://db/semel` for claims in one store and outcomes in another.
#[derive(Clone, PartialEq, Eq)]
pub enum StoreUrl {
    /// Everything is in one store.
    One(Address),
    /// Claims are in a fast store, outcomes in a durable one.
    Hybrid {
        /// Where claims are granted and leases renewed.
        claims: Address,
        /// Where outcomes are kept.
        outcomes: Address,
    },
}

impl StoreUrl {
    /// The whole of it as one text, with its passwords.
    pub fn text(&self) -> String {
        match self {
            Self::One(address) => address.as_str().to_owned(),
            Self::Hybrid { claims, outcomes } => {
                format!("{}{BETWEEN}{}", claims.as_str(), outcomes.as_str())
            }
        }
    }

    /// Whether all of it may be shown.
    pub fn is_harmless(&self) -> bool {
        self.text() == self.to_string()
    }
}

impl Text for StoreUrl {
    const EXPECTED: &'static str =
        "a store such as sqlite:semel.db, postgres://HOST/DATABASE or redis://HOST";

    fn parse(text: &str) -> Result<Self, Refusal> {
        if text.len() > URL_BYTES_MAX {
            let message = format!("expected a store in at most {URL_BYTES_MAX} bytes, found more");
            return Err(Refusal::Said(message));
        }
        match two(text) {
            Some((claims, outcomes)) => Ok(Self::Hybrid {
                claims: form::claims(claims)?,
                outcomes: form::outcomes(outcomes)?,
            }),
            // Not shown: what is no address may still be a password.
            None => Address::parse(text)
                .map(Self::One)
                .ok_or_else(|| Refusal::Said(format!("expected {}", Self::EXPECTED))),
        }
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": r"^(sqlite:.|(postgres|postgresql|rediss?|rediss?-cluster|mysql|dynamodb)://)",
            "examples": [
                "sqlite:semel.db",
                "postgres://semel@db.internal/payments",
                "redis://cache.internal:6379/0",
                "redis://cache.internal+postgres://semel@db.internal/payments",
            ],
        })
    }
}

/// The two addresses of a hybrid: there is a `+` in front of another store's scheme.
fn two(text: &str) -> Option<(&str, &str)> {
    let split = |(at, _)| (&text[..at], &text[at + BETWEEN.len_utf8()..]);
    let mut splits = text.match_indices(BETWEEN).map(split);
    splits.find(|(_, rest)| Engine::of(rest).is_some())
}

impl fmt::Display for StoreUrl {
    /// Without credentials and options.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::One(address) => write!(f, "{address}"),
            Self::Hybrid { claims, outcomes } => write!(f, "{claims}{BETWEEN}{outcomes}"),
        }
    }
}

impl fmt::Debug for StoreUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_do_not_show() {
        for (text, shown) in [
            ("sqlite:semel.db", "sqlite:semel.db"),
            ("sqlite:dir/a@b+c.db", "sqlite:dir/a@b+c.db"),
            ("postgres://u:p@h/db?sslkey=x", "postgres://h/db"),
            ("postgresql://h:1,i:2/db", "postgresql://h:1,i:2/db"),
            ("redis-cluster://:p@h:1,i:2", "redis-cluster://h:1,i:2"),
            (
                "redis://u:p@h/0+postgres://u:p@h/db?a=b",
                "redis://h/0+postgres://h/db",
            ),
            ("rediss://:p+q@h+sqlite:a.db", "rediss://h+sqlite:a.db"),
            // What is not where it belongs may be part of a password.
            ("postgres://u:p@ss@h/db", "postgres://h/db"),
            ("postgres://u:p/w@h/db", "postgres://…"),
            ("postgres://u:p?w@h/db", "postgres://…"),
            ("postgres://h/db?password=p@w", "postgres://…"),
        ] {
            let url = StoreUrl::parse(text).unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), shown);
            assert_eq!(url.text(), text);
            assert_eq!(url.is_harmless(), text == shown);
        }
    }

    #[test]
    fn what_is_no_store_is_refused() {
        for text in [
            "",
            "semel.db",
            ":x",
            "sqlite:",
            "a b:c",
            "oracle:x",
            "postgres:x",
            "redis://",
            // Claims are not kept in a file, outcomes not in Redis.
            "sqlite:a+postgres://h/d",
            "postgres://h/d+redis://h",
            "redis://h+redis://h",
            "redis://h+sqlite:",
            "redis://h+sqlite:a+sqlite:b",
        ] {
            assert!(StoreUrl::parse(text).is_err(), "{text}");
        }
    }
}
