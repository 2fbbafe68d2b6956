//! How the inbox stands: counts that are asked for, at most every few seconds.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_core::inbox::{Counts, State};
use semel_core::{Scope, Timestamp};

use super::labels::{ByConsumer, ByState, CONSUMERS_MAX};

type Number = Gauge<u64, AtomicU64>;
type Seconds = Gauge<f64, AtomicU64>;

#[derive(Debug)]
pub(in crate::metrics) struct Gauges {
    messages: Family<ByState, Number>,
    pending: Family<ByConsumer, Number>,
    stale: Family<ByConsumer, Number>,
    oldest: Family<ByConsumer, Seconds>,
    paused: Family<ByConsumer, Number>,
    /// Consumers that are known, so that one without messages goes to zero and does not stay as it was.
    known: Mutex<BTreeMap<Scope, Arc<str>>>,
    /// Consumers with messages that nothing runs, when this was last judged.
    unserved: Mutex<BTreeSet<Scope>>,
}

impl Gauges {
    pub(in crate::metrics) fn register(registry: &mut Registry) -> Self {
        let gauges = Self {
            messages: Family::default(),
            pending: Family::default(),
            stale: Family::default(),
            oldest: Family::default(),
            paused: Family::default(),
            known: Mutex::default(),
            unserved: Mutex::default(),
        };
        registry.register(
            "semel_inbox_messages",
            "Messages by state, without those that are completed",
            gauges.messages.clone(),
        );
        registry.register(
            "semel_inbox_pending",
            "Messages that still have to be processed",
            gauges.pending.clone(),
        );
        registry.register(
            "semel_inbox_stale",
            "Messages in progress whose lease has ended",
            gauges.stale.clone(),
        );
        registry.register(
            "semel_inbox_oldest_pending_seconds",
            "How long ago the oldest pending message was received; 0 if there is none",
            gauges.oldest.clone(),
        );
        registry.register(
            "semel_inbox_paused",
            "1 while a consumer is paused: it receives messages and runs none",
            gauges.paused.clone(),
        );
        gauges
    }

    pub(in crate::metrics) fn set(&self, all: &[Counts], now: Timestamp) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        for counts in all {
            if known.len() < CONSUMERS_MAX && !known.contains_key(&counts.consumer) {
                known.insert(counts.consumer.clone(), counts.consumer.to_string().into());
            }
        }
        for (consumer, label) in known.iter() {
            let found = all.iter().find(|counts| counts.consumer == *consumer);
            let none = || Counts::none(consumer.clone());
            let counts = found.cloned().unwrap_or_else(none);
            self.set_one(label, &counts, now);
        }
    }

    /// Messages in progress whose lease has ended, by consumer.
    pub(in crate::metrics) fn all_stale(&self) -> Vec<(Arc<str>, u64)> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let labels = known.values().cloned();
        let of = |consumer: Arc<str>| {
            let labels = ByConsumer {
                consumer: consumer.clone(),
            };
            (consumer, self.stale.get_or_create(&labels).get())
        };
        labels.map(of).collect()
    }

    /// Keeps which consumers are not served, and gives those that were not before.
    pub(super) fn replace_unserved(&self, now: &BTreeSet<Scope>) -> BTreeSet<Scope> {
        let mut unserved = self.unserved.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut *unserved, now.clone())
    }

    fn set_one(&self, label: &Arc<str>, counts: &Counts, now: Timestamp) {
        for (state, number) in [
            (State::Received, counts.received),
            (State::InProgress, counts.in_progress),
            (State::FailedRetryable, counts.failed_retryable),
            (State::FailedTerminal, counts.failed_terminal),
            (State::Parked, counts.parked),
            (State::SkippedDuplicate, counts.skipped),
        ] {
            let (consumer, state) = (label.clone(), state.name());
            let labels = ByState { consumer, state };
            self.messages.get_or_create(&labels).set(number);
        }
        let labels = ByConsumer {
            consumer: label.clone(),
        };
        self.pending.get_or_create(&labels).set(counts.pending());
        self.stale.get_or_create(&labels).set(counts.stale);
        let paused = u64::from(counts.paused.is_some());
        self.paused.get_or_create(&labels).set(paused);
        let age = counts.oldest_pending.map(|since| now.since(since));
        let age = age.unwrap_or(Duration::ZERO).as_secs_f64();
        self.oldest.get_or_create(&labels).set(age);
    }
}
