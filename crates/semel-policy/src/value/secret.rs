//! Texts that are shown to nobody.

use std::fmt;

use schemars::{Schema, json_schema};

use super::word::{Refusal, Text};

/// A secret. It can be used, but neither printed nor logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Keeps `text` secret.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text, for whoever must compare or send it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

impl Text for Secret {
    const EXPECTED: &'static str = "a secret that is not empty";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text.trim() {
            "" => Err(Refusal::Said(
                "expected a secret, found an empty text".to_owned(),
            )),
            _ => Ok(Self::new(text)),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "minLength": 1 })
    }
}
