//! How the inbox stands: counts that are asked for, at most every few seconds.

use std::collections::BTreeMap;
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
    /// Consumers that were told of, so that one without messages goes to zero and does not stay as it was.
    known: Mutex<BTreeMap<Scope, Arc<str>>>,
}

impl Gauges {
    pub(in crate::metrics) fn register(registry: &mut Registry) -> Self {
        let gauges = Self {
            messages: Family::default(),
            pending: Family::default(),
            stale: Family::default(),
            oldest: Family::default(),
            known: Mutex::default(),
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
        let age = counts.oldest_pending.map(|since| now.since(since));
        let age = age.unwrap_or(Duration::ZERO).as_secs_f64();
        self.oldest.get_or_create(&labels).set(age);
    }
}
