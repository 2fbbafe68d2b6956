//! The trait that every store implements: the protocol's verbs, many items at a time.
//!
//! A store answers with what happened, not with its driver's errors. An `Err` means that
//! *nothing can be said* about any item of the call; the caller must not run anything.
//! Items are valid by construction, so no item can spoil a batch for the others.
//!
//! A batch behaves as its items would one after another, in order: of two claims of one
//! identity in one batch the first may be granted, and the second then sees it running.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::error::{Error, Kind, Result};
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::outcome::Outcome;
use crate::policy::{LeaseTerm, Retention};
use crate::record::{Claim, Event, Fence, Lease, Record, UnknownCause};

/// The most items in one call of a verb.
pub const BATCH_MAX: usize = 1_024;
/// The most records on one page of a list.
pub const PAGE_MAX: usize = 1_000;
/// The most events kept for one identity; the oldest go first.
pub const EVENTS_MAX: usize = 100;

/// What a verb returns: a boxed future, so that the trait stays object-safe.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + Send + 'a>>;

/// A durable home for records.
pub trait Store: std::fmt::Debug + Send + Sync + 'static {
    /// Asks for the right to run each operation. Granted claims are durable when this returns.
    fn claim(&self, items: Vec<ClaimRequest>) -> Answer<'_, Vec<ClaimAnswer>>;

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

/// Asks for the right to run an operation.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// Which operation.
    pub identity: Identity,
    /// What was asked.
    pub fingerprint: Fingerprint,
    /// How long the lease lasts.
    pub lease: LeaseTerm,
    /// What to do if the outcome of an earlier claim is unknown.
    pub takeover: Takeover,
}

/// Whether a claim may take over from one whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takeover {
    /// It may not: the claimer is told.
    Never,
    /// It may: the effect is idempotent.
    Allowed,
    /// It may take over from exactly this claim, which is known to have had no effect and never
    /// to have one: an owner that was only slow must be dead, or be refused by its provider.
    Of(Fence),
}

/// The answer to a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimAnswer {
    /// Run it.
    Granted(Lease),
    /// Somebody else is running it.
    Running {
        /// Their claim.
        fence: Fence,
        /// How long their lease lasts unless it is renewed.
        lease_left: Duration,
    },
    /// It is done: replay this.
    Settled(Arc<Record>),
    /// It may be done; nobody may run it until that is decided.
    Unknown {
        /// The claim whose outcome is unknown.
        fence: Fence,
        /// Since when.
        since: Timestamp,
        /// Why.
        cause: UnknownCause,
    },
    /// The key was used for another request. Nothing runs.
    Mismatch,
}

/// Asks to extend a lease.
#[derive(Debug, Clone)]
pub struct RenewRequest {
    /// The claim to extend.
    pub claim: Claim,
    /// How long from now.
    pub lease: LeaseTerm,
}

/// The answer to a renewal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RenewAnswer {
    /// The lease now lasts until then.
    Renewed(Timestamp),
    /// The lease is lost; whatever the run brings will be a late outcome.
    Lost,
}

/// Brings an outcome.
#[derive(Debug, Clone)]
pub struct SettleRequest {
    /// The claim under which it was run.
    pub claim: Claim,
    /// What came of it.
    pub outcome: Outcome,
    /// How long the run took.
    pub took: Duration,
    /// How long to keep it.
    pub retention: Retention,
}

/// The answer to a settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettleAnswer {
    /// The outcome is on record. Also the answer to a settle that is sent again.
    Settled,
    /// The lease was lost before; the outcome is kept for the audit and never served.
    Late,
}

/// The answer to a release.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReleaseAnswer {
    /// The operation is absent again. Also the answer to a release that is sent again.
    Released,
    /// The lease was lost before and the record has moved on; nothing changed.
    Lost,
}

/// Says that a live claim's outcome cannot be known.
#[derive(Debug, Clone)]
pub struct MarkRequest {
    /// The claim.
    pub claim: Claim,
    /// Why.
    pub cause: UnknownCause,
}

/// The answer to a mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkAnswer {
    /// The record is unknown. Also the answer to a mark that is sent again.
    Marked,
    /// The lease was lost before and the record has moved on; nothing changed.
    Lost,
}

/// Decides about a record.
#[derive(Debug, Clone)]
pub struct ResolveRequest {
    /// The claim that is decided about; a newer one is left alone.
    pub claim: Claim,
    /// Who decides, for the audit.
    pub by: Actor,
    /// The decision.
    pub resolution: Resolution,
}

/// Who resolves a record, for the audit: 1–255 bytes without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor(String);

impl Actor {
    /// An actor by name.
    pub fn new(name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        crate::identity::checked("the name of who decides", &name)?;
        Ok(Self(name))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// What is decided.
#[derive(Debug, Clone)]
pub enum Resolution {
    /// The unknown operation happened, with this outcome.
    Settle {
        /// What duplicates get from now on.
        outcome: Outcome,
        /// How long to keep it.
        retention: Retention,
    },
    /// The unknown operation did not happen and will not: the next claim runs. An owner that
    /// was only slow must be dead, or be refused by its provider.
    Release,
    /// The settled record is to be forgotten before its retention ends.
    Erase,
}

/// The answer to a resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolveAnswer {
    /// It was done.
    Resolved,
    /// The record is not in a state, or no longer of the claim, that this decides; nothing changed.
    Refused,
}

/// Which records to list.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Only records in this state.
    pub state: Option<StateFilter>,
    /// Only this tenant's.
    pub tenant: Option<String>,
    /// Only this scope's, as `name@version`.
    pub scope: Option<String>,
    /// Only claims older than this one: the `next` of the page before.
    pub before: Option<Fence>,
    /// At most this many, up to [`PAGE_MAX`]; 0 means 100.
    pub limit: usize,
}

impl Query {
    /// The number of records that a page may have.
    pub fn page_len(&self) -> usize {
        match self.limit {
            0 => 100,
            limit => limit.min(PAGE_MAX),
        }
    }
}

/// A state by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StateFilter {
    /// Live leases.
    Running,
    /// Outcomes that nobody knows, ended leases included.
    Unknown,
    /// Settled successes.
    Succeeded,
    /// Settled failures.
    Failed,
    /// Records that retention no longer protects and that were to be archived.
    Archived,
}

impl StateFilter {
    /// Every filter.
    pub const ALL: [Self; 5] = [
        Self::Running,
        Self::Unknown,
        Self::Succeeded,
        Self::Failed,
        Self::Archived,
    ];

    /// The lowercase name used on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Unknown => "unknown",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Archived => "archived",
        }
    }
}

impl std::str::FromStr for StateFilter {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|filter| filter.name() == text);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("a state is one of {names}, found {text:?}"))
        })
    }
}

/// One page of records; bodies are left out, only their lengths are told.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The records, the newest claim first.
    pub records: Vec<Record>,
    /// Where the next page begins, if there is one.
    pub next: Option<Fence>,
}

/// What one step of housekeeping did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// Leases that had ended and whose records are now unknown.
    pub leases_ended: usize,
    /// Settled records deleted.
    pub deleted: usize,
    /// Settled records moved to the archive.
    pub archived: usize,
    /// Old events deleted.
    pub events_deleted: usize,
    /// Whether the limit was reached and another step would find more.
    pub more: bool,
}

/// Counts for operators.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Live leases.
    pub running: u64,
    /// Outcomes that nobody knows, ended leases included.
    pub unknown: u64,
    /// Settled records, those past retention but not yet swept included.
    pub settled: u64,
    /// Archived records.
    pub archived: u64,
    /// Late outcomes in the history.
    pub late_outcomes: u64,
    /// When the oldest live claim was granted.
    pub oldest_running: Option<Timestamp>,
    /// Since when the oldest unknown outcome waits.
    pub oldest_unknown: Option<Timestamp>,
    /// Bytes on disk, where the store can tell.
    pub bytes: Option<u64>,
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
