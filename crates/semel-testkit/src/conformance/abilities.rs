//! What only some stores can offer a test, and how a store declines what it cannot.

use std::any::Any;
use std::pin::Pin;
use std::sync::Arc;

use semel_core::store::OutcomeStore;
use semel_core::{MemoryStore, Store};

use super::Subject;
use crate::results;

/// Something that a suite needs of a store, beyond its verbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// Its clock can be set: [`conformance_with_clock!`](crate::conformance_with_clock).
    Clock,
    /// It keeps outcomes for others: [`conformance_of_outcomes!`](crate::conformance_of_outcomes).
    Outcomes,
    /// Its data can be opened by a second handle, and again after the first was closed:
    /// [`conformance_of_sharing!`](crate::conformance_of_sharing) and
    /// [`conformance_of_durability!`](crate::conformance_of_durability).
    Reopening,
    /// A test can hold up its writers: [`conformance_of_stalls!`](crate::conformance_of_stalls).
    Stalls,
}

impl Ability {
    /// Every ability.
    pub const ALL: [Self; 4] = [Self::Clock, Self::Outcomes, Self::Reopening, Self::Stalls];

    /// The name in the table of results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Clock => "clock",
            Self::Outcomes => "outcomes",
            Self::Reopening => "reopening",
            Self::Stalls => "stalls",
        }
    }
}

/// A store as it was just opened.
#[derive(Clone)]
pub struct Handle {
    pub(super) store: Arc<dyn Store>,
    pub(super) outcomes: Option<Arc<dyn OutcomeStore>>,
}

impl Handle {
    /// Of a store that keeps its own records only.
    pub fn of(store: impl Store) -> Self {
        Self {
            store: Arc::new(store),
            outcomes: None,
        }
    }

    /// Of a store that also keeps outcomes of claims that were granted elsewhere.
    pub fn with_outcomes(store: impl OutcomeStore) -> Self {
        let store = Arc::new(store);
        Self {
            store: store.clone(),
            outcomes: Some(store),
        }
    }
}

type Opening = Pin<Box<dyn Future<Output = Handle> + Send>>;
/// Opens the subject's data.
pub(super) type Open = Arc<dyn Fn() -> Opening + Send + Sync>;

type Stalling = Pin<Box<dyn Future<Output = Stall> + Send>>;
/// Holds up the subject's writers.
pub(super) type HoldUp = Arc<dyn Fn() -> Stalling + Send + Sync>;

/// Writers are held up until this is dropped.
pub(super) type Stall = Box<dyn Any + Send>;

impl Subject {
    /// A store on a clock that a test cannot move, opened by `open`, which opens the same data each time.
    pub async fn opened<F>(open: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = Handle> + Send + 'static,
    {
        let open: Open = Arc::new(move || Box::pin(open()));
        let handle = open().await;
        let mut subject = Self::in_real_time(handle.store);
        (subject.outcomes, subject.open) = (handle.outcomes, Some(open));
        subject
    }

    /// Says how writers are held up: nothing is written until what `hold_up` returns is dropped.
    #[must_use]
    pub fn stalled_by<F, G>(mut self, hold_up: impl Fn() -> F + Send + Sync + 'static) -> Self
    where
        F: Future<Output = G> + Send + 'static,
        G: Any + Send,
    {
        self.hold_up = Some(Arc::new(move || {
            let stalling = hold_up();
            Box::pin(async move { Box::new(stalling.await) as Stall })
        }));
        self
    }

    /// Says by name what the store cannot offer.
    #[must_use]
    pub fn declining(mut self, abilities: &[Ability]) -> Self {
        self.declined = abilities.to_vec();
        self
    }

    /// Whether a test can ask this of the store.
    pub fn offers(&self, ability: Ability) -> bool {
        match ability {
            Ability::Clock => self.clock.is_some(),
            Ability::Outcomes => self.outcomes.is_some(),
            Ability::Reopening => self.open.is_some(),
            Ability::Stalls => self.hold_up.is_some(),
        }
    }

    /// What the store says that it cannot offer.
    pub fn declined(&self) -> &[Ability] {
        &self.declined
    }

    /// A second handle on the same data, beside this one.
    pub async fn second(&self) -> Self {
        let handle = self.open()().await;
        Self {
            store: handle.store,
            outcomes: handle.outcomes,
            ..self.clone()
        }
    }

    /// The same data, opened again after this handle was closed.
    pub async fn reopened(mut self) -> Self {
        let open = self.open().clone();
        let closed = Arc::downgrade(&self.store);
        // Another store stands in, so that the handle closes before it is opened again.
        (self.store, self.outcomes) = (Arc::new(MemoryStore::new()), None);
        let users = closed.strong_count();
        assert_eq!(users, 0, "expected no other user of the handle");
        let handle = open().await;
        (self.store, self.outcomes) = (handle.store, handle.outcomes);
        self
    }

    fn open(&self) -> &Open {
        let open = self.open.as_ref();
        open.expect("expected a store that offers reopening, found one that does not")
    }

    /// Holds up writers until the answer is dropped.
    pub(super) async fn stall(&self) -> Stall {
        let hold_up = self.hold_up.as_ref();
        hold_up.expect("expected a store that offers stalls, found one that does not")().await
    }
}

/// Fails unless the subject offers each ability or declines it by name, and writes down what it declines.
pub fn declare(store: &str, subject: &Subject) {
    for ability in Ability::ALL {
        let (offers, declines) = (
            subject.offers(ability),
            subject.declined().contains(&ability),
        );
        assert!(
            offers != declines,
            "{store} must offer or decline {:?} by name, found offered: {offers}, declined: {declines}",
            ability.name()
        );
        if declines {
            results::record("declines", store, &[ability.name().to_owned()]);
        }
    }
}
