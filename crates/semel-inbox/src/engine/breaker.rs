//! A circuit at work: asked by the claimer and the starter of one consumer, told by its attempts, and seen by people.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use semel_core::{Clock, Scope, Timestamp};
use tokio::sync::watch;
use tokio::time::Instant;

use super::circuit::{Allowed, Circuit, CircuitState, Pass};
use crate::observer::Observer;
use crate::pause;
use crate::policy::Signal;

/// How the circuit of a consumer or target stands, for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CircuitView {
    /// Whose; the consumer of a target is `intent:NAME@1`.
    pub consumer: Scope,
    /// How it stands.
    pub state: CircuitState,
    /// Since when.
    pub since: Timestamp,
    /// Why it is not closed.
    pub reason: Option<String>,
    /// When the next message finds out whether the other side is back.
    pub retry_at: Option<Timestamp>,
}

/// The circuit of one consumer.
pub(crate) struct Breaker {
    consumer: Scope,
    observer: Arc<dyn Observer>,
    inner: Mutex<Inner>,
    changed: watch::Sender<()>,
}

struct Inner {
    circuit: Circuit,
    since: Instant,
    reason: Option<String>,
}

impl Breaker {
    pub(super) fn new(consumer: Scope, workers: usize, observer: Arc<dyn Observer>) -> Self {
        Self {
            consumer,
            observer,
            inner: Mutex::new(Inner {
                circuit: Circuit::new(workers),
                since: Instant::now(),
                reason: None,
            }),
            changed: watch::Sender::new(()),
        }
    }

    pub(super) fn allowed(&self) -> Allowed {
        self.with(None, |circuit| circuit.allowed(Instant::now()))
    }

    pub(super) fn begin(&self) -> Option<Pass> {
        self.with(None, |circuit| circuit.begin(Instant::now()))
    }

    /// An attempt was not made after all.
    pub(super) fn unused(&self, pass: Pass) {
        self.with(None, |circuit| circuit.unused(pass));
        self.changed.send_replace(());
    }

    /// An attempt has ended with this signal, for this reason. Whether a refusal of our credentials is tried again.
    pub(super) fn ended(&self, pass: Pass, signal: Signal, reason: Option<&str>) -> bool {
        let forgives = self.with(reason, |circuit| {
            circuit.ended(pass, signal, Instant::now(), pause::jitter());
            circuit.forgives_denials()
        });
        self.changed.send_replace(());
        forgives
    }

    /// Fewer claims wait to begin than before, though no attempt has ended.
    pub(super) fn given_back(&self) {
        self.changed.send_replace(());
    }

    /// Hears of every end of an attempt, and of claims that were given back unbegun.
    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }

    pub(crate) fn state(&self) -> CircuitState {
        self.inner().circuit.state()
    }

    pub(super) fn view(&self, clock: &dyn Clock) -> CircuitView {
        let (inner, now) = (self.inner(), clock.now());
        let retry_at = inner.circuit.retry_at();
        CircuitView {
            consumer: self.consumer.clone(),
            state: inner.circuit.state(),
            since: now.before(inner.since.elapsed()),
            reason: inner.reason.clone(),
            retry_at: retry_at.map(|at| now.after(at.saturating_duration_since(Instant::now()))),
        }
    }

    /// Does something with the circuit, and tells if that changed its state.
    fn with<T>(&self, reason: Option<&str>, act: impl FnOnce(&mut Circuit) -> T) -> T {
        let mut inner = self.inner();
        let before = inner.circuit.state();
        let done = act(&mut inner.circuit);
        let after = inner.circuit.state();
        if before == after {
            return done;
        }
        inner.since = Instant::now();
        match after {
            CircuitState::Closed => inner.reason = None,
            CircuitState::Open => inner.reason = reason.map(str::to_owned),
            CircuitState::HalfOpen => {}
        }
        drop(inner);
        self.tell(before, after, reason);
        done
    }

    fn tell(&self, before: CircuitState, after: CircuitState, reason: Option<&str>) {
        let consumer = &self.consumer;
        match (before, after) {
            (CircuitState::Closed, _) => {
                let reason = reason.unwrap_or_default();
                tracing::warn!(%consumer, reason, "circuit opened: its messages wait until the other side is back");
            }
            (_, CircuitState::Closed) => {
                tracing::info!(%consumer, "circuit closed: the other side is back");
            }
            _ => tracing::debug!(%consumer, state = after.name(), "circuit changed"),
        }
        self.observer.circuit(consumer, after);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // A circuit is whole after every statement, so a poisoned lock protects nothing.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
