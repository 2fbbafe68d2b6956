//! What is counted of messages: what engines report as they go, and how the inbox stands when it is asked.
//!
//! Labels are consumers and kinds of events. What a producer puts into its messages decides the latter, so both are bounded:
//! by [`CONSUMERS_MAX`] and, per consumer, by [`EVENT_TYPES_MAX`].

mod circuits;
mod counted;
mod gauges;
mod labels;
mod sources;

pub use labels::{CONSUMERS_MAX, EVENT_TYPES_MAX};

pub(super) use circuits::Circuits;
pub(super) use counted::Counted;
pub(crate) use counted::WatchedConsumer;
pub(super) use gauges::Gauges;
pub(super) use sources::Sources;

use semel_core::duplicate::{Duplicate, Origin};
use semel_core::inbox::{Counts, Message, Receipt};
use semel_core::{Identity, Scope};
use semel_inbox::receiver::Suspicion;
use semel_inbox::{AttemptEnd, CircuitState, Observer};

use super::Metrics;
use crate::inbox::{Policies, UNSERVED};
use crate::log::inbox as log;

impl Metrics {
    /// Says which consumers have messages that nothing runs, because the configuration does not name them.
    pub(super) fn judge_unserved(&self, counts: &[Counts], policies: &Policies) {
        let stranded = counts.iter().filter(|counts| policies.strands(counts));
        let stranded = stranded.map(|counts| counts.consumer.clone()).collect();
        let before = self.inbox.replace_unserved(&stranded);
        for ended in before.difference(&stranded) {
            self.alert(ended, UNSERVED, false);
        }
        for began in stranded.difference(&before) {
            self.alert(began, UNSERVED, true);
        }
    }
}

impl Observer for Metrics {
    fn received(&self, message: &Message, receipt: Receipt) {
        self.flow.received(message.identity().scope(), receipt);
        self.counted.received(message, receipt);
        match receipt {
            Receipt::Stored { state } => log::stored(message, state),
            Receipt::Duplicate { state, .. } => log::duplicate(message, state),
            Receipt::Conflict => log::conflict(message),
        }
    }

    fn duplicate(&self, duplicate: &Duplicate<'_>) {
        self.count_duplicate(duplicate);
    }

    fn finished(&self, message: &Message, end: AttemptEnd) {
        self.flow.finished(message.identity().scope(), end);
        self.counted.finished(message, end);
        log::finished(message, end);
    }

    fn reclaimed(&self, message: &Message) {
        self.counted.reclaimed(message);
        log::reclaimed(message);
    }

    fn suppressed(&self, message: &Message, intents: usize) {
        self.counted.suppressed(message, intents);
        log::suppressed(message, intents);
    }

    fn alert(&self, consumer: &Scope, alert: &'static str, firing: bool) {
        if self.alerts.say(consumer, alert, firing) {
            log::alert(consumer, alert, firing);
        }
    }

    fn id_suspected(&self, message: &Message, reason: &'static str) {
        self.counted.id_suspected(message, reason);
        if reason == Suspicion::Payload.reason() {
            let scope = message.identity().scope();
            self.count_duplicate(&Duplicate::of(scope, Origin::NewKey));
        }
    }

    fn replayed(&self, message: &Message, allowed: bool) {
        self.counted.replayed(message, allowed);
        log::replayed(message, allowed);
    }

    fn settled_elsewhere(&self, message: &Identity) {
        self.counted.settled_elsewhere(message.scope());
        log::settled_elsewhere(message);
    }

    fn circuit(&self, consumer: &Scope, state: CircuitState) {
        self.circuits.set(consumer, state);
        log::circuit(consumer, state);
    }
}
