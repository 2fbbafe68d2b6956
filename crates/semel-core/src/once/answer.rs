//! What callers get: answers, refusals, and how firmly the result is on record.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Timestamp;
use crate::known::Evidence;
use crate::outcome::{Outcome, Verdict};
use crate::record::{Fence, Record, UnknownCause};

/// What a run means for its record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// It is done; duplicates get this outcome.
    Settle(Outcome),
    /// Nothing happened: the next attempt runs.
    Release,
    /// It may have happened; with what the run can still say about it.
    Unknown(Option<Evidence>),
}

/// What a run hands back: the value for its caller, and what to record.
#[derive(Debug)]
pub struct Finished<R> {
    /// For the caller that started the run.
    pub value: R,
    /// For the record.
    pub settlement: Settlement,
}

/// How firmly the result of a run is on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recorded {
    /// Duplicates get the same result.
    Settled,
    /// The run said that nothing happened; the next attempt runs.
    Released,
    /// The run said that its outcome cannot be known.
    Unknown,
    /// The lease was lost during the run; the result is kept for the audit only.
    Late,
    /// The store has not taken the result since the run ended. It is offered again in the background until the store
    /// takes it; if the lease ends before that, the record becomes unknown and the result is kept for the audit.
    NotYet,
    /// The store does not know the claim: it has lost it, for example in a failover. The result is nowhere on record.
    NotRecorded,
}

/// The answer of the untyped layer.
#[derive(Debug)]
pub enum Reply<R> {
    /// This call ran the operation.
    Ran {
        /// What the run brought.
        value: R,
        /// The claim under which it ran.
        fence: Fence,
        /// 1 for the first run, one more for each takeover.
        attempt: u32,
        /// How firmly the result is on record.
        recorded: Recorded,
    },
    /// An earlier call ran it; this is what is on record.
    Replayed(Arc<Record>),
}

/// Why an operation was neither run nor replayed.
#[derive(Debug)]
#[non_exhaustive]
pub enum Refusal {
    /// Somebody else is running it.
    InProgress {
        /// When it is worth asking again.
        retry_after: Duration,
    },
    /// The key was used for another request.
    KeyReused,
    /// It may have happened; somebody must decide.
    Unknown {
        /// The claim whose outcome is unknown.
        fence: Fence,
        /// Since when.
        since: Timestamp,
        /// Why.
        cause: UnknownCause,
    },
    /// As many operations run as may at once. This one did not.
    TooManyRuns,
    /// It is in progress, and as many duplicates wait as may at once.
    TooManyWaiting,
    /// This call's run panicked; its record is unknown.
    Panicked,
    /// What was asked breaks a stated rule, for example by a key that is too long. Nothing ran.
    Invalid(crate::Error),
    /// The store cannot answer. Nothing ran.
    Store(crate::Error),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InProgress { retry_after } => {
                let ms = retry_after.as_millis();
                write!(f, "the operation is in progress, ask again in {ms} ms")
            }
            Self::KeyReused => f.write_str("the key was used before for another request"),
            Self::Unknown { since, cause, .. } => write!(
                f,
                "the outcome is unknown since {since} ({}), it waits to be resolved",
                cause.name()
            ),
            Self::TooManyRuns => f.write_str("as many operations run as may at once, nothing ran"),
            Self::TooManyWaiting => f.write_str(
                "the operation is in progress, and as many duplicates wait as may at once",
            ),
            Self::Panicked => f.write_str("the run panicked, its outcome is unknown"),
            Self::Invalid(error) => write!(f, "what was asked is not valid, nothing ran: {error}"),
            Self::Store(error) => write!(f, "the store cannot answer, nothing ran: {error}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// A typed result, run now or replayed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer<T> {
    /// The result.
    pub value: T,
    /// Whether an earlier call brought it.
    pub replayed: bool,
    /// The claim under which it was run.
    pub fence: Fence,
    /// 1 for the first run, one more for each takeover.
    pub attempt: u32,
    /// How firmly it is on record.
    pub recorded: Recorded,
}

/// Why there is no typed result.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error<E> {
    /// The run failed, now or when an earlier call made it.
    Failed {
        /// The run's own error.
        error: E,
        /// Whether an earlier call brought it.
        replayed: bool,
        /// What became of the record.
        recorded: Recorded,
    },
    /// The operation was done before, but its result was not kept.
    NotKept {
        /// Whether it succeeded then.
        verdict: Verdict,
        /// When it was done.
        settled_at: Timestamp,
    },
    /// The result on record is not of the type that is expected now.
    Undecodable(serde_json::Error),
    /// The operation was neither run nor replayed.
    Refused(Refusal),
}

impl<E: fmt::Display> fmt::Display for Error<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Failed { error, .. } => error.fmt(f),
            Self::NotKept {
                verdict,
                settled_at,
            } => {
                let verdict = verdict.name();
                write!(f, "{verdict} at {settled_at}, but the result was not kept")
            }
            Self::Undecodable(error) => write!(
                f,
                "the result on record has another type (a changed meaning needs a new scope version): {error}"
            ),
            Self::Refused(refusal) => refusal.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for Error<E> {}

impl<E> From<Refusal> for Error<E> {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}
