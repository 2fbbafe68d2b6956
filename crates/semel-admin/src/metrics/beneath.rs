//! What a store does beneath its verbs: commits that carry many calls, ended leases, its sweep, its clock.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_core::clock::Doubt;
use semel_core::store::Swept;

use super::histogram::Histogram;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Step {
    kind: &'static str,
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

    pub(super) fn sweep_failed(&self) {
        self.sweeps_failed.inc();
    }
}
