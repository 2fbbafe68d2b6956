//! Records, outcomes, events, counts and messages as JSON: one shape for the API and for `semel … --json`.
//!
//! Instants are RFC 3339 text, durations are numbers that end in `_ms`. A part that a state does
//! not have is null. Header values and bodies are there only if they were asked for.

mod alert;
mod audit;
mod duplicates;
mod event;
pub mod inbox;
mod many;
mod observed;
mod outcome;
mod reconciled;
mod record;
mod stats;

pub(crate) use alert::notice;
pub use alert::{Alert, AlertRule, AlertSubject, Alerts};
pub use audit::{Audit, AuditEntry};
pub use duplicates::{AgeBucket, Duplicates, RetentionAdvice, ScopeDuplicates};
pub use event::Event;
pub use many::Many;
pub use observed::{LatestKeys, Observed, ObservedRoute};
pub use outcome::{Body, Header, Outcome};
pub use reconciled::{ReconcileReport, ReconcileScope, Reconciled};
pub use record::{Evidence, Lease, Page, Record, Seen, Settled, Unknown};
pub use stats::{Since, Stats};

use std::time::Duration;

/// Whether private parts are shown, and how bytes that are not text are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload {
    /// Names, sizes and digests only.
    Hidden,
    /// Header values and bodies, too; in hexadecimal where they are not text, for people.
    Shown,
    /// Header values and bodies, too; in base64 where they are not text, as the API takes them.
    Base64,
}

/// A duration as a number.
pub fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

/// The status, where there is one.
pub fn status(outcome: &semel_core::Outcome) -> Option<u16> {
    Some(outcome.status).filter(|status| *status != 0)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
