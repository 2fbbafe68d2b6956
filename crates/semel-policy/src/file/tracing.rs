//! `tracing`: which requests and messages are traced, and where the traces go.

use std::time::Duration;

use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;

use crate::value::{Count, Name, Named, Refusal, Secret, Service, Text, Word};

/// Which requests and messages are traced, and where the traces are sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Tracing {
    /// The OpenTelemetry collector, over OTLP/HTTP: http://127.0.0.1:4318. Without one nothing is traced. Default: what
    /// OTEL_EXPORTER_OTLP_ENDPOINT says.
    pub endpoint: Option<Word<Service>>,
    /// Headers that are sent to the collector; their values are kept secret. Default: what OTEL_EXPORTER_OTLP_HEADERS says,
    /// for the collector that the environment names.
    pub headers: Named<Word<Secret>>,
    /// What the traces call this service. Default: what OTEL_SERVICE_NAME says, otherwise semel.
    pub service: Option<Word<Name>>,
    /// The share of traces that begin here which are recorded, from 0 to 1, or parent for none of them. Where a caller or producer began
    /// the trace, it has decided. Default: 1.
    pub sample: Option<Word<Sample>>,
    /// Whether a request goes on with the trace that its caller names. Default: trust.
    pub callers: Callers,
    /// How handling a message stands to the trace of its producer. Default: link.
    pub messages: Messages,
    /// How long the collector may take to answer. Default: 10s.
    pub timeout: Option<Word<Duration>>,
    /// How long a span may wait for others to be sent with. Default: 1s.
    pub every: Option<Word<Duration>>,
    /// How many spans may wait; what comes while so many do is dropped and counted. Default: 8192.
    pub queue: Option<Word<Count>>,
}

/// Whether a request goes on with the trace that its caller names.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Callers {
    /// It does, and the caller decides whether it is recorded.
    #[default]
    Trust,
    /// It begins a trace of its own, with a link to the caller's: for a gateway that anybody can reach.
    Link,
}

/// How handling a message stands to the trace of its producer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Messages {
    /// It begins a trace of its own, with a link to the producer's.
    #[default]
    Link,
    /// It is a part of the producer's trace, however much later it happens.
    Join,
}

/// The share of traces that are recorded, in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sample(u32);

impl Sample {
    const WHOLE: f64 = 1_000_000.0;

    /// The share, from 0 to 1.
    pub fn get(self) -> f64 {
        f64::from(self.0) / Self::WHOLE
    }
}

impl Text for Sample {
    const EXPECTED: &'static str = "a share from 0 to 1, such as 0.1, or parent";

    fn parse(text: &str) -> Result<Self, Refusal> {
        if text == "parent" {
            return Ok(Self(0));
        }
        let share: f64 = text.parse().map_err(|_| Refusal::Unlike)?;
        match (0.0..=1.0).contains(&share) {
            true => Ok(Self((share * Self::WHOLE).round() as u32)),
            false => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "anyOf": [
            { "type": "number", "minimum": 0, "maximum": 1 },
            { "const": "parent" },
        ] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_number_between_0_and_1_or_the_parents() {
        for (text, share) in [("0", 0.0), ("1", 1.0), ("0.25", 0.25), ("parent", 0.0)] {
            assert_eq!(
                Sample::parse(text).map(Sample::get).ok(),
                Some(share),
                "{text}"
            );
        }
        for text in ["", "-1", "1.1", "NaN", "inf", "10%", "always"] {
            assert!(Sample::parse(text).is_err(), "{text}");
        }
    }
}
