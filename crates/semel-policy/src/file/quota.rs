//! `limits.tenant`, `limits.tenants` and a route's `limits`: what one tenant may bring.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::value::{ByteRate, Named, Rate, Word};

/// What one tenant may bring; what is left out has no limit. More gets 429.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Quota {
    /// Requests, whatever they lead to, such as 100/s.
    pub requests: Option<Word<Rate>>,
    /// Requests at once, after a pause. Default: as many as requests says.
    pub burst: Option<Word<crate::value::Count>>,
    /// Keys that are not on record, such as 1000/m.
    pub new_keys: Option<Word<Rate>>,
    /// Bodies and headers that are stored, such as 1GiB/day.
    pub stored_bytes: Option<Word<ByteRate>>,
}

/// What some tenants may bring, by name.
pub type Quotas = Named<Quota>;
