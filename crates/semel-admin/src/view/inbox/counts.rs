//! How consumers stand, and which versions they miss.

use semel_core::Timestamp;
use semel_core::inbox;
use serde::Serialize;
use utoipa::ToSchema;

use crate::inbox::Policies;
use crate::metrics::Metrics;
use crate::view::{Since, millis};

/// How many messages of one consumer are in which state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ConsumerCounts)]
pub struct Counts {
    /// Whose, as `name@version`.
    consumer: String,
    /// What still has to be done without anybody's help.
    pending: u64,
    /// RECEIVED.
    received: u64,
    /// IN_PROGRESS.
    in_progress: u64,
    /// IN_PROGRESS whose lease has ended.
    stale: u64,
    /// FAILED_RETRYABLE.
    failed_retryable: u64,
    /// FAILED_TERMINAL.
    failed_terminal: u64,
    /// PARKED.
    parked: u64,
    /// SKIPPED_DUPLICATE.
    skipped_duplicate: u64,
    /// Whether there may be more than these numbers say: PostgreSQL stops counting at a million of a state.
    at_least: bool,
    /// When the oldest message that is pending was received.
    oldest_pending: Option<Since>,
    /// Whether the configuration names it, or there is none. What waits for a consumer that it does not name is run by nothing.
    served: bool,
    /// Since when and by whom it is paused; null if it is not.
    paused: Option<Pause>,
    /// How its circuit stands in this process, `closed`, `half-open` or `open`: whether its handler or provider is there; null if this process does
    /// not serve it.
    circuit: Option<&'static str>,
}

/// A consumer that receives messages and does not run them.
#[derive(Debug, Serialize, ToSchema)]
pub struct Pause {
    /// Since when.
    since: Since,
    /// Who decided.
    by: String,
    /// Why.
    reason: Option<String>,
}

impl Pause {
    fn of(pause: &inbox::Pause, now: Timestamp) -> Self {
        Self {
            since: Since::of(pause.at, now),
            by: pause.by.clone(),
            reason: pause.reason.clone(),
        }
    }
}

/// The counts of all consumers that have or had messages.
#[derive(Debug, Serialize, ToSchema)]
pub struct AllCounts {
    /// One per consumer.
    consumers: Vec<Counts>,
}

impl AllCounts {
    /// The counts as they stand at `now`, under these policies.
    pub fn of(counts: &[inbox::Counts], policies: &Policies, now: Timestamp) -> Self {
        let consumers = counts
            .iter()
            .map(|counts| Counts::of(counts, policies, now));
        Self {
            consumers: consumers.collect(),
        }
    }

    /// The same with how circuits stand in a process that serves them.
    #[must_use]
    pub fn with_circuits(mut self, counts: &[inbox::Counts], metrics: &Metrics) -> Self {
        for (shown, counts) in self.consumers.iter_mut().zip(counts) {
            let circuit = metrics.circuit_of(&counts.consumer);
            shown.circuit = circuit.map(semel_inbox::CircuitState::name);
        }
        self
    }
}

impl Counts {
    fn of(counts: &inbox::Counts, policies: &Policies, now: Timestamp) -> Self {
        Self {
            consumer: counts.consumer.to_string(),
            pending: counts.pending(),
            received: counts.received,
            in_progress: counts.in_progress,
            stale: counts.stale,
            failed_retryable: counts.failed_retryable,
            failed_terminal: counts.failed_terminal,
            parked: counts.parked,
            skipped_duplicate: counts.skipped,
            at_least: counts.at_least,
            oldest_pending: counts.oldest_pending.map(|at| Since::of(at, now)),
            served: !policies.is_complete() || policies.knows(&counts.consumer),
            paused: counts.paused.as_ref().map(|pause| Pause::of(pause, now)),
            circuit: None,
        }
    }
}

/// The lanes of a consumer that wait for versions.
#[derive(Debug, Serialize, ToSchema)]
pub struct Gaps {
    /// One per lane.
    gaps: Vec<Gap>,
}

/// A lane that waits for versions.
#[derive(Debug, Serialize, ToSchema)]
pub struct Gap {
    /// Whose lane, as `name@version`.
    consumer: String,
    /// Whose tenant's lane.
    tenant: String,
    /// Which lane.
    lane: String,
    /// The last version that was applied; null if none was.
    done: Option<u64>,
    /// The versions that have not arrived, at most 100 ranges.
    missing: Vec<Missing>,
    /// How many messages wait for them.
    waiting: u64,
    /// When the first of them runs out of patience.
    deadline: Option<String>,
    /// How long that is from now; 0 if it has passed.
    left_ms: Option<u64>,
}

/// Versions that have not arrived.
#[derive(Debug, Serialize, ToSchema)]
pub struct Missing {
    /// The first of them.
    from: u64,
    /// The last of them.
    to: u64,
}

impl Gaps {
    /// The gaps as they stand at `now`.
    pub fn of(gaps: &[inbox::Gap], now: Timestamp) -> Self {
        let gaps = gaps.iter().map(|gap| Gap::of(gap, now));
        Self {
            gaps: gaps.collect(),
        }
    }
}

impl Gap {
    fn of(gap: &inbox::Gap, now: Timestamp) -> Self {
        let missing = |(from, to): &(u64, u64)| Missing {
            from: *from,
            to: *to,
        };
        Self {
            consumer: gap.consumer.to_string(),
            tenant: gap.tenant.to_string(),
            lane: gap.lane.to_string(),
            done: gap.done,
            missing: gap.missing.iter().map(missing).collect(),
            waiting: gap.waiting,
            deadline: gap.deadline.map(|at| at.to_string()),
            left_ms: gap.deadline.map(|at| millis(at.since(now))),
        }
    }
}
