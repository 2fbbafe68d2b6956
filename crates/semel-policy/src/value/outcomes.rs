//! Where the gateway answers callers that ask for outcomes.

use schemars::{Schema, json_schema};
use semel_http::outcomes::Place;

use super::word::{Refusal, Text};

/// A path, or nowhere.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutcomesAt(pub Option<Place>);

impl Default for OutcomesAt {
    fn default() -> Self {
        Self(Some(Place::default()))
    }
}

impl Text for OutcomesAt {
    const EXPECTED: &'static str =
        "off, or a path such as /.semel/outcomes of letters, digits, slashes and -._~";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text {
            "off" => Ok(Self(None)),
            path => {
                let place = Place::new(path).map_err(|_| Refusal::Unlike)?;
                Ok(Self(Some(place)))
            }
        }
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(off|(/[A-Za-z0-9._~-]+)+)$",
            "examples": ["/.semel/outcomes"],
        })
    }
}
