//! The whole policy of one consumer, as the engine carries it out.

use std::time::Duration;

use super::replay::Replay;
use super::retry::Retry;
use semel_core::LeaseTerm;
use semel_core::Scope;
use semel_core::inbox::plan::{Plan, UnknownPolicy};

/// The most handlers of one consumer that run at the same time in one process.
pub const WORKERS_MAX: usize = 1_024;

/// A consumer's policy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    /// What the store must know.
    pub plan: Plan,
    /// When to try again.
    pub retry: Retry,
    /// Whether a message whose attempts are used up is PARKED; otherwise it is FAILED_TERMINAL.
    pub parking: bool,
    /// Whether messages that were dealt with may run again.
    pub replay: Replay,
    /// When a source is told.
    pub ack: Ack,
    /// How long a claim lasts unless it is renewed.
    pub lease: LeaseTerm,
    /// How long one attempt may take.
    pub deadline: Duration,
    /// How many handlers run at the same time in one process.
    pub workers: usize,
    /// What becomes of a message of which it is not known whether its effect happened.
    pub on_unknown: UnknownPolicy,
    /// Whether a message without an id is refused; otherwise its id is derived from its payload.
    pub id_required: bool,
    /// Whether a message without a lane and a sequence is refused.
    pub sequence_required: bool,
    /// Whether the ids of intents always follow from the message and the intent's name, so that a handler cannot give others.
    pub derived_intent_ids: bool,
    /// Whether intents may only go to targets that take an idempotency key.
    pub provider_keys_required: bool,
    /// So many messages or more that wait, and nothing more is taken in until a tenth of them is done: sources are not asked, and
    /// senders are told to come later. `None` takes in what comes.
    pub backlog_max: Option<u64>,
    /// What to watch for.
    pub alerts: Alerts,
}

impl Consumer {
    /// The usual policy of a consumer.
    pub fn new(name: Scope) -> Self {
        Self {
            plan: Plan::new(name),
            retry: Retry::default(),
            parking: true,
            replay: Replay::default(),
            ack: Ack::AfterReceive,
            lease: LeaseTerm::default(),
            deadline: Duration::from_secs(60),
            workers: 16,
            on_unknown: UnknownPolicy::Rerun,
            id_required: true,
            sequence_required: false,
            derived_intent_ids: true,
            provider_keys_required: false,
            backlog_max: None,
            alerts: Alerts::default(),
        }
    }

    /// Its name and version.
    pub const fn name(&self) -> &Scope {
        &self.plan.consumer
    }
}

/// When a source is told that a message was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ack {
    /// As soon as it is stored: the inbox is the queue from then on.
    #[default]
    AfterReceive,
    /// When its effect is applied: the source's own lease is extended until then.
    AfterEffect,
}

/// What to watch for. `None` and `false` watch for nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alerts {
    /// More than a tenth of what arrives in a minute are duplicates.
    pub duplicate_spike: bool,
    /// A version is missing.
    pub sequence_gap: bool,
    /// Something has been waiting for longer than this.
    pub pending_age: Option<Duration>,
    /// So many messages or more are parked or failed for good.
    pub parked: Option<u64>,
}

impl Default for Alerts {
    fn default() -> Self {
        Self {
            duplicate_spike: true,
            sequence_gap: true,
            pending_age: Some(Duration::from_secs(300)),
            parked: Some(1),
        }
    }
}
