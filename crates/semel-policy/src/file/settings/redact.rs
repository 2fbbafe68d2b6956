//! What is taken out of an outcome before it is stored.

use http::HeaderName;
use schemars::JsonSchema;
use semel_http::path::JsonPath;
use serde::Deserialize;

use crate::value::{Many, Word};

/// What is taken out of an outcome before it is stored; the first client gets it all the same.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Redact {
    /// Values of a JSON body, such as $.card.number, which are replaced.
    pub body: Option<Many<Word<JsonPath>>>,
    /// Headers, which are left out.
    pub headers: Option<Many<Word<HeaderName>>>,
}
