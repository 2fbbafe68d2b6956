//! A tenant from a claim of a signed token.

use std::path::PathBuf;

use schemars::JsonSchema;
use semel_http::tenant::Algorithm;
use serde::Deserialize;

use crate::value::{Name, Secret, Word};

/// A claim of a signed token, and what its signature is checked with: `key` or `key_file`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwtClaim {
    /// The claim, such as sub, or org.id inside an object.
    pub claim: Word<Name>,
    /// How tokens are signed.
    pub algorithm: Word<Algorithm>,
    /// The shared secret, or the public key as PEM.
    pub key: Option<Word<Secret>>,
    /// A file with the same.
    pub key_file: Option<Word<PathBuf>>,
    /// Only tokens of this issuer.
    pub issuer: Option<Word<Name>>,
    /// Only tokens for this audience.
    pub audience: Option<Word<Name>>,
}
