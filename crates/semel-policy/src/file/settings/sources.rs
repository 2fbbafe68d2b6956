//! Where the key and the tenant of a request are.

use http::HeaderName;
use schemars::{JsonSchema, Schema};
use semel_core::Template;
use semel_http::path::JsonPath;
use serde::Deserialize;
use serde_json::{Value, json};

use super::claim::JwtClaim;
use crate::value::{Name, Word};

/// One place where the key may be.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = derive_as_map)]
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

/// `{ derive: true }` is the same as `derive`, so that all places can be written alike.
fn derive_as_map(schema: &mut Schema) {
    if let Some(Value::Array(forms)) = schema.get_mut("oneOf") {
        forms.push(json!({
            "type": "object",
            "properties": { "derive": { "const": true } },
            "required": ["derive"],
            "additionalProperties": false,
            "description": "A hash of what is asked for.",
        }));
    }
}

/// Who the caller is.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Tenant {
    /// The digest of Authorization; without it the public.
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
