//! What is known about an operation: the record, its states, and the events of its history.

use std::fmt;

use crate::clock::Timestamp;
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::known::{About, Evidence};
use crate::outcome::{Outcome, Settled};
use crate::store::Nonce;

/// A number that grows with every claim in a store and is never used twice.
///
/// An owner that lost its lease carries a fence that no longer matches, so it can change nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fence(u64);

impl Fence {
    /// The fence with this number.
    pub const fn new(number: u64) -> Self {
        Self(number)
    }

    /// The number, for headers, SQL and effects that check it.
    pub const fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// One claim of an identity: what renew, settle and release must show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The operation that was claimed.
    pub identity: Identity,
    /// The number that tells this claim from every other.
    pub fence: Fence,
}

/// A granted claim: the right to run until the lease ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The claim itself.
    pub claim: Claim,
    /// 1 for the first run, one more for each takeover.
    pub attempt: u32,
    /// When the lease ends unless it is renewed, by the store's clock.
    pub until: Timestamp,
}

/// Why the outcome of a run cannot be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum UnknownCause {
    /// The lease ended without a settle: the owner died or was cut off.
    LeaseEnded,
    /// The run itself could not tell, for example because its call timed out.
    RunUndecided,
    /// The run panicked.
    RunPanicked,
}

impl UnknownCause {
    /// Every cause, in the order of their codes.
    pub const ALL: [Self; 3] = [Self::LeaseEnded, Self::RunUndecided, Self::RunPanicked];

    /// The lowercase name used in SQL, JSON and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LeaseEnded => "lease-ended",
            Self::RunUndecided => "run-undecided",
            Self::RunPanicked => "run-panicked",
        }
    }

    /// The cause with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }
}

/// Where an operation stands. An absent one has no record at all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// Somebody holds a live lease.
    Running {
        /// When the lease ends unless it is renewed.
        lease_until: Timestamp,
    },
    /// The effect may or may not have happened.
    Unknown {
        /// Since when nobody knows.
        since: Timestamp,
        /// Why nobody knows.
        cause: UnknownCause,
        /// What its owner could still say about it.
        evidence: Option<Evidence>,
    },
    /// The outcome is on record and does not change until its retention ends.
    Settled(Settled),
}

impl State {
    /// The lowercase name used in JSON, on the command line and in metrics.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::Unknown { .. } => "unknown",
            Self::Settled(settled) => settled.outcome.verdict.name(),
        }
    }
}

/// Everything a store knows about one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Which operation.
    pub identity: Identity,
    /// What was asked.
    pub fingerprint: Fingerprint,
    /// The number of the current claim.
    pub fence: Fence,
    /// How often the operation was claimed without being released.
    pub attempt: u32,
    /// When the current claim was granted.
    pub claimed_at: Timestamp,
    /// What was asked, for people.
    pub about: Option<About>,
    /// What the claimer called its claim, in stores that keep it with the record.
    pub nonce: Option<Nonce>,
    /// Where it stands.
    pub state: State,
}

impl Record {
    /// The HTTP method that was asked with: said with the claim, or by a scope that begins with it.
    pub fn method(&self) -> Option<&str> {
        match &self.about {
            Some(about) => about.method(),
            None => crate::known::method_of(self.identity.scope().name()),
        }
    }
}

/// Something unusual that happened to an operation, kept for the audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// When, by the store's clock.
    pub at: Timestamp,
    /// The claim that it concerns.
    pub fence: Fence,
    /// What happened.
    pub kind: EventKind,
}

/// What happened. The happy path leaves no event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A new claim took over from this earlier one, whose outcome was unknown.
    TookOver {
        /// The claim that lost its lease.
        from: Fence,
    },
    /// The owner gave the claim back: nothing happened.
    Released,
    /// The outcome became unknown.
    BecameUnknown {
        /// Why.
        cause: UnknownCause,
        /// What the owner could still say about it.
        evidence: Option<Evidence>,
    },
    /// An unknown outcome was decided, or the outcome of such a decision corrected.
    Resolved {
        /// Who decided.
        by: String,
        /// What was decided.
        how: Resolved,
        /// Why.
        reason: Option<String>,
    },
    /// An owner that had lost its lease brought this; it is never served.
    LateOutcome(Outcome),
    /// The same identity came with another fingerprint and was refused.
    Mismatch(Fingerprint),
    /// A person removed a settled record before its retention ended.
    Erased {
        /// Who removed it.
        by: String,
        /// Why.
        reason: Option<String>,
    },
    /// A person erased the contents of a settled record, and those in its history; the record stays.
    ContentsErased {
        /// Who erased them.
        by: String,
        /// Why.
        reason: Option<String>,
    },
}

/// How an unknown outcome was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Resolved {
    /// It happened: an outcome is on record.
    Settled,
    /// It did not happen: the next attempt runs.
    Released,
    /// It happened, but otherwise than was decided before: another outcome is on record.
    Corrected,
}

impl Resolved {
    /// Every decision, in the order of their codes.
    pub const ALL: [Self; 3] = [Self::Released, Self::Settled, Self::Corrected];

    /// The number that stores keep.
    pub const fn code(self) -> u8 {
        match self {
            Self::Released => 0,
            Self::Settled => 1,
            Self::Corrected => 2,
        }
    }

    /// The decision with this number.
    pub fn from_code(code: i64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|resolved| i64::from(resolved.code()) == code)
    }
}

impl EventKind {
    /// Whether a lease ended without a settle.
    pub const fn is_lease_end(&self) -> bool {
        matches!(
            self,
            Self::BecameUnknown {
                cause: UnknownCause::LeaseEnded,
                ..
            }
        )
    }

    /// A lease ended without a settle.
    pub const LEASE_ENDED: Self = Self::BecameUnknown {
        cause: UnknownCause::LeaseEnded,
        evidence: None,
    };

    /// The lowercase name used in SQL, JSON and on the command line.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::TookOver { .. } => "took-over",
            Self::Released => "released",
            Self::BecameUnknown { .. } => "became-unknown",
            Self::Resolved { .. } => "resolved",
            Self::LateOutcome(_) => "late-outcome",
            Self::Mismatch(_) => "mismatch",
            Self::Erased { .. } => "erased",
            Self::ContentsErased { .. } => "contents-erased",
        }
    }

    /// What is left of the event when contents are erased: no evidence, and of a late outcome verdict, status and length.
    #[must_use]
    pub fn without_contents(self) -> Self {
        match self {
            Self::BecameUnknown { cause, .. } => Self::BecameUnknown {
                cause,
                evidence: None,
            },
            Self::LateOutcome(outcome) => Self::LateOutcome(Outcome {
                body: outcome.body.left_out(),
                ..outcome.without_contents()
            }),
            kept @ (Self::TookOver { .. }
            | Self::Released
            | Self::Resolved { .. }
            | Self::Mismatch(_)
            | Self::Erased { .. }
            | Self::ContentsErased { .. }) => kept,
        }
    }
}
