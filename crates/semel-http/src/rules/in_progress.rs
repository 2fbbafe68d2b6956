//! What a duplicate gets while the first request is still running.

use std::time::Duration;

use http::StatusCode;

/// How long a duplicate waits, and what it gets when the first is still running then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy {
    /// How long it waits for the first one's outcome; zero answers at once.
    pub wait: Duration,
    /// What it gets then.
    pub status: BusyStatus,
}

impl Default for Busy {
    /// Two seconds, then 409.
    fn default() -> Self {
        Self {
            wait: Duration::from_secs(2),
            status: BusyStatus::Conflict,
        }
    }
}

/// The status of an answer that says "still running".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BusyStatus {
    /// 409, as the IETF draft has it.
    Conflict,
    /// 425: too early.
    TooEarly,
    /// 202: accepted, ask again.
    Accepted,
}

impl BusyStatus {
    /// Every status.
    pub const ALL: [Self; 3] = [Self::Conflict, Self::TooEarly, Self::Accepted];

    /// The HTTP status.
    pub const fn status(self) -> StatusCode {
        match self {
            Self::Conflict => StatusCode::CONFLICT,
            Self::TooEarly => StatusCode::TOO_EARLY,
            Self::Accepted => StatusCode::ACCEPTED,
        }
    }
}

impl TryFrom<u16> for BusyStatus {
    type Error = semel_core::Error;

    fn try_from(code: u16) -> Result<Self, Self::Error> {
        let found = Self::ALL.into_iter().find(|s| s.status().as_u16() == code);
        found.ok_or_else(|| {
            semel_core::Error::invalid(format!("expected 409, 425 or 202, found {code}"))
        })
    }
}
