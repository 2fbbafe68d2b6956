//! What to do in each case, chosen per scope: leases, retention, duplicates, failures, unknowns.

use std::time::Duration;

use crate::error::{Error, Result};
use crate::outcome::BODY_BYTES_MAX;

/// How long a lease lasts unless it is renewed; 1 ms to 24 h.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LeaseTerm(Duration);

impl LeaseTerm {
    /// The longest term: a dead owner must not hold an identity for days.
    pub const MAX: Duration = Duration::from_secs(24 * 60 * 60);

    /// A term between 1 ms and [`LeaseTerm::MAX`].
    pub fn new(term: Duration) -> Result<Self> {
        if term < Duration::from_millis(1) || term > Self::MAX {
            return Err(Error::invalid(format!(
                "a lease lasts 1 ms to 24 h, found {term:?}"
            )));
        }
        Ok(Self(term))
    }

    /// The term as a duration.
    pub const fn get(self) -> Duration {
        self.0
    }
}

impl Default for LeaseTerm {
    /// 30 seconds.
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}

/// How long a settled record is kept, and what happens to it then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    keep: Duration,
    archive: bool,
}

impl Retention {
    /// The longest retention: ten years.
    pub const MAX: Duration = Duration::from_secs(3_653 * 24 * 60 * 60);

    /// Keeps a settled record for `keep`, then deletes it.
    pub fn delete_after(keep: Duration) -> Result<Self> {
        Self::checked(keep, false)
    }

    /// Keeps a settled record for `keep`, then moves it to the archive.
    pub fn archive_after(keep: Duration) -> Result<Self> {
        Self::checked(keep, true)
    }

    fn checked(keep: Duration, archive: bool) -> Result<Self> {
        if keep < Duration::from_millis(1) || keep > Self::MAX {
            return Err(Error::invalid(format!(
                "retention is 1 ms to ten years, found {keep:?}"
            )));
        }
        Ok(Self { keep, archive })
    }

    /// How long the record is kept once settled.
    pub const fn keep(self) -> Duration {
        self.keep
    }

    /// Whether it is archived afterwards.
    pub const fn archive(self) -> bool {
        self.archive
    }
}

impl Default for Retention {
    /// 24 hours, then deleted.
    fn default() -> Self {
        Self {
            keep: Duration::from_secs(24 * 60 * 60),
            archive: false,
        }
    }
}

/// What a duplicate does while the first is still running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InProgress {
    /// Waits up to this long for the first one's outcome, then is refused.
    Wait(Duration),
    /// Is refused at once.
    Refuse,
}

/// What an error of the run means for the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnFailure {
    /// The failure is final: it is kept, and duplicates get it too.
    Keep,
    /// Nothing happened: the claim is released, and the next attempt runs.
    Release,
    /// The effect may have happened: the record becomes unknown.
    Unknown,
}

/// Who decides about an operation whose outcome is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OnUnknown {
    /// A person: nobody runs it again until it is resolved.
    Hold,
    /// Nobody needs to: the effect is idempotent, the next attempt runs it again.
    Rerun,
    /// The provider of the effect: it is asked whether it happened.
    Reconcile,
}

impl OnUnknown {
    /// The lowercase name used in configuration and on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Hold => "hold",
            Self::Rerun => "rerun",
            Self::Reconcile => "reconcile",
        }
    }
}

/// Everything that [`crate::Once`] decides by; the defaults are safe for payments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How long a lease lasts; it is renewed at a third of it while the run goes on.
    pub lease: LeaseTerm,
    /// How long settled records are kept.
    pub retention: Retention,
    /// What concurrent duplicates do.
    pub in_progress: InProgress,
    /// Who decides about unknown outcomes. [`OnUnknown::Reconcile`] needs a reconciler.
    pub on_unknown: OnUnknown,
    /// Whether the result is stored for replay, or only the fact that it happened.
    pub keep_result: bool,
    /// The largest result that is stored; of a larger one only length and digest.
    pub body_bytes_max: usize,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            lease: LeaseTerm::default(),
            retention: Retention::default(),
            in_progress: InProgress::Wait(Duration::from_secs(2)),
            on_unknown: OnUnknown::Hold,
            keep_result: true,
            body_bytes_max: BODY_BYTES_MAX / 16,
        }
    }
}
