//! An inbox whose store goes away and comes back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use semel_core::inbox::{
    Arrivals, Claim, ClaimBatch, Claimed, Counts, Detail, Finish, Finished, Gap, Operation, Page,
    Plan, Query, Receipt, Renewal, Report, State, Step, Taken, WaitingLane, WakeUp,
};
use semel_core::store::{Actor, Answer};
use semel_core::{Error, Identity, Inbox, Kind, LeaseTerm, Scope};

/// Another inbox, as long as it is not away.
#[derive(Debug)]
pub(super) struct AwayInbox {
    inner: Arc<dyn Inbox>,
    is_away: AtomicBool,
}

impl AwayInbox {
    pub(super) fn new(inner: Arc<dyn Inbox>) -> Self {
        Self {
            inner,
            is_away: AtomicBool::new(false),
        }
    }

    pub(super) fn set_away(&self, is_away: bool) {
        self.is_away.store(is_away, Ordering::SeqCst);
    }

    fn over<'a, T: Send + 'a>(&'a self, call: impl FnOnce() -> Answer<'a, T>) -> Answer<'a, T> {
        match self.is_away.load(Ordering::SeqCst) {
            true => Box::pin(async { Err(Error::new(Kind::Unavailable, "the store is away")) }),
            false => call(),
        }
    }
}

macro_rules! unless_away {
    ($($name:ident($($arg:ident: $kind:ty),*) -> $answer:ty;)+) => {
        impl Inbox for AwayInbox {
            $(fn $name(&self, $($arg: $kind),*) -> Answer<'_, $answer> {
                self.over(|| self.inner.$name($($arg),*))
            })+

            fn wake_up(&self, consumer: &Scope) -> WakeUp {
                self.inner.wake_up(consumer)
            }
        }
    };
}

unless_away! {
    receive(arrivals: Arrivals) -> Vec<Receipt>;
    take_positions(source: String, partitions: Vec<String>) -> Vec<Taken>;
    claim_batch(ask: ClaimBatch) -> Claimed;
    renew(claims: Vec<Claim>, lease: LeaseTerm) -> Vec<Renewal>;
    finish(plan: Plan, items: Vec<Finish>) -> Vec<Finished>;
    remember_step(claim: Claim, step: Step) -> Renewal;
    advance_lanes(plan: Plan, limit: usize) -> usize;
    list_messages(query: Query) -> Page;
    states(identities: Vec<Identity>) -> Vec<Option<State>>;
    message(identity: Identity) -> Option<Detail>;
    set_paused(consumer: Scope, paused: bool, by: Actor, reason: Option<String>) -> bool;
    gaps(consumer: Scope, limit: usize) -> Vec<Gap>;
    waiting_lanes(consumer: Scope, limit: usize) -> Vec<WaitingLane>;
    counts() -> Vec<Counts>;
    operate(operation: Operation) -> Report;
    expose_processed(view: String) -> ();
}
