//! The parts of a consumer's policy: memory, acknowledgement, attempts, replays, alerts.

use std::time::Duration;

use schemars::{JsonSchema, Schema, json_schema};
use serde::Deserialize;

use crate::value::{Attempts, Days, Messages, Name, Refusal, Seconds, Text, View, Word};

/// How long a message is remembered, and where people can look it up.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Dedup {
    /// The name of a view of processed messages that is made in the store. Default: none.
    pub table: Option<Word<View>>,
    /// How many days a message that was dealt with is remembered.
    pub retention_days: Option<Word<Days>>,
    /// The same as a duration. Default: 7d.
    pub retention: Option<Word<Duration>>,
}

/// Remembers processed ids in a compacted topic of Kafka, without any database.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProcessedLog {
    /// The compacted topic, at the brokers of source and with as many partitions as its topic.
    pub topic: Word<Name>,
    /// The topic that messages go to which cannot be read or have failed for good.
    pub dead_letters: Word<Name>,
}

/// When the source is told that a message was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Ack {
    /// When it is told. Default: what the strategy says.
    pub timing: Option<Timing>,
}

/// When the source is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Timing {
    /// When the effect is committed.
    AfterDbTransaction,
    /// When the effect is applied.
    AfterEffect,
    /// When the message is stored.
    AfterReceive,
}

impl Timing {
    /// The name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AfterDbTransaction => "after-db-transaction",
            Self::AfterEffect => "after-effect",
            Self::AfterReceive => "after-receive",
        }
    }
}

/// Whether messages are stored first, and how often they are tried.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Inbox {
    /// Whether messages are stored first. Default: true.
    pub enabled: Option<bool>,
    /// Whether the source is told as soon as a message is stored.
    pub ack_after_inbox_insert: Option<bool>,
    /// How often a message is tried.
    pub retry: Option<Retry>,
    /// Whether a message whose attempts are used up is parked; otherwise it has failed for good.
    /// Default: true.
    pub parking_lot: Option<bool>,
}

/// How often and how fast something is tried again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Retry {
    /// How many attempts there are in all. Default: 10.
    pub max_attempts: Option<Word<Attempts>>,
    /// How waits grow. Default: exponential-jitter.
    pub backoff: Option<Backoff>,
    /// The wait after the first attempt. Default: 1s.
    pub first: Option<Word<Duration>>,
    /// The longest wait. Default: 5m.
    pub max: Option<Word<Duration>>,
}

/// How waits grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Backoff {
    /// Each is twice the one before, and drawn between half of that and all of it.
    ExponentialJitter,
    /// Each is twice the one before.
    Exponential,
    /// All are alike.
    Fixed,
    /// All are alike, and drawn between half of that and all of it.
    FixedJitter,
}

/// Whether messages that were dealt with may run again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
#[schemars(rename = "ReplayPolicy")]
pub struct Replay {
    /// Whether an operator may replay without force. Default: what the strategy says.
    pub allowed: Option<Word<Allowed>>,
    /// What becomes of the intents of a replayed message. Default: what the strategy says.
    pub side_effects: Option<SideEffects>,
    /// Whether versions that were applied are applied again. Default: what the strategy says.
    pub rebuild: Option<bool>,
    /// How far back messages are replayed; they must be remembered for as long. Default: as long as
    /// they are.
    pub window: Option<Word<Duration>>,
}

/// Whether an operator may replay without force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Allowed {
    /// Yes.
    True,
    /// No.
    False,
    /// No, because it would really be sent; and if it is forced, nothing is.
    FalseForRealSend,
}

impl Text for Allowed {
    const EXPECTED: &'static str = "true, false or false-for-real-send";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match text {
            "true" => Ok(Self::True),
            "false" => Ok(Self::False),
            "false-for-real-send" => Ok(Self::FalseForRealSend),
            _ => Err(Refusal::Unlike),
        }
    }

    fn schema() -> Schema {
        json_schema!({ "enum": [true, false, "false-for-real-send"] })
    }
}

/// What becomes of the intents of a replayed message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SideEffects {
    /// There are none by design; one that is made all the same is suppressed and counted.
    None,
    /// They are suppressed and counted.
    Suppress,
    /// They are stored like any; those that are remembered are duplicates of themselves.
    Allow,
}

/// What to watch for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Alerts {
    /// More than a tenth of what arrives in a minute are duplicates. Default: true.
    pub duplicate_spike: Option<bool>,
    /// A version is missing. Default: true.
    pub sequence_gap: Option<bool>,
    /// Something has been waiting for longer than this, in seconds. Default: 300.
    pub pending_age_seconds: Option<Word<Seconds>>,
    /// So many messages or more are parked or failed for good. Default: 1.
    pub parked_messages: Option<Word<Messages>>,
}

/// What becomes of a message whose worker was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Lost {
    /// It runs again: its handler knows the id and repeats nothing.
    Rerun,
    /// It is parked until a person decides.
    Hold,
}
