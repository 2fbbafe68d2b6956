//! The trait that every store implements: the protocol's verbs, many items at a time.
//!
//! A store answers with what happened, not with its driver's errors. An `Err` means that
//! *nothing can be said* about any item of the call; the caller must not run anything.
//! Items are valid by construction, so no item can spoil a batch for the others.
//!
//! A batch behaves as its items would one after another, in order: of two claims of one
//! identity in one batch the first may be granted, and the second then sees it running.

pub mod batcher;
mod items;
mod listing;
pub mod outcomes;
mod watch;

pub use items::{
    Actor, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, ReleaseAnswer, RenewAnswer,
    RenewRequest, Resolution, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Takeover,
};
pub use listing::{Page, Query, StateFilter, Stats, Swept};
pub use outcomes::{KeepAnswer, KeepRequest, NoteRequest, OutcomeStore, Room};
pub use watch::Watch;

use std::pin::Pin;
use std::sync::Arc;

use crate::error::{Error, Kind, Result};
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::record::{Claim, Event, Record};

/// The most items in one call of a verb.
pub const BATCH_MAX: usize = 1_024;
/// The most records on one page of a list.
pub const PAGE_MAX: usize = 1_000;
/// The most events kept for one identity, and the most late outcomes; the oldest go first.
pub const EVENTS_MAX: usize = 100;

/// What a verb returns: a boxed future, so that the trait stays object-safe.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A durable home for records.
pub trait Store: std::fmt::Debug + Send + Sync + 'static {
    /// Asks for the right to run each operation. Granted claims are durable when this returns.
    fn claim(&self, items: Vec<ClaimRequest>) -> Answer<'_, Vec<ClaimAnswer>>;

    /// A settled record with this fingerprint that need not be asked for, because it is in memory.
    /// `None` says nothing: most stores know nothing without looking.
    fn at_hand(&self, _identity: &Identity, _fingerprint: Fingerprint) -> Option<Arc<Record>> {
        None
    }

    /// Extends leases that are still alive.
    fn renew(&self, items: Vec<RenewRequest>) -> Answer<'_, Vec<RenewAnswer>>;

    /// Records outcomes. What an owner without a live lease brings is kept as a late outcome.
    fn settle(&self, items: Vec<SettleRequest>) -> Answer<'_, Vec<SettleAnswer>>;

    /// Gives claims back: nothing happened, the next claim runs.
    fn release(&self, items: Vec<Claim>) -> Answer<'_, Vec<ReleaseAnswer>>;

    /// Says of live claims that their outcome cannot be known.
    fn mark_unknown(&self, items: Vec<MarkRequest>) -> Answer<'_, Vec<MarkAnswer>>;

    /// Decides unknown outcomes, or erases settled records, by an operator's or a provider's word.
    fn resolve(&self, items: Vec<ResolveRequest>) -> Answer<'_, Vec<ResolveAnswer>>;

    /// The records as they stand now; `None` for an absent one. Never waits for writers.
    fn look_up(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<Arc<Record>>>>;

    /// The events of one operation, oldest first.
    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>>;

    /// One page of records, the newest claim first.
    fn list(&self, query: Query) -> Answer<'_, Page>;

    /// One bounded step of housekeeping: ends leases, deletes or archives what retention no longer protects.
    fn sweep(&self, limit: usize) -> Answer<'_, Swept>;

    /// Counts for operators.
    fn stats(&self) -> Answer<'_, Stats>;
}

/// Refuses batches above [`BATCH_MAX`]; stores call it first in every verb.
pub fn check_batch(len: usize) -> Result<()> {
    if len > BATCH_MAX {
        let message = format!("a batch has at most {BATCH_MAX} items, found {len}");
        return Err(Error::new(Kind::Limit, message));
    }
    Ok(())
}

/// The verbs for a single item.
pub trait StoreExt: Store {
    /// [`Store::claim`] of one operation.
    fn claim_one(&self, item: ClaimRequest) -> impl Future<Output = Result<ClaimAnswer>> + Send {
        async { only(self.claim(vec![item]).await?) }
    }

    /// [`Store::renew`] of one lease.
    fn renew_one(&self, item: RenewRequest) -> impl Future<Output = Result<RenewAnswer>> + Send {
        async { only(self.renew(vec![item]).await?) }
    }

    /// [`Store::settle`] of one claim.
    fn settle_one(&self, item: SettleRequest) -> impl Future<Output = Result<SettleAnswer>> + Send {
        async { only(self.settle(vec![item]).await?) }
    }

    /// [`Store::release`] of one claim.
    fn release_one(&self, item: Claim) -> impl Future<Output = Result<ReleaseAnswer>> + Send {
        async { only(self.release(vec![item]).await?) }
    }

    /// [`Store::mark_unknown`] of one claim.
    fn mark_one(&self, item: MarkRequest) -> impl Future<Output = Result<MarkAnswer>> + Send {
        async { only(self.mark_unknown(vec![item]).await?) }
    }

    /// [`Store::resolve`] of one record.
    fn resolve_one(
        &self,
        item: ResolveRequest,
    ) -> impl Future<Output = Result<ResolveAnswer>> + Send {
        async { only(self.resolve(vec![item]).await?) }
    }

    /// [`Store::look_up`] of one identity.
    fn look_up_one(
        &self,
        identity: Identity,
    ) -> impl Future<Output = Result<Option<Arc<Record>>>> + Send {
        async { only(self.look_up(vec![identity]).await?) }
    }
}

impl<S: Store + ?Sized> StoreExt for S {}

/// A store that answers one question with two answers has broken the contract.
fn only<T>(answers: Vec<T>) -> Result<T> {
    let mut answers = answers.into_iter();
    match (answers.next(), answers.next()) {
        (Some(answer), None) => Ok(answer),
        _ => Err(Error::new(
            Kind::Internal,
            "a store must give one answer per item",
        )),
    }
}
