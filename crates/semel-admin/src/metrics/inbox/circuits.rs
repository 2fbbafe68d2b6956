//! How the circuits of this process stand: whether the handler or provider of a consumer is there.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_core::Scope;
use semel_inbox::CircuitState;

use super::labels::{ByConsumer, CONSUMERS_MAX};

#[derive(Debug)]
pub(in crate::metrics) struct Circuits {
    series: Family<ByConsumer, Gauge<u64, AtomicU64>>,
    /// The states, at most [`CONSUMERS_MAX`], for the API.
    states: Mutex<BTreeMap<Scope, CircuitState>>,
}

impl Circuits {
    pub(in crate::metrics) fn register(registry: &mut Registry) -> Self {
        let series = Family::default();
        registry.register(
            "semel_inbox_circuit",
            "How the circuit of a consumer or target stands in this process: 0 closed, 1 half-open, 2 open",
            Family::clone(&series),
        );
        Self {
            series,
            states: Mutex::default(),
        }
    }

    pub(in crate::metrics) fn set(&self, consumer: &Scope, state: CircuitState) {
        let mut states = self.states();
        if states.len() >= CONSUMERS_MAX && !states.contains_key(consumer) {
            return;
        }
        states.insert(consumer.clone(), state);
        let number = match state {
            CircuitState::Closed => 0,
            CircuitState::HalfOpen => 1,
            CircuitState::Open => 2,
        };
        self.series.get_or_create(&labels(consumer)).set(number);
    }

    /// No engine of this process has the consumer any more.
    pub(in crate::metrics) fn forget(&self, consumer: &Scope) {
        self.states().remove(consumer);
        self.series.remove(&labels(consumer));
    }

    pub(in crate::metrics) fn of(&self, consumer: &Scope) -> Option<CircuitState> {
        self.states().get(consumer).copied()
    }

    fn states(&self) -> MutexGuard<'_, BTreeMap<Scope, CircuitState>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn labels(consumer: &Scope) -> ByConsumer {
    let consumer: Arc<str> = consumer.to_string().into();
    ByConsumer { consumer }
}
