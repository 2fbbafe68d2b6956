//! What the verbs ask and answer, item by item.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::identity::{Identity, checked};
use crate::outcome::Outcome;
use crate::policy::{LeaseTerm, Retention};
use crate::record::{Claim, Fence, Lease, Record, UnknownCause};

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
    /// The store has never granted this claim: the fence is made up, or the store has lost the claim in
    /// a failover. Nothing was written.
    NeverGranted,
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
        checked("the name of who decides", &name)?;
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
