//! What came of a message, and what its source is to be told.

use std::time::Duration;

use semel_core::store::ClaimAnswer;
use semel_core::{Error, Kind, Outcome, State, Verdict};
use serde::de::DeserializeOwned;

/// How long a message that somebody else is processing waits, unless their lease ends sooner.
const AGAIN_AFTER: Duration = Duration::from_secs(1);

/// What came of a message.
#[derive(Debug)]
#[non_exhaustive]
pub enum Processed<T, E> {
    /// The handler ran, and its effect is durable.
    Done(T),
    /// It had been processed before; this is that result.
    Duplicate(T),
    /// It had failed for good before, and is not tried again.
    FailedBefore,
    /// The handler failed for good now: its effect was rolled back, and the failure is on record.
    Failed(E),
    /// The handler failed: nothing happened, and a redelivery runs it again.
    Retry(E),
    /// Somebody else is processing it.
    Running(Duration),
    /// Whether it took effect is not known; a person or a policy decides.
    Unknown,
    /// The same id came with another payload before.
    Conflict,
    /// The database could not answer. Nothing is acknowledged.
    Unavailable(Error),
}

/// What the source of a message is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It is dealt with: acknowledge it, commit its offset, delete it.
    Acknowledge,
    /// It is not: let it be delivered again, not before so much time.
    Redeliver {
        /// How long to wait.
        after: Duration,
    },
    /// It cannot be: put it where a person looks.
    Park,
}

impl<T, E> Processed<T, E> {
    /// What the source is told.
    pub fn next(&self) -> Next {
        match self {
            Self::Done(_) | Self::Duplicate(_) => Next::Acknowledge,
            Self::Retry(_) | Self::Unavailable(_) => Next::Redeliver { after: AGAIN_AFTER },
            Self::Running(left) => Next::Redeliver {
                after: (*left).min(AGAIN_AFTER),
            },
            Self::Failed(_) | Self::FailedBefore | Self::Unknown | Self::Conflict => Next::Park,
        }
    }

    /// Whether the message may be acknowledged.
    pub fn is_acknowledged(&self) -> bool {
        self.next() == Next::Acknowledge
    }
}

impl<T: DeserializeOwned, E> Processed<T, E> {
    /// What a claim that was not granted says about a message.
    pub(crate) fn not_granted(answer: ClaimAnswer) -> Self {
        match answer {
            ClaimAnswer::Settled(record) => match &record.state {
                State::Settled(settled) => Self::before(&settled.outcome),
                State::Running { .. } | State::Unknown { .. } => Self::Unknown,
            },
            ClaimAnswer::Running { lease_left, .. } => Self::Running(lease_left),
            ClaimAnswer::Unknown { .. } => Self::Unknown,
            ClaimAnswer::Mismatch => Self::Conflict,
            ClaimAnswer::Granted(_) => unreachable!("a granted claim is run"),
        }
    }

    fn before(outcome: &Outcome) -> Self {
        if outcome.verdict == Verdict::Failed {
            return Self::FailedBefore;
        }
        let bytes = outcome.body.kept().map_or(&[][..], |bytes| bytes);
        match serde_json::from_slice(bytes) {
            Ok(value) => Self::Duplicate(value),
            Err(error) => {
                let message = "the kept result is not of the type that is asked for";
                Self::Unavailable(Error::new(Kind::Damaged, message).caused_by(error))
            }
        }
    }
}
