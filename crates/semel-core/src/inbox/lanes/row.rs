//! Rows of a lane, and what they mean for those behind them.

use crate::clock::Timestamp;
use crate::inbox::order::{OnTerminal, Order};
use crate::inbox::state::{Cause, State};

/// Where a row stands in its lane: by sequence, then by arrival. Without a sequence arrival decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Spot {
    /// The version; `None` where arrival decides.
    pub sequence: Option<u64>,
    /// The place in the order of arrival.
    pub number: i64,
}

/// The version that runs next in a lane. A lane that begins at 0 with nothing done is `Next(0)`; one that has not begun has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Next(pub u64);

/// Whether a message runs once more although it was dealt with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Rerun {
    /// It was not dealt with.
    #[default]
    No,
    /// It was; as an older version it is skipped again.
    Replay,
    /// It was, and it may also run below the lane's next version.
    Rebuild,
}

/// A row that stands in a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Where.
    pub spot: Spot,
    /// Its state.
    pub state: State,
    /// Why it is in it.
    pub cause: Option<Cause>,
    /// Whether it runs, or may be claimed now or later.
    pub is_due: bool,
    /// Whether its lane is to be looked at because of it at some time.
    pub has_deadline: bool,
    /// Whether it was dealt with before.
    pub rerun: Rerun,
    /// When it arrived, from which its patience is counted.
    pub received_at: Timestamp,
}

/// Where a row goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Placed {
    /// RECEIVED or PARKED; SKIPPED_DUPLICATE for a message that arrives and is older.
    pub state: State,
    /// Why.
    pub cause: Option<Cause>,
    /// Whether it is due now.
    pub is_due: bool,
    /// When its lane is to be looked at because of it.
    pub deadline: Option<Timestamp>,
}

/// What a message's history says of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Note {
    /// The state after it.
    pub to: State,
    /// Why.
    pub cause: Cause,
}

impl Placed {
    /// RECEIVED, and not to be claimed yet.
    pub const WAITING: Self = Self {
        state: State::Received,
        cause: None,
        is_due: false,
        deadline: None,
    };
    /// RECEIVED, due now.
    pub const DUE: Self = Self {
        is_due: true,
        ..Self::WAITING
    };

    /// PARKED for this reason.
    pub const fn parked(cause: Cause) -> Self {
        Self {
            state: State::Parked,
            cause: Some(cause),
            ..Self::WAITING
        }
    }

    /// SKIPPED_DUPLICATE for this reason.
    pub const fn skipped(cause: Cause) -> Self {
        Self {
            state: State::SkippedDuplicate,
            cause: Some(cause),
            ..Self::WAITING
        }
    }
}

/// What a row means for those behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    /// It runs, will run by itself, or waits for its turn.
    Open,
    /// It waits for a missing version.
    Gap,
    /// It is stuck, or waits behind a row that is.
    Blocked,
    /// The lane goes on without it; its version is not missing.
    Mark,
}

impl Row {
    /// Whether it waits for others of its lane, and for nothing else.
    pub fn is_waiting(&self) -> bool {
        match self.state {
            State::Received => !self.is_due,
            State::Parked => is_parked_for_others(self.cause),
            State::InProgress
            | State::Completed
            | State::FailedRetryable
            | State::FailedTerminal
            | State::SkippedDuplicate => false,
        }
    }

    pub(super) fn class(&self, order: Order) -> Class {
        match (self.state, self.cause) {
            (State::Received | State::InProgress | State::FailedRetryable, _) => Class::Open,
            (State::Parked, Some(Cause::Gap | Cause::GapExpired)) => Class::Gap,
            (State::Parked, Some(Cause::BehindFailed)) => Class::Blocked,
            (State::FailedTerminal | State::Parked, _) => match order.on_terminal() {
                OnTerminal::Park => Class::Blocked,
                OnTerminal::Advance => Class::Mark,
            },
            (State::SkippedDuplicate | State::Completed, _) => Class::Mark,
        }
    }

    /// The row as it is after it was put there.
    #[must_use]
    pub fn placed(mut self, placed: Placed) -> Self {
        (self.state, self.cause) = (placed.state, placed.cause);
        (self.is_due, self.has_deadline) = (placed.is_due, placed.deadline.is_some());
        self
    }
}

/// Whether a message that is parked for this reason waits for others of its lane, and for nothing else.
pub const fn is_parked_for_others(cause: Option<Cause>) -> bool {
    matches!(
        cause,
        Some(Cause::Gap | Cause::GapExpired | Cause::BehindFailed)
    )
}
