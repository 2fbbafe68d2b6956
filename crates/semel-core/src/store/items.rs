//! What the verbs ask and answer, item by item.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::identity::{Identity, checked};
use crate::known::{About, Evidence};
use crate::outcome::Outcome;
use crate::policy::{LeaseTerm, Retention};
use crate::record::{Claim, Fence, Lease, Record, UnknownCause};
use crate::store::Nonce;

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
    /// What was asked, in a line for people.
    pub about: Option<About>,
    /// What the claimer calls this claim. Asked again under the same name while the lease lives, the same claim is
    /// granted again: for callers whose answer may get lost. Callers that share a name share the claim.
    pub nonce: Option<Nonce>,
}

impl ClaimRequest {
    /// Asks for `identity` with the usual lease, never as a takeover.
    pub fn new(identity: Identity, fingerprint: Fingerprint) -> Self {
        Self {
            identity,
            fingerprint,
            lease: LeaseTerm::default(),
            takeover: Takeover::Never,
            about: None,
            nonce: None,
        }
    }
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
    /// What its owner can still say about it.
    pub evidence: Option<Evidence>,
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
    /// Why, for the audit.
    pub reason: Option<Reason>,
    /// The decision.
    pub resolution: Resolution,
}

/// Who resolves a record: 1–255 bytes without control characters. What people decide stands in the audit; what a
/// component decides by itself stands in the record's history only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Actor {
    name: String,
    is_person: bool,
}

impl Actor {
    /// A person by name.
    pub fn new(name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        checked("the name of who decides", &name)?;
        let is_person = true;
        Ok(Self { name, is_person })
    }

    /// A component of ours that decides by itself.
    pub fn component(name: &'static str) -> Self {
        let name = name.to_owned();
        debug_assert!(checked("the name of a component", &name).is_ok());
        let is_person = false;
        Self { name, is_person }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.name
    }

    /// Whether a person decides.
    pub const fn is_person(&self) -> bool {
        self.is_person
    }
}

/// The most bytes of a [`Reason`].
pub const REASON_BYTES_MAX: usize = 1_024;

/// Why a person decided: 1–1,024 bytes without control characters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reason(String);

impl Reason {
    /// A reason in the person's words.
    pub fn new(text: impl Into<String>) -> Result<Self> {
        let text = text.into();
        let len = text.len();
        if len == 0 || len > REASON_BYTES_MAX {
            let message = format!("a reason has 1 to {REASON_BYTES_MAX} bytes, found {len}");
            return Err(Error::invalid(message));
        }
        if text.chars().any(char::is_control) {
            return Err(Error::invalid(
                "a reason has no control characters, found one",
            ));
        }
        Ok(Self(text))
    }

    /// The words.
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
    /// What an earlier decision put on record was wrong: duplicates get this from now on, until the same retention
    /// ends. What a run itself settled is not corrected.
    Correct {
        /// What duplicates get from now on.
        outcome: Outcome,
    },
    /// The contents of the settled record are to go: headers, body, what was asked, and the contents in its history.
    /// The record stays as it is otherwise and goes on suppressing duplicates, which hear that the body was not kept.
    /// What a store still holds of the claim is reached also past its retention, and in the archive.
    EraseContents,
}

impl Resolution {
    /// The name in the audit.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Settle { .. } => "resolve",
            Self::Release => "release",
            Self::Erase => "erase",
            Self::Correct { .. } => "correct",
            Self::EraseContents => "erase-contents",
        }
    }

    /// The outcome that it puts on record.
    pub const fn outcome(&self) -> Option<&Outcome> {
        match self {
            Self::Settle { outcome, .. } | Self::Correct { outcome } => Some(outcome),
            Self::Release | Self::Erase | Self::EraseContents => None,
        }
    }
}

/// The answer to a resolution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResolveAnswer {
    /// It was done.
    Resolved,
    /// The record is not in a state, or no longer of the claim, that this decides; nothing changed.
    Refused,
}
