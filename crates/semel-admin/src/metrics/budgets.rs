//! Budgets: what is used of each, and how much may be.

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use semel_core::Budget;

type Number = Gauge<u64, AtomicU64>;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Named {
    budget: &'static str,
}

#[derive(Debug)]
pub(super) struct Budgets {
    used: Family<Named, Number>,
    limit: Family<Named, Number>,
    /// A std lock, not an async one: it is held to copy a few numbers, never over an await.
    watched: Mutex<Vec<(&'static str, Budget)>>,
}

impl Budgets {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let budgets = Self {
            used: Family::default(),
            limit: Family::default(),
            watched: Mutex::default(),
        };
        registry.register(
            "semel_budget_used",
            "What is used of a budget: bytes of bodies in memory (buffered_bytes), or requests of one kind",
            budgets.used.clone(),
        );
        registry.register(
            "semel_budget_limit",
            "How much of a budget may be used at once; more is refused with 503",
            budgets.limit.clone(),
        );
        budgets
    }

    /// Shows this budget from now on, in place of an older one of the same name.
    pub(super) fn watch(&self, name: &'static str, budget: &Budget) {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched.retain(|(known, _)| *known != name);
        watched.push((name, budget.clone()));
    }

    /// The name, what is used and what may be used of each.
    pub(super) fn read(&self) -> Vec<(&'static str, usize, usize)> {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |(name, budget): &(&'static str, Budget)| (*name, budget.used(), budget.max());
        watched.iter().map(read).collect()
    }

    /// Takes the numbers of this moment.
    pub(super) fn refresh(&self) {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        for (budget, numbers) in watched.iter() {
            let named = Named { budget };
            self.used.get_or_create(&named).set(numbers.used() as u64);
            self.limit.get_or_create(&named).set(numbers.max() as u64);
        }
    }
}
