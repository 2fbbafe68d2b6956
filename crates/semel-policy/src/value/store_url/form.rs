//! How the file writes a store: one word, or a map of the two stores of a hybrid.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;

use super::{Address, StoreUrl};
use crate::value::{Either, Refusal, Text, Word};

impl<'de> Deserialize<'de> for StoreUrl {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written = Either::<Self, Hybrid>::deserialize(deserializer)?;
        Ok(match written {
            Either::Short(url) => url,
            Either::Long(hybrid) => Self::Hybrid {
                claims: hybrid.claims.0.0,
                outcomes: hybrid.outcomes.0.0,
            },
        })
    }
}

impl JsonSchema for StoreUrl {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Store".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Either::<Self, Hybrid>::json_schema(generator)
    }
}

/// Claims in a fast store, outcomes in a durable one.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Hybrid {
    /// Where claims are granted and leases renewed: a Redis.
    claims: Word<Claims>,
    /// Where outcomes are kept: a SQLite file or a PostgreSQL database.
    outcomes: Word<Outcomes>,
}

struct Claims(Address);
struct Outcomes(Address);

impl Text for Claims {
    const EXPECTED: &'static str = "a store for claims such as redis://HOST";

    fn parse(text: &str) -> Result<Self, Refusal> {
        claims(text).map(Self)
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^rediss?(-cluster)?://",
            "examples": ["redis://cache.internal:6379/0"],
        })
    }
}

impl Text for Outcomes {
    const EXPECTED: &'static str =
        "a store for outcomes such as postgres://HOST/DATABASE or sqlite:PATH";

    fn parse(text: &str) -> Result<Self, Refusal> {
        outcomes(text).map(Self)
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(sqlite:.|postgres(ql)?://)",
            "examples": ["postgres://semel@db.internal/payments"],
        })
    }
}

/// The store of a hybrid's claims.
pub(super) fn claims(text: &str) -> Result<Address, Refusal> {
    fitting(text, Claims::EXPECTED, |address| {
        address.engine().takes_claims()
    })
}

/// The store of a hybrid's outcomes.
pub(super) fn outcomes(text: &str) -> Result<Address, Refusal> {
    fitting(text, Outcomes::EXPECTED, |address| {
        address.engine().takes_outcomes()
    })
}

/// Only the kind of store that was found is told: the rest may be a password.
fn fitting(text: &str, expected: &str, fits: fn(&Address) -> bool) -> Result<Address, Refusal> {
    let one = Address::parse(text).filter(|_| super::two(text).is_none());
    match one {
        Some(address) if fits(&address) => Ok(address),
        Some(address) => {
            let found = address.engine().name();
            Err(Refusal::Said(format!("expected {expected}, found {found}")))
        }
        None => Err(Refusal::Said(format!("expected {expected}"))),
    }
}
