//! How the store stands: counts that are asked for, at most every few seconds.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_core::Timestamp;
use semel_core::store::Stats;

type Number = Gauge<u64, AtomicU64>;
type Seconds = Gauge<f64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InState {
    state: &'static str,
}

#[derive(Debug)]
pub(super) struct Gauges {
    running: Number,
    unknown: Number,
    settled: Number,
    archived: Number,
    late_outcomes: Number,
    oldest_running: Seconds,
    oldest_unknown: Seconds,
    bytes: Number,
    up: Number,
}

impl Gauges {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let records = Family::<InState, Number>::default();
        let oldest = Family::<InState, Seconds>::default();
        let count = |state| records.get_or_create_owned(&InState { state });
        let age = |state| oldest.get_or_create_owned(&InState { state });
        let gauges = Self {
            running: count("running"),
            unknown: count("unknown"),
            settled: count("settled"),
            archived: count("archived"),
            late_outcomes: Number::default(),
            oldest_running: age("running"),
            oldest_unknown: age("unknown"),
            bytes: Number::default(),
            up: Number::default(),
        };
        // Until it was asked, nothing speaks against it.
        gauges.up.set(1);
        registry.register("semel_records", "Records by state", records);
        registry.register(
            "semel_oldest_seconds",
            "How long the oldest record has been in its state; 0 if there is none",
            oldest,
        );
        registry.register(
            "semel_late_outcomes",
            "Late outcomes in the history",
            gauges.late_outcomes.clone(),
        );
        registry.register(
            "semel_store_bytes",
            "Bytes on disk, 0 where the store cannot tell",
            gauges.bytes.clone(),
        );
        registry.register(
            "semel_store_up",
            "Whether the store read and wrote when readiness was last asked for",
            gauges.up.clone(),
        );
        gauges
    }

    pub(super) fn set(&self, stats: &Stats, now: Timestamp) {
        self.running.set(stats.running);
        self.unknown.set(stats.unknown);
        self.settled.set(stats.settled);
        self.archived.set(stats.archived);
        self.late_outcomes.set(stats.late_outcomes);
        let age = |since: Option<Timestamp>| {
            since
                .map_or(Duration::ZERO, |since| now.since(since))
                .as_secs_f64()
        };
        self.oldest_running.set(age(stats.oldest_running));
        self.oldest_unknown.set(age(stats.oldest_unknown));
        self.bytes.set(stats.bytes.unwrap_or(0));
    }

    /// Whether the store reads and writes, its size, how many outcomes are unknown, and for how long the oldest operation runs.
    pub(super) fn standing(&self) -> Standing {
        Standing {
            up: self.up.get() == 1,
            bytes: self.bytes.get(),
            unknown: self.unknown.get(),
            oldest_running: self.oldest_running.get(),
        }
    }

    /// Whether the store reads and writes. The last counts stay when it does not.
    pub(super) fn is_up(&self, up: bool) {
        self.up.set(up.into());
    }
}

/// How the store stood when it was last asked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Standing {
    pub(crate) up: bool,
    pub(crate) bytes: u64,
    pub(crate) unknown: u64,
    pub(crate) oldest_running: f64,
}
