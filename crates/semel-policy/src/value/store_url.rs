//! The address of a store. It may hold a password, so only its harmless part is shown.

use std::fmt;

use schemars::{Schema, json_schema};

use super::word::{Refusal, Text};
use crate::limits::URL_BYTES_MAX;

/// The address of a store, such as `sqlite:semel.db`. Which stores there are is not decided here.
#[derive(Clone, PartialEq, Eq)]
pub struct StoreUrl(String);

impl StoreUrl {
    /// The whole address, for whoever opens the store.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Text for StoreUrl {
    const EXPECTED: &'static str = "a store such as sqlite:semel.db";

    fn parse(text: &str) -> Result<Self, Refusal> {
        let is_url = text.len() <= URL_BYTES_MAX
            && text.split_once(':').is_some_and(|(scheme, rest)| {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
                !scheme.is_empty() && scheme.chars().all(is_plain) && !rest.is_empty()
            });
        match is_url {
            true => Ok(Self(text.to_owned())),
            // Not shown: what is no address may still be a password.
            false => Err(Refusal::Said(format!("expected {}", Self::EXPECTED))),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "pattern": "^[A-Za-z0-9-]+:.+", "examples": ["sqlite:semel.db"] })
    }
}

impl fmt::Display for StoreUrl {
    /// Without credentials and options.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = self.0.split('?').next().unwrap_or_default();
        match (shown.split_once("//"), shown.rsplit_once('@')) {
            (Some((scheme, _)), Some((_, host))) => write!(f, "{scheme}//…@{host}"),
            _ => f.write_str(shown),
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
            ("sqlite:dir/a@b.db", "sqlite:dir/a@b.db"),
            ("postgres://u:p@h/db?sslkey=x", "postgres://…@h/db"),
            ("postgres://u:p@ss@h/db", "postgres://…@h/db"),
            ("redis-cluster://h:1", "redis-cluster://h:1"),
        ] {
            let url = StoreUrl::parse(text).unwrap();
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), shown);
            assert_eq!(url.as_str(), text);
        }
        for text in ["", "semel.db", ":x", "sqlite:", "a b:c"] {
            assert!(StoreUrl::parse(text).is_err(), "{text}");
        }
    }
}
