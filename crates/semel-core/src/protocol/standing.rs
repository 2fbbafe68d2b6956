//! Where a record stands at an instant: what is stored, judged by the clock.

use crate::clock::Timestamp;
use crate::outcome::Settled;
use crate::record::{Fence, Record, State, UnknownCause};

/// A stored record as seen at an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing<'a> {
    /// There is no record, or its retention has ended.
    Absent,
    /// The lease is alive.
    Running {
        /// The record.
        record: &'a Record,
        /// When the lease ends.
        lease_until: Timestamp,
    },
    /// The lease has ended and nobody has written that down yet.
    Ended {
        /// The record.
        record: &'a Record,
        /// When the lease ended.
        since: Timestamp,
    },
    /// The outcome is unknown, on record.
    Unknown {
        /// The record.
        record: &'a Record,
        /// Since when.
        since: Timestamp,
        /// Why.
        cause: UnknownCause,
    },
    /// The outcome is on record and its retention lasts.
    Settled {
        /// The record.
        record: &'a Record,
        /// The outcome.
        settled: &'a Settled,
    },
}

impl<'a> Standing<'a> {
    /// Judges a stored record by the clock.
    pub fn of(current: Option<&'a Record>, now: Timestamp) -> Self {
        let Some(record) = current else {
            return Self::Absent;
        };
        match &record.state {
            State::Running { lease_until } if *lease_until > now => Self::Running {
                record,
                lease_until: *lease_until,
            },
            State::Running { lease_until } => Self::Ended {
                record,
                since: *lease_until,
            },
            State::Unknown { since, cause, .. } => Self::Unknown {
                record,
                since: *since,
                cause: *cause,
            },
            State::Settled(settled) if settled.expires_at > now => {
                Self::Settled { record, settled }
            }
            State::Settled(_) => Self::Absent,
        }
    }

    /// The record, unless it is absent.
    pub const fn record(self) -> Option<&'a Record> {
        match self {
            Self::Absent => None,
            Self::Running { record, .. }
            | Self::Ended { record, .. }
            | Self::Unknown { record, .. }
            | Self::Settled { record, .. } => Some(record),
        }
    }

    /// Whether `fence` is the number of the record's current claim.
    pub fn is_of(self, fence: Fence) -> bool {
        self.record().is_some_and(|record| record.fence == fence)
    }
}

/// The record as a reader sees it at `now`: an ended lease shows as unknown, what
/// retention no longer protects does not show.
pub fn view(current: Option<Record>, now: Timestamp) -> Option<Record> {
    match Standing::of(current.as_ref(), now) {
        Standing::Absent => None,
        Standing::Ended { since, .. } => current.map(|record| Record {
            state: State::Unknown {
                since,
                cause: UnknownCause::LeaseEnded,
                evidence: None,
            },
            ..record
        }),
        Standing::Running { .. } | Standing::Unknown { .. } | Standing::Settled { .. } => current,
    }
}
