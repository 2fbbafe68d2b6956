//! `consumers.NAME`: one consumer of messages.
//!
//! The names with capitals inside (`retentionDays`) are those of a policy that is written under the root
//! `idempotentConsumer`; all keys are known under both roots.

mod door;
mod fields;
mod order;
mod parts;
mod strategy;

pub use door::{Deliver, Encoding, Scheme, Signature};
pub use fields::{Fingerprint, IdField, KeyField, SequenceField, Tenant};
pub use order::{By, GapThen, OnTerminal, Order};
pub use parts::{
    Ack, Alerts, Allowed, Backoff, Dedup, Inbox, Lost, ProcessedLog, Replay, Retry, SideEffects,
    Timing,
};
pub use strategy::{Kind, Strategy};

use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use semel_core::LeaseTerm;
use serde::Deserialize;

use crate::value::{Many, Messages, Named, Size, SourceUrl, Version, Word, Workers};

/// Who takes messages, and how each takes effect once.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Consumer {
    /// Where its messages come from: http, a file, or a broker. Default: nowhere; messages are handed
    /// in by programs.
    pub source: Option<Word<SourceUrl>>,
    /// The service that handles its messages. Default: none; they are handled by a program.
    pub deliver: Option<Deliver>,
    /// How its effect is made to happen once.
    pub strategy: Strategy,
    /// How long a message is remembered.
    pub dedup: Dedup,
    /// When its source is told.
    pub ack: Ack,
    /// Whether messages are stored first, and how often they are tried.
    pub inbox: Inbox,
    /// In which order messages run. Default: what the strategy says.
    pub order: Option<Order>,
    /// Whether messages that were dealt with may run again.
    pub replay: Replay,
    /// What to watch for.
    pub alerts: Alerts,
    /// Where the id of a message is; a list is tried in order. Default: Idempotency-Key, then the
    /// attributes of a CloudEvent; in a file what the line's envelope says; at a broker also the header
    /// message-id, the broker's own id, and Debezium's header id.
    pub id: Option<Many<IdField>>,
    /// Where the key that orders a message is: its aggregate, account or partition key.
    pub key: Option<KeyField>,
    /// Where the number of a message among those with its key is: the aggregate's version.
    pub sequence: Option<SequenceField>,
    /// Where the type of the event is.
    #[serde(rename = "type")]
    pub kind: Option<IdField>,
    /// On whose behalf messages are handled. Default: public.
    pub tenant: Option<Tenant>,
    /// What makes two messages with one id the same. Default: canonical_json.
    pub fingerprint: Option<Fingerprint>,
    /// How posted messages are signed. Default: they are not.
    pub signature: Option<Signature>,
    /// The version of what it does; another version handles every message anew. Default: 1.
    pub version: Option<Word<Version>>,
    /// How many handlers run at the same time in one process. Default: 16.
    pub workers: Option<Word<Workers>>,
    /// How many messages may wait before more are refused. Default: any number.
    pub backlog_max: Option<Word<Messages>>,
    /// Whether it is paused when it starts: messages are received and none runs. Default: false.
    pub paused: Option<bool>,
    /// How long a claim is held without a sign of life. Default: 30s, or the deadline if that is less.
    pub lease: Option<Word<LeaseTerm>>,
    /// How long one attempt may take. Default: 60s.
    pub deadline: Option<Word<Duration>>,
    /// What becomes of a message whose worker was lost. Default: rerun.
    pub unknown: Option<Lost>,
    /// The largest message, in bytes. Default: 1MiB.
    pub max_body: Option<Word<Size>>,
    /// How long a sender waits for the effect, if it is told after that. Default: 10s.
    pub wait: Option<Word<Duration>>,
    /// How long the source can deliver a message again.
    pub broker_retention: Option<Word<Duration>>,
    /// How long messages stay in a dead-letter queue from which they may come back.
    pub dlq_retention: Option<Word<Duration>>,
    /// Remembers processed ids in a compacted topic of Kafka, in one transaction with offsets, instead of
    /// storing messages. Default: messages are stored in the inbox.
    pub processed_log: Option<ProcessedLog>,
}

impl Consumer {
    /// Paths in the file are relative to its directory.
    pub(crate) fn resolve(&mut self, directory: &Path) {
        if let Some(Word(SourceUrl::File { path, .. })) = &mut self.source {
            *path = directory.join(&path);
        }
    }
}

/// Consumers under the root that their policies are often written with.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct IdempotentConsumer {
    /// Who takes messages, by name.
    pub consumers: Named<Consumer>,
}
