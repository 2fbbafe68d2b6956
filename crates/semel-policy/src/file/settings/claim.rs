//! A tenant from a claim of a signed token.

use std::path::PathBuf;

use schemars::JsonSchema;
use semel_http::tenant::Algorithm;
use serde::Deserialize;

use crate::value::{Endpoint, Name, Secret, Word};

/// A claim of a signed token, and what its signature is checked with: one of `key`, `key_file`, `jwks` and
/// `jwks_file`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct JwtClaim {
    /// The claim by its name, such as sub or `https://example.com/tenant`; org.id also inside an object.
    pub claim: Word<Name>,
    /// How tokens are signed. Required with key and key_file; a key set says it itself.
    pub algorithm: Option<Word<Algorithm>>,
    /// The shared secret, or the public key as PEM.
    pub key: Option<Word<Secret>>,
    /// A file with the same.
    pub key_file: Option<Word<PathBuf>>,
    /// Where the issuer publishes its public keys (JWKS). They are loaded when needed and renewed.
    pub jwks: Option<Word<Endpoint>>,
    /// A file with such a set; it is read again when it may have changed.
    pub jwks_file: Option<Word<PathBuf>>,
    /// Only tokens of this issuer.
    pub issuer: Option<Word<Name>>,
    /// Only tokens for this audience.
    pub audience: Option<Word<Name>>,
}
