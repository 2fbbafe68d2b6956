//! What engines report as they go.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use semel_core::Scope;
use semel_core::inbox::{Cause, Message, Receipt, State};
use semel_inbox::AttemptEnd;

use super::labels::{ByPolicy, ByReason, ByStatus, ByType, CONSUMERS_MAX, EVENT_TYPES_MAX, NONE};
use crate::metrics::bounded::Bounded;
use crate::metrics::histogram::Histogram;

#[derive(Debug)]
pub(in crate::metrics) struct Counted {
    series: Series,
    consumers: Bounded<Scope, Consumer>,
}

#[derive(Debug, Default)]
struct Series {
    received: Family<ByType, Counter>,
    duplicates: Family<ByType, Counter>,
    claims: Family<ByStatus, Counter>,
    seconds: Seconds,
    failures: Family<ByReason, Counter>,
    parked: Family<ByReason, Counter>,
    suspected: Family<ByReason, Counter>,
    reclaimed: Family<ByType, Counter>,
    suppressed: Family<ByType, Counter>,
    replays: Family<ByPolicy, Counter>,
}

#[derive(Debug)]
struct Seconds(Family<ByType, Histogram, fn() -> Histogram>);

impl Default for Seconds {
    fn default() -> Self {
        Self(Family::new_with_constructor(Histogram::seconds))
    }
}

/// The series of a consumer that are the same for all its messages, so that they are not looked up by their labels each time.
#[derive(Debug)]
struct Consumer {
    label: Arc<str>,
    new: Counter,
    duplicate: Counter,
    conflict: Counter,
    reclaimed: Counter,
    late: Counter,
    settled_elsewhere: Counter,
    /// Messages that their handler refused for good.
    terminal: AtomicU64,
    /// Replays against the policy.
    forced: AtomicU64,
    types: Bounded<String, EventType>,
}

/// What alerts judge of a consumer: how much of it there was since the process began.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WatchedConsumer {
    pub(crate) consumer: Arc<str>,
    pub(crate) late: u64,
    pub(crate) terminal: u64,
    pub(crate) forced: u64,
}

/// The same for one kind of event.
#[derive(Debug)]
struct EventType {
    label: Arc<str>,
    received: Counter,
    duplicates: Counter,
    reclaimed: Counter,
    suppressed: Counter,
    seconds: Histogram,
}

impl Series {
    fn consumer(&self, label: Arc<str>) -> Consumer {
        let claims = |status| {
            let consumer = label.clone();
            self.claims
                .get_or_create_owned(&ByStatus { consumer, status })
        };
        Consumer {
            new: claims("new"),
            duplicate: claims("duplicate"),
            conflict: claims("conflict"),
            reclaimed: claims("reclaimed"),
            late: claims("late"),
            settled_elsewhere: claims("settled-elsewhere"),
            terminal: AtomicU64::new(0),
            forced: AtomicU64::new(0),
            types: Bounded::new(EVENT_TYPES_MAX),
            label,
        }
    }

    fn event_type(&self, consumer: &Arc<str>, label: Arc<str>) -> EventType {
        let labels = ByType {
            consumer: consumer.clone(),
            event_type: label.clone(),
        };
        EventType {
            label,
            received: self.received.get_or_create_owned(&labels),
            duplicates: self.duplicates.get_or_create_owned(&labels),
            reclaimed: self.reclaimed.get_or_create_owned(&labels),
            suppressed: self.suppressed.get_or_create_owned(&labels),
            seconds: self.seconds.0.get_or_create_owned(&labels),
        }
    }
}

impl Counted {
    pub(in crate::metrics) fn register(registry: &mut Registry) -> Self {
        let series = Series::default();
        series.register(registry);
        Self {
            series,
            consumers: Bounded::new(CONSUMERS_MAX),
        }
    }

    fn consumer(&self, consumer: &Scope) -> Arc<Consumer> {
        let make = |label| self.series.consumer(label);
        self.consumers.get(consumer, || consumer.to_string(), make)
    }

    fn labels(&self, message: &Message) -> (Arc<Consumer>, Arc<EventType>) {
        let consumer = self.consumer(message.identity().scope());
        let kind = message.kind().unwrap_or(NONE);
        let make = |label| self.series.event_type(&consumer.label, label);
        let event_type = consumer.types.get(kind, || kind.to_owned(), make);
        (consumer, event_type)
    }

    pub(in crate::metrics) fn received(&self, message: &Message, receipt: Receipt) {
        let (consumer, event_type) = self.labels(message);
        event_type.received.inc();
        match receipt {
            Receipt::Stored { state } => {
                consumer.new.inc();
                if state == State::Parked {
                    // The receipt does not say why; what can be read waits for a gap or a stuck head.
                    let reason = match message.unreadable() {
                        Some(_) => Cause::Unreadable.name(),
                        None => "order",
                    };
                    self.parked(&consumer, &event_type, reason);
                }
            }
            Receipt::Duplicate { .. } => {
                consumer.duplicate.inc();
                event_type.duplicates.inc();
            }
            Receipt::Conflict => {
                consumer.conflict.inc();
                self.parked(&consumer, &event_type, Cause::Conflict.name());
            }
        }
    }

    pub(in crate::metrics) fn finished(&self, message: &Message, end: AttemptEnd) {
        let (consumer, event_type) = self.labels(message);
        event_type.seconds.took(end.took);
        if end.late {
            consumer.late.inc();
            return;
        }
        let reason = end.cause.map_or("none", Cause::name);
        match end.state {
            State::FailedRetryable | State::FailedTerminal => {
                self.failed(&consumer, &event_type, reason);
            }
            State::Parked => {
                self.failed(&consumer, &event_type, reason);
                self.parked(&consumer, &event_type, reason);
            }
            State::Received | State::InProgress | State::Completed | State::SkippedDuplicate => {}
        }
    }

    fn failed(&self, consumer: &Consumer, event_type: &EventType, reason: &'static str) {
        if reason == Cause::Terminal.name() {
            consumer.terminal.fetch_add(1, Ordering::Relaxed);
        }
        let labels = by_reason(consumer, event_type, reason);
        self.series.failures.get_or_create(&labels).inc();
    }

    fn parked(&self, consumer: &Consumer, event_type: &EventType, reason: &'static str) {
        let labels = by_reason(consumer, event_type, reason);
        self.series.parked.get_or_create(&labels).inc();
    }

    pub(in crate::metrics) fn reclaimed(&self, message: &Message) {
        let (consumer, event_type) = self.labels(message);
        consumer.reclaimed.inc();
        event_type.reclaimed.inc();
    }

    pub(in crate::metrics) fn replayed(&self, message: &Message, allowed: bool) {
        let (consumer, _) = self.labels(message);
        let policy = match allowed {
            true => "allowed",
            false => {
                consumer.forced.fetch_add(1, Ordering::Relaxed);
                "forced"
            }
        };
        let labels = ByPolicy {
            consumer: consumer.label.clone(),
            policy,
        };
        self.series.replays.get_or_create(&labels).inc();
    }

    pub(super) fn settled_elsewhere(&self, consumer: &Scope) {
        self.consumer(consumer).settled_elsewhere.inc();
    }

    pub(super) fn id_suspected(&self, message: &Message, reason: &'static str) {
        let (consumer, event_type) = self.labels(message);
        let labels = by_reason(&consumer, &event_type, reason);
        self.series.suspected.get_or_create(&labels).inc();
    }

    pub(in crate::metrics) fn suppressed(&self, message: &Message, intents: usize) {
        let (_, event_type) = self.labels(message);
        event_type.suppressed.inc_by(intents as u64);
    }

    /// What alerts judge of each consumer, those beyond the limit as one.
    pub(in crate::metrics) fn watched(&self) -> Vec<WatchedConsumer> {
        let of = |consumer: &Consumer| WatchedConsumer {
            consumer: consumer.label.clone(),
            late: consumer.late.get(),
            terminal: consumer.terminal.load(Ordering::Relaxed),
            forced: consumer.forced.load(Ordering::Relaxed),
        };
        let all = self.consumers.all();
        all.iter().map(|consumer| of(consumer)).collect()
    }
}

fn by_reason(consumer: &Consumer, event_type: &EventType, reason: &'static str) -> ByReason {
    ByReason {
        consumer: consumer.label.clone(),
        event_type: event_type.label.clone(),
        reason,
    }
}

impl Series {
    fn register(&self, registry: &mut Registry) {
        registry.register(
            "semel_inbox_received",
            "Messages that arrived, duplicates and conflicts included",
            self.received.clone(),
        );
        registry.register(
            "semel_inbox_duplicates",
            "Messages that were known already and were acknowledged without being stored again",
            self.duplicates.clone(),
        );
        registry.register(
            "semel_inbox_claims",
            "What the identity of a message was found to be: new, duplicate, conflict; reclaimed from a lost worker; late; settled-elsewhere",
            self.claims.clone(),
        );
        registry.register(
            "semel_inbox_processing_seconds",
            "How long attempts took",
            self.seconds.0.clone(),
        );
        registry.register(
            "semel_inbox_failures",
            "Attempts that did not complete, by reason",
            self.failures.clone(),
        );
        registry.register(
            "semel_inbox_parked",
            "Messages that were parked, by reason",
            self.parked.clone(),
        );
        registry.register(
            "semel_inbox_ids_suspected",
            "Messages whose ids look as if they were made for each delivery, by reason: a time, or a payload that came under another id",
            self.suspected.clone(),
        );
        registry.register(
            "semel_inbox_reclaimed",
            "Messages that were claimed again because their worker was lost",
            self.reclaimed.clone(),
        );
        registry.register(
            "semel_inbox_suppressed_side_effects",
            "Intents of replayed messages that were suppressed",
            self.suppressed.clone(),
        );
        registry.register(
            "semel_inbox_replays",
            "Messages that were dealt with before and were claimed again for a replay; policy: allowed, or forced by an operator against it",
            self.replays.clone(),
        );
    }
}
