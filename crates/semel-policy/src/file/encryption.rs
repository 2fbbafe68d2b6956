//! `encryption`: the keys that contents in the store are sealed under.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::value::{Name, Secret, Word};

/// Seals bodies, headers and payloads before they reach the store, with a data key for each tenant.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Encryption {
    /// The key-encryption keys: the first one wraps data keys, all of them unwrap. Default: none, and nothing is sealed.
    pub keys: Vec<EncryptionKey>,
}

/// One key-encryption key.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EncryptionKey {
    /// What it is called in the store: letters, digits, dashes and dots. A name never gets another secret.
    pub id: Word<Name>,
    /// 32 bytes, as 64 hexadecimal digits or in base64; from a variable, not in the file.
    pub secret: Word<Secret>,
}
