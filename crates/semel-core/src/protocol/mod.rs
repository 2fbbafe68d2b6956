//! The state machine, as pure and total functions: a record and a verb in, an answer and a change out.
//!
//! ```text
//!             claim                    settle(fence)
//!   absent ──────────▶ running ─────────────────────▶ settled ── retention ends ──▶ absent
//!      ▲               │  │  │                           ▲
//!      │ release(fence)│  │  │ mark_unknown(fence),      │ resolve: it happened
//!      ├───────────────┘  │  │ or the lease ends         │
//!      │                  │  ▼                           │
//!      │          renew(fence)  unknown ─────────────────┘
//!      │                        │     │ claim that may take over: running, fence + n, attempt + 1
//!      └────────────────────────┘     ▼
//!        resolve: it did not     (running)
//! ```
//!
//! Whoever holds records — the store in memory, the writer thread of SQLite, the model
//! checker — decides by these functions. Stores that decide inside a statement or script are held to
//! them by the conformance suite. Nothing here does IO or reads a clock: `now` is the store's.

mod standing;
mod verbs;

pub use standing::{Standing, view};
pub use verbs::{claim, lease_of, mark_unknown, release, renew, resolve, settle, sweep_lease};

use crate::clock::Timestamp;
use crate::known::Evidence;
use crate::outcome::Settled;
use crate::record::{Event, Record, UnknownCause};
use crate::store::AuditEntry;

/// What a verb leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step<A> {
    /// What the caller is told.
    pub answer: A,
    /// What becomes of the record.
    pub change: Change,
    /// What the history keeps, oldest first.
    pub events: Vec<Event>,
    /// What the audit keeps: only of a person's decision.
    pub audit: Option<AuditEntry>,
}

/// What becomes of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Nothing.
    None,
    /// This running record takes the place of whatever there was.
    Grant(Record),
    /// The lease of the running record lasts longer.
    Extend {
        /// Until then.
        lease_until: Timestamp,
    },
    /// The record is unknown from now on.
    Unknown {
        /// Since then.
        since: Timestamp,
        /// For this reason.
        cause: UnknownCause,
        /// With what its owner could still say.
        evidence: Option<Evidence>,
    },
    /// The record is settled from now on.
    Settle(Settled),
    /// The record is settled as before and without contents, and those in the history of its identity are gone
    /// ([`EventKind::without_contents`](crate::EventKind::without_contents)).
    EraseContents(Settled),
    /// The record is gone.
    Remove,
}

impl Change {
    /// The record after this change: the reference for stores that hold whole records.
    pub fn apply(self, current: Option<Record>) -> Option<Record> {
        let with = |state| current.clone().map(|record| Record { state, ..record });
        match self {
            Self::None => current,
            Self::Grant(record) => Some(record),
            Self::Extend { lease_until } => with(crate::State::Running { lease_until }),
            Self::Unknown {
                since,
                cause,
                evidence,
            } => with(crate::State::Unknown {
                since,
                cause,
                evidence,
            }),
            Self::Settle(settled) => with(crate::State::Settled(settled)),
            Self::EraseContents(settled) => {
                with(crate::State::Settled(settled)).map(|record| Record {
                    about: None,
                    ..record
                })
            }
            Self::Remove => None,
        }
    }
}

#[cfg(test)]
mod tests;
