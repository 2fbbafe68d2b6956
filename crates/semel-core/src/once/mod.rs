//! Claim, run, settle: runs a function so that its effect happens once.
//!
//! ```
//! use semel_core::{Fingerprint, Identity, MemoryStore, Once};
//!
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let once = Once::new(MemoryStore::new());
//! let identity = Identity::parse("acme", "payments@1", "order-17")?;
//! let asked = Fingerprint::of(&("EUR", 4_200))?;
//!
//! for attempt in 0..2 {
//!     let answer = once
//!         .operation(identity.clone(), asked)
//!         .run(|_run| async { Ok::<_, String>("charged 42.00 EUR".to_owned()) })
//!         .await?;
//!     assert_eq!(answer.value, "charged 42.00 EUR");
//!     assert_eq!(answer.replayed, attempt > 0);
//! }
//! # Ok(()) }
//! ```
//!
//! How a run goes, and where to read on:
//!
//! - [`Operation`] is one call: identity, fingerprint, policy, and the typed `run`.
//! - `drive` does what the answer to a claim asks for: it runs, waits, replays, reconciles or refuses.
//! - `attempt` asks for one claim. A granted claim gets a task of its own, so a caller that goes away
//!   cancels nothing; `owner` runs the function there, `recording` offers its outcome until the store takes
//!   it, and `lease` keeps the lease alive meanwhile and says whether anything may still begin under it.
//! - `look` says what is on record without claiming it, and waits while it runs.
//! - `places` limits how many run and how many wait.
//! - `waiters` wakes duplicates of the same process as soon as a run has ended.
//! - `drain` lets a service that shuts down wait for runs whose callers have left.
//!
//! This module must be used inside a Tokio runtime. If the runtime is shut down during a run, the
//! lease ends and the record becomes unknown: a truthful record, never a wrong one.

mod answer;
mod attempt;
mod batch;
mod drain;
mod drive;
mod lease;
mod look;
mod operation;
mod owner;
mod places;
mod reconcile;
mod recording;
mod waiters;

pub use answer::{Answer, Error, Finished, Recorded, Refusal, Reply, Settlement};
pub use batch::BatchItem;
pub use operation::Operation;
pub use owner::Run;
pub use places::Places;
pub use reconcile::{Asking, Reconcile, Reconciled};

use std::sync::Arc;

use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::policy::{OnUnknown, Policy};
use crate::store::Store;
use drain::Live;
use waiters::Waiters;

/// Runs functions under the protocol. Cheap to clone; clones share everything but the policy, the reconciler and the places.
#[derive(Debug, Clone)]
pub struct Once {
    shared: Arc<Shared>,
    policy: Policy,
    reconciler: Option<Arc<dyn Reconcile>>,
    places: Option<Places>,
}

#[derive(Debug)]
struct Shared {
    store: Arc<dyn Store>,
    waiters: Waiters,
    live: Live,
}

impl Once {
    /// On this store, with the default policy.
    pub fn new(store: impl Store) -> Self {
        Self::on(Arc::new(store))
    }

    /// On a store that others use too.
    pub fn on(store: Arc<dyn Store>) -> Self {
        let shared = Shared {
            store,
            waiters: Waiters::default(),
            live: Live::default(),
        };
        Self {
            shared: Arc::new(shared),
            policy: Policy::default(),
            reconciler: None,
            places: None,
        }
    }

    /// The same, with another policy. A reconciler that was given before is still asked, unless the
    /// policy says that unknown outcomes are to be run again.
    #[must_use]
    pub fn with_policy(mut self, policy: Policy) -> Self {
        self.policy = policy;
        self.keep_reconciling();
        self
    }

    /// The same, but whoever knows the effect is asked about unknown outcomes.
    #[must_use]
    pub fn reconcile_with(mut self, reconciler: impl Reconcile) -> Self {
        self.policy.on_unknown = OnUnknown::Reconcile;
        self.reconciler = Some(Arc::new(reconciler));
        self
    }

    /// The same, but its operations run and wait within these places. Without any there is no limit.
    #[must_use]
    pub fn within(mut self, places: Places) -> Self {
        self.places = Some(places);
        self
    }

    /// Whoever gave a reconciler wants it asked, in whatever order the builders are called.
    fn keep_reconciling(&mut self) {
        if self.reconciler.is_some() && self.policy.on_unknown == OnUnknown::Hold {
            self.policy.on_unknown = OnUnknown::Reconcile;
        }
    }

    /// The policy of operations made by this value.
    pub const fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The store beneath.
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.shared.store
    }

    /// One operation: `identity` says which, `fingerprint` what is asked.
    pub fn operation(&self, identity: Identity, fingerprint: Fingerprint) -> Operation {
        Operation::new(self.clone(), identity, fingerprint)
    }
}
