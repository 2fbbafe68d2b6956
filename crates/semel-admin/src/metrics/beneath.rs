//! What a store does beneath its verbs: commits that carry many calls, ended leases, its sweep, its clock.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_core::clock::Doubt;
use semel_core::record::UnknownCause;
use semel_core::store::Swept;
use semel_core::{Error, Timestamp};

use super::histogram::Histogram;
use crate::sweeps::{Moment, Sweeps};

/// For a series that is not there from the beginning.
type NoLabels = Vec<(&'static str, &'static str)>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Step {
    kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByCause {
    cause: &'static str,
}

#[derive(Debug)]
pub(super) struct Beneath {
    batch_size: Histogram,
    commit_seconds: Histogram,
    leases_ended: Counter,
    deleted: Counter,
    archived: Counter,
    events_deleted: Counter,
    sweeps_failed: Counter,
    sweeps: Arc<Sweeps>,
    /// When the sweep last took a step; no series for a store without one.
    swept_at: Family<NoLabels, Gauge<f64, AtomicU64>>,
    /// Since when each step left something; no series while none is left.
    behind_since: Family<NoLabels, Gauge<f64, AtomicU64>>,
    unknowns: Family<ByCause, Counter>,
    clock_jump: Gauge,
}

impl Beneath {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let swept = Family::<Step, Counter>::default();
        let step = |kind| swept.get_or_create_owned(&Step { kind });
        let beneath = Self {
            batch_size: Histogram::counts(),
            commit_seconds: Histogram::seconds(),
            leases_ended: Counter::default(),
            deleted: step("deleted"),
            archived: step("archived"),
            events_deleted: step("events-deleted"),
            sweeps_failed: Counter::default(),
            sweeps: Arc::new(Sweeps::new(Moment::now())),
            swept_at: Family::default(),
            behind_since: Family::default(),
            unknowns: Family::default(),
            clock_jump: Gauge::default(),
        };
        registry.register(
            "semel_store_batch_size",
            "How many calls each commit of the store carried",
            beneath.batch_size.clone(),
        );
        registry.register(
            "semel_store_commit_seconds",
            "How long commits of the store took",
            beneath.commit_seconds.clone(),
        );
        registry.register(
            "semel_leases_ended",
            "Leases that ended without an outcome; their records are unknown",
            beneath.leases_ended.clone(),
        );
        registry.register("semel_swept", "What retention no longer protected", swept);
        registry.register(
            "semel_sweeps_failed",
            "Steps of the sweep that the store could not take",
            beneath.sweeps_failed.clone(),
        );
        registry.register(
            "semel_sweep_last_timestamp_seconds",
            "When the store's own sweep last took a step, here or in another process that shares the work, in Unix time; before the first that \
             succeeds, when the process began; of a store with several parts or shares, that which has waited longest",
            beneath.swept_at.clone(),
        );
        registry.register(
            "semel_sweep_behind_timestamp_seconds",
            "Since when each step of the store's own sweep, or of that of one of its parts or shares, has left something, in Unix time; nothing while \
             it keeps up",
            beneath.behind_since.clone(),
        );
        registry.register(
            "semel_unknowns",
            "Records that became unknown, by cause: lease-ended, run-undecided, run-panicked",
            beneath.unknowns.clone(),
        );
        registry.register(
            "semel_store_clock_jump_seconds",
            "How far the clock has jumped ahead of the store's time without an explanation; retention is prolonged by it",
            beneath.clock_jump.clone(),
        );
        beneath
    }

    pub(super) fn committed(&self, calls: usize, took: Duration) {
        self.batch_size.observe(calls as u64);
        self.commit_seconds.took(took);
    }

    pub(super) fn lease_ended(&self) {
        self.leases_ended.inc();
        self.became_unknown(UnknownCause::LeaseEnded);
    }

    /// A record became unknown.
    pub(super) fn became_unknown(&self, cause: UnknownCause) {
        let cause = cause.name();
        self.unknowns.get_or_create(&ByCause { cause }).inc();
    }

    /// How the store's own sweeps go.
    pub(super) const fn sweeps(&self) -> &Arc<Sweeps> {
        &self.sweeps
    }

    /// A step of the store's own sweep has ended, in this part and share of the store.
    pub(super) fn stepped(&self, place: (&'static str, usize), step: Result<&Swept, &Error>) {
        self.sweeps.stepped(place, step, Moment::now());
        match step {
            Ok(swept) => self.swept(swept),
            Err(_) => {
                self.sweeps_failed.inc();
            }
        }
    }

    /// Since when each step has left something, in Unix time.
    pub(super) fn behind_since(&self) -> Option<f64> {
        self.sweeps.behind_since().map(seconds)
    }

    /// When the store's own sweep last took a step, in Unix time.
    pub(super) fn last_swept(&self) -> Option<f64> {
        self.sweeps.last_swept().map(seconds)
    }

    pub(super) fn refresh(&self) {
        let show = |series: &Family<NoLabels, Gauge<f64, AtomicU64>>, at: Option<f64>| {
            let none = NoLabels::new();
            match at {
                Some(at) => {
                    series.get_or_create(&none).set(at);
                }
                None => {
                    series.remove(&none);
                }
            }
        };
        show(&self.swept_at, self.last_swept());
        show(&self.behind_since, self.behind_since());
    }

    /// How many steps of the sweep failed.
    pub(super) fn sweep_failures(&self) -> u64 {
        self.sweeps_failed.get()
    }

    /// How far the clock has jumped, in seconds.
    pub(super) fn jump(&self) -> f64 {
        self.clock_jump.get() as f64
    }

    pub(super) fn swept(&self, swept: &Swept) {
        self.deleted.inc_by(swept.deleted as u64);
        self.archived.inc_by(swept.archived as u64);
        self.events_deleted.inc_by(swept.events_deleted as u64);
    }

    pub(super) fn clock_doubted(&self, doubt: Option<Doubt>) {
        let seconds = doubt.map_or(0, |doubt| doubt.by.as_secs());
        self.clock_jump
            .set(i64::try_from(seconds).unwrap_or(i64::MAX));
    }
}

/// Unix time in seconds.
fn seconds(at: Timestamp) -> f64 {
    at.as_millis() as f64 / 1e3
}
