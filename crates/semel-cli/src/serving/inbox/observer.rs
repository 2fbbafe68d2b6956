//! What one engine reports. An engine that was replaced still reports what becomes of its messages, but no longer how things stand: that
//! is for the engine in its place to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use semel_admin::Metrics;
use semel_core::duplicate::Duplicate;
use semel_core::inbox::{Message, Receipt};
use semel_core::{Identity, Scope};
use semel_inbox::{AttemptEnd, CircuitState, Observer};

/// The metrics, as long as the engine is the one that is served. Clones share it.
#[derive(Clone)]
pub(super) struct EngineObserver {
    metrics: Arc<Metrics>,
    is_replaced: Arc<AtomicBool>,
}

impl EngineObserver {
    pub(super) fn new(metrics: Arc<Metrics>) -> Self {
        Self {
            metrics,
            is_replaced: Arc::default(),
        }
    }

    /// Another engine is served from now on.
    pub(super) fn replaced(&self) {
        self.is_replaced.store(true, Ordering::Relaxed);
    }

    fn is_current(&self) -> bool {
        !self.is_replaced.load(Ordering::Relaxed)
    }
}

impl Observer for EngineObserver {
    fn received(&self, message: &Message, receipt: Receipt) {
        self.metrics.received(message, receipt);
    }

    fn duplicate(&self, duplicate: &Duplicate<'_>) {
        self.metrics.duplicate(duplicate);
    }

    fn finished(&self, message: &Message, end: AttemptEnd) {
        self.metrics.finished(message, end);
    }

    fn reclaimed(&self, message: &Message) {
        self.metrics.reclaimed(message);
    }

    fn suppressed(&self, message: &Message, intents: usize) {
        self.metrics.suppressed(message, intents);
    }

    fn id_suspected(&self, message: &Message, reason: &'static str) {
        self.metrics.id_suspected(message, reason);
    }

    fn replayed(&self, message: &Message, allowed: bool) {
        self.metrics.replayed(message, allowed);
    }

    fn settled_elsewhere(&self, message: &Identity) {
        self.metrics.settled_elsewhere(message);
    }

    fn alert(&self, consumer: &Scope, alert: &'static str, firing: bool) {
        if self.is_current() {
            self.metrics.alert(consumer, alert, firing);
        }
    }

    fn circuit(&self, consumer: &Scope, state: CircuitState) {
        if self.is_current() {
            self.metrics.circuit(consumer, state);
        }
    }
}
