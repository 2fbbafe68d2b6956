//! The trait that every store implements: the protocol's verbs, many items at a time.
//!
//! A store answers with what happened, not with its driver's errors, and answers **each item by itself**:
//! one may be throttled, locked or unreadable while the others are done. An `Err` of an item means that
//! *nothing can be said* about that item; its caller must not run anything. A call that fails as a
//! whole gives every item the same error.
//!
//! A batch behaves as its items would one after another, in order: of two claims of one
//! identity in one batch the first may be granted, and the second then sees it running.
//!
//! Fences grow per identity, and no more is asked of a store. What a store can hold and tell it states in
//! [`Limits`], its time in [`Store::now`]; callers ask instead of assuming.

mod audit;
mod batch;
pub mod batcher;
mod items;
mod layer;
mod limits;
mod listing;
pub mod outcomes;
pub mod remote;
mod watch;

pub use audit::AuditEntry;
pub(crate) use audit::audit_of;
pub use batch::{Batch, all, check_batch, each_fails, merge, one, only};
pub use items::{
    Actor, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, REASON_BYTES_MAX, Reason,
    ReleaseAnswer, RenewAnswer, RenewRequest, Resolution, ResolveAnswer, ResolveRequest,
    SettleAnswer, SettleRequest, Takeover,
};
pub use layer::{Layer, Verb};
pub use limits::{Counts, Limits};
pub use listing::{Cursor, Page, Query, StateFilter, Stats, Swept};
pub use outcomes::{KeepAnswer, KeepRequest, NoteRequest, OutcomeStore, Room};
pub use remote::Nonce;
pub use watch::StoreObserver;

use std::pin::Pin;
use std::sync::Arc;

use crate::clock::Timestamp;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::record::{Claim, Event, Record};

/// The most items in one call of a verb.
pub const BATCH_MAX: usize = 1_024;
/// The most records on one page of a list.
pub const PAGE_MAX: usize = 1_000;
/// The most events kept for one identity, and the most late outcomes; the oldest go first.
pub const EVENTS_MAX: usize = 100;

/// What a question returns: a boxed future, so that the trait stays object-safe.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// What a verb returns: one result per item, in the order of the items.
pub type Answers<'a, A> = Pin<Box<dyn Future<Output = Batch<Result<A>>> + Send + 'a>>;

/// A durable home for records.
pub trait Store: std::fmt::Debug + Send + Sync + 'static {
    /// What this store can hold and tell.
    fn limits(&self) -> Limits;

    /// The time by which this store judges leases and retention, as far as this process knows it.
    fn now(&self) -> Timestamp;

    /// Asks for the right to run each operation. Granted claims are durable when this returns.
    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer>;

    /// A settled record with this fingerprint, if it is in memory: a cache hit. `None` says nothing
    /// about the record: most stores know nothing without looking.
    fn cached(&self, _identity: &Identity, _fingerprint: Fingerprint) -> Option<Arc<Record>> {
        None
    }

    /// Extends leases that are still alive.
    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer>;

    /// Records outcomes. What an owner without a live lease brings is kept as a late outcome.
    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer>;

    /// Gives claims back: nothing happened, the next claim runs.
    fn release(&self, items: Batch<Claim>) -> Answers<'_, ReleaseAnswer>;

    /// Says of live claims that their outcome cannot be known.
    fn mark_unknown(&self, items: Batch<MarkRequest>) -> Answers<'_, MarkAnswer>;

    /// Decides unknown outcomes, or erases settled records, by an operator's or a provider's word.
    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer>;

    /// The records as they stand now; `None` for an absent one. Never waits for writers.
    fn look_up(&self, identities: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>>;

    /// The events of one operation, oldest first.
    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>>;

    /// One page of records, the newest claim first.
    fn list(&self, query: Query) -> Answer<'_, Page>;

    /// One bounded step of housekeeping: ends leases, deletes or archives what retention no longer protects.
    fn sweep(&self, limit: usize) -> Answer<'_, Swept>;

    /// Counts for operators.
    fn stats(&self) -> Answer<'_, Stats>;

    /// What people decided by hand, about records and about messages, the newest first, at most so many lines.
    fn audit(&self, limit: usize) -> Answer<'_, Vec<AuditEntry>>;
}

/// The verbs for a single item.
pub trait StoreExt: Store {
    /// [`Store::claim`] of one operation.
    fn claim_one(&self, item: ClaimRequest) -> impl Future<Output = Result<ClaimAnswer>> + Send {
        async { only(self.claim(one(item)).await) }
    }

    /// [`Store::renew`] of one lease.
    fn renew_one(&self, item: RenewRequest) -> impl Future<Output = Result<RenewAnswer>> + Send {
        async { only(self.renew(one(item)).await) }
    }

    /// [`Store::settle`] of one claim.
    fn settle_one(&self, item: SettleRequest) -> impl Future<Output = Result<SettleAnswer>> + Send {
        async { only(self.settle(one(item)).await) }
    }

    /// [`Store::release`] of one claim.
    fn release_one(&self, item: Claim) -> impl Future<Output = Result<ReleaseAnswer>> + Send {
        async { only(self.release(one(item)).await) }
    }

    /// [`Store::mark_unknown`] of one claim.
    fn mark_one(&self, item: MarkRequest) -> impl Future<Output = Result<MarkAnswer>> + Send {
        async { only(self.mark_unknown(one(item)).await) }
    }

    /// [`Store::resolve`] of one record.
    fn resolve_one(
        &self,
        item: ResolveRequest,
    ) -> impl Future<Output = Result<ResolveAnswer>> + Send {
        async { only(self.resolve(one(item)).await) }
    }

    /// [`Store::look_up`] of one identity.
    fn look_up_one(
        &self,
        identity: Identity,
    ) -> impl Future<Output = Result<Option<Arc<Record>>>> + Send {
        async { only(self.look_up(one(identity)).await) }
    }
}

impl<S: Store + ?Sized> StoreExt for S {}
