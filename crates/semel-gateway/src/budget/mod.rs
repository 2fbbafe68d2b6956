//! What requests of each kind may use at once, so that none of them can starve another.
//!
//! A request draws from one budget at a time: a body that is slow to arrive from `receiving`, a guarded operation from
//! `runs`, a duplicate that waits for it from `waiting`, all that no route guards from `passing`, and a connection that
//! has changed its protocol from `tunnels`. The bytes of bodies have a budget of their own, which the process shares.

use semel_core::once::Places;
use semel_core::{Budget, Permit};
use semel_http::{Memory, Problem, Quotas, Type};

use crate::config::Limits;

/// The budgets of a gateway. Cheap to clone; clones share them.
#[derive(Debug, Clone)]
pub struct Budgets {
    guards: semel_http::Budgets,
    passing: Budget,
    tunnels: Budget,
}

impl Budgets {
    pub(crate) fn new(limits: &Limits, memory: Memory, quotas: Quotas) -> Self {
        let (runs, waiting) = (limits.runs(), limits.waiting());
        let places = Places::new(
            Budget::new(runs),
            Budget::new(waiting),
            limits.waiting_per_key_max,
        );
        Self {
            guards: semel_http::Budgets {
                memory,
                receiving: Budget::new(limits.receiving()),
                places,
                quotas,
            },
            passing: Budget::new(limits.passing()),
            tunnels: Budget::new(limits.tunnels()),
        }
    }

    /// Takes other limits. What is in use stays in use, even if it is more.
    pub(crate) fn apply(&self, limits: &Limits) {
        let places = &self.guards.places;
        places.runs().set_max(limits.runs());
        places.waiting().set_max(limits.waiting());
        places.set_waiting_per_key_max(limits.waiting_per_key_max);
        self.guards.receiving.set_max(limits.receiving());
        self.passing.set_max(limits.passing());
        self.tunnels.set_max(limits.tunnels());
    }

    /// Those that guards draw from.
    pub(crate) const fn guards(&self) -> &semel_http::Budgets {
        &self.guards
    }

    /// A place for a request that no route guards.
    pub(crate) fn pass(&self, is_tunnel: bool) -> Result<Permit, Problem> {
        let (budget, name) = match is_tunnel {
            true => (&self.tunnels, "tunnels"),
            false => (&self.passing, "passing"),
        };
        budget.take().ok_or_else(|| full(name))
    }

    /// The bytes that bodies hold in memory.
    pub const fn memory(&self) -> &Memory {
        &self.guards.memory
    }

    /// Every budget of requests by its name.
    pub fn all(&self) -> [(&'static str, &Budget); 5] {
        let guards = &self.guards;
        [
            ("runs", guards.places.runs()),
            ("receiving", &guards.receiving),
            ("waiting", guards.places.waiting()),
            ("passing", &self.passing),
            ("tunnels", &self.tunnels),
        ]
    }
}

fn full(budget: &'static str) -> Problem {
    let what = match budget {
        "tunnels" => "tunnels are open",
        _ => "requests pass through",
    };
    let detail = format!("as many {what} as may at once, nothing was forwarded");
    Problem::new(Type::Overloaded, detail).with("budget", budget)
}
