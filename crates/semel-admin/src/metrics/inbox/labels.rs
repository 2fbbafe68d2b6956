//! Names that become labels, and how many of them there are at most.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;

/// The most consumers that are told apart; the rest share the label `other`.
pub const CONSUMERS_MAX: usize = 256;
/// The most kinds of events of one consumer that are told apart; the rest share the label `other`.
pub const EVENT_TYPES_MAX: usize = 100;

/// The label of messages that do not say what kind of event they are.
pub(super) const NONE: &str = "none";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByConsumer {
    pub(super) consumer: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByType {
    pub(super) consumer: Arc<str>,
    pub(super) event_type: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByReason {
    pub(super) consumer: Arc<str>,
    pub(super) event_type: Arc<str>,
    pub(super) reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByStatus {
    pub(super) consumer: Arc<str>,
    pub(super) status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByState {
    pub(super) consumer: Arc<str>,
    pub(super) state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(super) struct ByPolicy {
    pub(super) consumer: Arc<str>,
    pub(super) policy: &'static str,
}
