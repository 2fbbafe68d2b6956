//! Where the key and the tenant of a request are.

use http::HeaderName;
use schemars::JsonSchema;
use semel_core::Template;
use semel_http::path::JsonPath;
use serde::Deserialize;

use super::claim::JwtClaim;
use crate::value::{Name, Word, words_as_maps};

/// One place where the key may be.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = words_as_maps)]
pub enum KeySource {
    /// A header.
    Header(Word<HeaderName>),
    /// A field of a JSON or form body, such as $.order.id.
    Body(Word<JsonPath>),
    /// A query parameter.
    Query(Word<Name>),
    /// A natural key, made from fields of the body or from path, query and header by name.
    Template(Word<Template>),
    /// A hash of what is asked for.
    Derive,
}

/// Who the caller is.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tenant {
    /// What stays the same in Authorization: a token, a password, the access key of a signature. Without it the public.
    Caller,
    /// A header that a trusted proxy sets, as it is.
    Header(Word<HeaderName>),
    /// The digest of a header that holds a secret.
    ApiKey(Word<HeaderName>),
    /// The digest of the bearer token.
    Bearer,
    /// A claim of a signed token.
    JwtClaim(JwtClaim),
    /// Everybody is the same caller.
    Public,
}
