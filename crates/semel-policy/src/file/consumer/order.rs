//! `consumers.NAME.order`: which message may run.

use std::time::Duration;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use semel_core::inbox::Baseline;
use serde::Deserialize;

use crate::value::{Either, Refusal, Text, Word};

/// In which order messages run: a word, or a map that says more.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(from = "Either<By, Long>")]
pub struct Order {
    /// What orders them.
    pub by: By,
    /// What a message that failed for good means for those behind it.
    pub on_terminal: Option<OnTerminal>,
    /// What a lane begins with.
    pub baseline: Option<Baseline>,
    /// How long a message waits for an earlier version.
    pub gap_deadline: Option<Duration>,
    /// What happens when that did not come.
    pub gap_then: Option<GapThen>,
}

/// What orders the messages with one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum By {
    /// Nothing: they run as they come.
    None,
    /// They run in the order in which they arrived.
    Arrival,
    /// They run by their sequence.
    Sequence,
}

impl Text for By {
    const EXPECTED: &'static str =
        "none, arrival, sequence, or a map of by, on_terminal, baseline, gap_deadline, gap_then";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text {
            "none" => Ok(Self::None),
            "arrival" => Ok(Self::Arrival),
            "sequence" => Ok(Self::Sequence),
            _ => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "type": "string", "enum": ["none", "arrival", "sequence"] })
    }
}

/// What a message that failed for good means for those behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum OnTerminal {
    /// They are parked until it is dealt with.
    Park,
    /// They go on without it.
    Advance,
}

/// What happens when a missing version did not come in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum GapThen {
    /// Those behind it stay parked; they are still released if it comes.
    Hold,
    /// They go on without it.
    Advance,
}

/// In which order messages run.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Order")]
struct Long {
    /// What orders the messages with one key.
    by: By,
    /// What a message that failed for good means for those behind it. Default: park.
    on_terminal: Option<OnTerminal>,
    /// What a key begins with: whatever comes first, or the version after this one. Default: first-seen.
    baseline: Option<Word<Baseline>>,
    /// How long a message waits for an earlier version. Default: 5m.
    gap_deadline: Option<Word<Duration>>,
    /// What happens when that did not come. Default: hold.
    gap_then: Option<GapThen>,
}

impl From<Either<By, Long>> for Order {
    fn from(written: Either<By, Long>) -> Self {
        match written {
            Either::Short(by) => Self {
                by,
                on_terminal: None,
                baseline: None,
                gap_deadline: None,
                gap_then: None,
            },
            Either::Long(long) => Self {
                by: long.by,
                on_terminal: long.on_terminal,
                baseline: long.baseline.map(|baseline| baseline.0),
                gap_deadline: long.gap_deadline.map(|deadline| deadline.0),
                gap_then: long.gap_then,
            },
        }
    }
}

impl JsonSchema for Order {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "WordOrOrder".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Either::<By, Long>::json_schema(generator)
    }
}
