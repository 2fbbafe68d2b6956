//! The whole: store, provider and workers, and every step that any of them may take next.

use semel_core::Fence;
use stateright::{Model, Property, Representative};

use super::config::Config;
use super::ledger::Ledger;
use super::property;
use super::store::Store;
use super::worker::{Move, Worker};

/// The model of a configuration, as the checker takes it.
#[derive(Debug, Clone)]
pub(super) struct Machine {
    pub(super) config: Config,
    /// The only property to look at, or all.
    pub(super) only: Option<&'static str>,
}

/// One state of the whole.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Whole {
    pub(super) store: Store,
    pub(super) ledger: Ledger,
    pub(super) workers: Vec<Worker>,
    crashes: u8,
}

/// One step of the whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    Tick,
    Sweep,
    EffectArrives(Fence),
    Worker(usize, Move),
}

impl Model for Machine {
    type State = Whole;
    type Action = Action;

    fn init_states(&self) -> Vec<Whole> {
        vec![Whole {
            store: Store::new(self.config.bug),
            ledger: Ledger::new(),
            workers: vec![Worker::Idle; self.config.workers],
            crashes: 0,
        }]
    }

    fn actions(&self, state: &Whole, actions: &mut Vec<Action>) {
        actions.extend([Action::Tick, Action::Sweep]);
        let in_flight = state.ledger.in_flight.iter();
        actions.extend(in_flight.map(|fence| Action::EffectArrives(*fence)));
        for (at, worker) in state.workers.iter().enumerate() {
            let moves = worker.moves(&state.store, &state.ledger, &self.config);
            actions.extend(moves.into_iter().map(|step| Action::Worker(at, step)));
        }
    }

    fn next_state(&self, state: &Whole, action: Action) -> Option<Whole> {
        let mut next = state.clone();
        match action {
            Action::Tick => next.store.tick(),
            Action::Sweep => drop(next.store.sweep()),
            Action::EffectArrives(fence) => next.ledger.deliver(fence, self.config.provider),
            Action::Worker(at, step) => {
                next.crashes += u8::from(step == Move::Crash);
                let (store, ledger) = (&mut next.store, &mut next.ledger);
                next.workers[at] = next.workers[at].step(step, store, ledger, &self.config);
            }
        }
        Some(next)
    }

    fn within_boundary(&self, state: &Whole) -> bool {
        let bounds = &self.config.bounds;
        state.store.now.as_millis() <= i64::from(bounds.ticks_max)
            && state.store.grants.len() <= bounds.claims_max
            && state.crashes <= bounds.crashes_max
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = property::of(&self.config);
        properties.retain(|property| self.only.is_none_or(|only| only == property.name));
        properties
    }
}

impl Representative for Whole {
    /// Workers differ in nothing but their place, and nothing refers to one by its place.
    fn representative(&self) -> Self {
        let mut representative = self.clone();
        representative.workers.sort_unstable();
        representative
    }
}
