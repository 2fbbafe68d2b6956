//! `consumers.NAME.strategy`: how an effect is made to happen once.

use schemars::JsonSchema;
use serde::Deserialize;

/// How the effect is made to happen once, and what that asks of messages and handlers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct Strategy {
    /// What guards the effect; it decides what other settings are by default. Default: inbox.
    #[serde(rename = "type")]
    pub kind: Option<Kind>,
    /// Whether a message without an id is refused; otherwise its id is derived from its content.
    /// Default: true.
    pub message_id_required: Option<bool>,
    /// Whether a message without a key and a sequence is refused. Default: true if the strategy is by
    /// version.
    pub sequence_required: Option<bool>,
    /// Whether intents may only go to targets that take an idempotency key. Default: true for
    /// external-idempotency-key.
    pub external_provider_idempotency: Option<bool>,
    /// Whether the ids of intents always follow from the message, so that a handler cannot give
    /// others. Default: true.
    pub deterministic_notification_id: Option<bool>,
}

/// What guards the effect.
///
/// It decides what holds where the file says nothing else:
///
/// | strategy | order | the source is told | replays | besides |
/// |---|---|---|---|---|
/// | `inbox` | none | when stored | by force only, intents suppressed | needs the inbox |
/// | `processed-message` | none | when the effect is applied | by force only, intents suppressed | |
/// | `unique-business-key` | none | when stored | allowed, intents suppressed | a message from a source has its business key as id |
/// | `aggregate-version-upsert` | by sequence, from the first seen | when stored | allowed, rebuild, no intents | the sequence is required |
/// | `upsert-projection` | by arrival, going on after failures | when stored | allowed, rebuild, no intents | |
/// | `compare-and-set` | by arrival, parking behind failures | when stored | by force only, intents suppressed | |
/// | `external-idempotency-key` | none | when stored | by force only, intents suppressed | intents only to targets that take a key |
/// | `deterministic-output-id` | none | when stored | allowed, intents stored again under their ids | ids always follow from the message |
/// | `inbox-plus-notification-intent` | none | when stored | by force only, intents suppressed | needs the inbox |
/// | `sequence-gap-detection` | by sequence, from version 1 | when stored | by force only, intents suppressed | the sequence is required; needs the inbox |
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(rename = "StrategyType")]
pub enum Kind {
    /// Messages are stored first and handled from the store.
    #[default]
    Inbox,
    /// The effect and the mark that it happened commit together.
    ProcessedMessage,
    /// A unique key in the user's own table refuses a second effect.
    UniqueBusinessKey,
    /// Each version of an aggregate is applied once, in order, onto what is there.
    AggregateVersionUpsert,
    /// What is written replaces what was there.
    UpsertProjection,
    /// A transition happens only from the state that it expects.
    CompareAndSet,
    /// The provider recognises a key.
    ExternalIdempotencyKey,
    /// What is written has an id that follows from the message.
    DeterministicOutputId,
    /// Messages are stored first, and what is to be sent is stored with the effect.
    InboxPlusNotificationIntent,
    /// No version may be missing.
    SequenceGapDetection,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Inbox,
        Self::ProcessedMessage,
        Self::UniqueBusinessKey,
        Self::AggregateVersionUpsert,
        Self::UpsertProjection,
        Self::CompareAndSet,
        Self::ExternalIdempotencyKey,
        Self::DeterministicOutputId,
        Self::InboxPlusNotificationIntent,
        Self::SequenceGapDetection,
    ];

    /// The name in the file.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Inbox => "inbox",
            Self::ProcessedMessage => "processed-message",
            Self::UniqueBusinessKey => "unique-business-key",
            Self::AggregateVersionUpsert => "aggregate-version-upsert",
            Self::UpsertProjection => "upsert-projection",
            Self::CompareAndSet => "compare-and-set",
            Self::ExternalIdempotencyKey => "external-idempotency-key",
            Self::DeterministicOutputId => "deterministic-output-id",
            Self::InboxPlusNotificationIntent => "inbox-plus-notification-intent",
            Self::SequenceGapDetection => "sequence-gap-detection",
        }
    }
}
