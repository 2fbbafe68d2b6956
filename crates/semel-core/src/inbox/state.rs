//! The states that a message can be seen in, and why it is in one.

use crate::error::{Error, Result};

/// Where a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum State {
    /// Stored, to be processed: due, or behind others of its lane.
    Received,
    /// Claimed by a worker.
    InProgress,
    /// Its effect is applied.
    Completed,
    /// It failed and will be tried again.
    FailedRetryable,
    /// It failed and will not be tried again by itself.
    FailedTerminal,
    /// It waits for something else: a person, a missing version, the head of its lane.
    Parked,
    /// It was passed over: an older version than what was applied, or skipped by hand.
    SkippedDuplicate,
}

impl State {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Received,
        Self::InProgress,
        Self::Completed,
        Self::FailedRetryable,
        Self::FailedTerminal,
        Self::Parked,
        Self::SkippedDuplicate,
    ];

    /// The name that people and scripts see.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Received => "RECEIVED",
            Self::InProgress => "IN_PROGRESS",
            Self::Completed => "COMPLETED",
            Self::FailedRetryable => "FAILED_RETRYABLE",
            Self::FailedTerminal => "FAILED_TERMINAL",
            Self::Parked => "PARKED",
            Self::SkippedDuplicate => "SKIPPED_DUPLICATE",
        }
    }

    /// The number in the tables, which never changes its meaning.
    pub const fn number(self) -> i16 {
        match self {
            Self::Received => 0,
            Self::InProgress => 1,
            Self::Completed => 2,
            Self::FailedRetryable => 3,
            Self::FailedTerminal => 4,
            Self::Parked => 5,
            Self::SkippedDuplicate => 6,
        }
    }

    /// The state with this number.
    pub fn from_number(number: i16) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.number() == number)
    }

    /// Whether a person finds it among the dead letters.
    pub const fn is_dead_letter(self) -> bool {
        matches!(self, Self::FailedTerminal | Self::Parked)
    }

    /// Whether nothing more will happen to it by itself or by a worker.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::SkippedDuplicate)
    }
}

impl std::str::FromStr for State {
    type Err = Error;

    /// Reads `FAILED_RETRYABLE` as well as `failed-retryable`.
    fn from_str(text: &str) -> Result<Self> {
        let wanted = text.to_ascii_uppercase().replace('-', "_");
        let found = Self::ALL.into_iter().find(|state| state.name() == wanted);
        found.ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!(
                "a message's state is one of {names}, found {text:?}"
            ))
        })
    }
}

/// Why a message changed its state, where that is not plain from the state itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Cause {
    /// The same id came with another payload before.
    Conflict,
    /// An earlier version of its lane has not arrived.
    Gap,
    /// The earlier version did not arrive in time.
    GapExpired,
    /// The version that was missing is done.
    GapFilled,
    /// The head of its lane failed for good or is parked.
    BehindFailed,
    /// The head of its lane is dealt with.
    HeadDone,
    /// All attempts are used up.
    AttemptsExhausted,
    /// The handler said that trying again does not help.
    Terminal,
    /// The handler failed in a way that may pass.
    Retryable,
    /// The handler took longer than its hard deadline.
    DeadlineExceeded,
    /// Its worker's lease ended before it was finished.
    LeaseEnded,
    /// Whether its effect happened is not known, and policy says to hold it.
    Unknown,
    /// The provider would no longer recognise its key.
    KeyExpired,
    /// A version at or below it has been applied already.
    OlderVersion,
    /// The worker was shut down before it began.
    Returned,
    /// The same message arrived again.
    Duplicate,
    /// A person or a tool decided.
    Operator,
    /// Replayed from the dead letters or from history.
    Replayed,
    /// The handler parked it.
    Handler,
    /// The handler was certainly not reached.
    NotReached,
    /// Another door settled its record before it ran.
    SettledElsewhere,
    /// It could not be read, or has no id.
    Unreadable,
}

impl Cause {
    /// All of them.
    pub const ALL: [Self; 22] = [
        Self::Conflict,
        Self::Gap,
        Self::GapExpired,
        Self::GapFilled,
        Self::BehindFailed,
        Self::HeadDone,
        Self::AttemptsExhausted,
        Self::Terminal,
        Self::Retryable,
        Self::DeadlineExceeded,
        Self::LeaseEnded,
        Self::Unknown,
        Self::KeyExpired,
        Self::OlderVersion,
        Self::Returned,
        Self::Duplicate,
        Self::Operator,
        Self::Replayed,
        Self::Handler,
        Self::NotReached,
        Self::SettledElsewhere,
        Self::Unreadable,
    ];

    /// The name in tables, metrics and listings.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Conflict => "conflict",
            Self::Gap => "gap",
            Self::GapExpired => "gap-expired",
            Self::GapFilled => "gap-filled",
            Self::BehindFailed => "behind-failed",
            Self::HeadDone => "head-done",
            Self::AttemptsExhausted => "attempts-exhausted",
            Self::Terminal => "terminal",
            Self::Retryable => "retryable",
            Self::DeadlineExceeded => "deadline-exceeded",
            Self::LeaseEnded => "lease-ended",
            Self::Unknown => "unknown",
            Self::KeyExpired => "key-expired",
            Self::OlderVersion => "older-version",
            Self::Returned => "returned",
            Self::Duplicate => "duplicate",
            Self::Operator => "operator",
            Self::Replayed => "replayed",
            Self::Handler => "handler",
            Self::NotReached => "not-reached",
            Self::SettledElsewhere => "settled-elsewhere",
            Self::Unreadable => "unreadable",
        }
    }

    /// The cause with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|cause| cause.name() == name)
    }
}

impl std::str::FromStr for Cause {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        Self::from_name(text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::invalid(format!("a cause is one of {names}, found {text:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_numbers_lead_back_to_their_states_and_causes() {
        for state in State::ALL {
            assert_eq!(State::from_number(state.number()), Some(state));
            assert_eq!(state.name().parse::<State>().unwrap(), state);
            let spoken = state.name().to_lowercase().replace('_', "-");
            assert_eq!(spoken.parse::<State>().unwrap(), state);
        }
        for cause in Cause::ALL {
            assert_eq!(cause.name().parse::<Cause>().unwrap(), cause);
        }
        assert!("DONE".parse::<State>().is_err());
    }
}
