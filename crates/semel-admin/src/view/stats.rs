//! Counts for operators.

use semel_core::{Timestamp, inbox, store};
use serde::Serialize;
use utoipa::ToSchema;

use super::millis;

/// Counts for operators.
#[derive(Debug, Serialize, ToSchema)]
pub struct Stats {
    /// Live leases.
    running: u64,
    /// Outcomes that nobody knows.
    unknown: u64,
    /// Settled records.
    settled: u64,
    /// Archived records.
    archived: u64,
    /// Late outcomes in the history.
    late_outcomes: u64,
    /// When the oldest live claim was granted.
    oldest_running: Option<Since>,
    /// Since when the oldest unknown outcome waits.
    oldest_unknown: Option<Since>,
    /// Bytes on disk, where the store can tell.
    bytes: Option<u64>,
    /// The consumers of messages that are paused, as `name@version`; null if the store has no inbox.
    paused_consumers: Option<Vec<String>>,
}

/// An instant and how long ago it was.
#[derive(Debug, Serialize, ToSchema)]
pub struct Since {
    /// The instant.
    at: String,
    /// How long ago.
    age_ms: u64,
}

impl Since {
    pub(super) fn of(at: Timestamp, now: Timestamp) -> Self {
        Self {
            at: at.to_string(),
            age_ms: millis(now.since(at)),
        }
    }
}

impl Stats {
    /// The counts as they stand at `now`.
    pub fn of(stats: &store::Stats, now: Timestamp) -> Self {
        let since = |at: Timestamp| Since::of(at, now);
        Self {
            running: stats.running,
            unknown: stats.unknown,
            settled: stats.settled,
            archived: stats.archived,
            late_outcomes: stats.late_outcomes,
            oldest_running: stats.oldest_running.map(since),
            oldest_unknown: stats.oldest_unknown.map(since),
            bytes: stats.bytes,
            paused_consumers: None,
        }
    }

    /// The same with which consumers of messages are paused.
    #[must_use]
    pub fn with_inbox(mut self, counts: &[inbox::Counts]) -> Self {
        let paused = counts.iter().filter(|counts| counts.paused.is_some());
        let paused = paused.map(|counts| counts.consumer.to_string());
        self.paused_consumers = Some(paused.collect());
        self
    }
}
