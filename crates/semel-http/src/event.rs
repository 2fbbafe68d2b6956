//! What a door tells whoever watches it: metrics, logs, tests.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::Method;
use semel_core::duplicate::Duplicate;
use semel_core::once::Recorded;
use semel_core::{Identity, Scope};

use crate::observe::Finding;
use crate::problem::Type;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum What {
    /// It passed unguarded, because it has no key.
    Passed,
    /// It ran; this is how firmly its outcome is on record.
    Ran(Recorded),
    /// It was answered from the record.
    Replayed,
    /// It was refused, or failed, with this problem.
    Refused(Type),
    /// It passed, and this is what the guard would have seen in it.
    Observed(Finding),
}

impl What {
    /// The lowercase name used in metrics and logs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Ran(Recorded::Settled) => "ran",
            Self::Ran(Recorded::Released) => "released",
            Self::Ran(Recorded::Unknown) => "unknown",
            Self::Ran(Recorded::Late) => "late",
            Self::Ran(Recorded::NotYet | Recorded::NotRecorded) => "not-recorded",
            Self::Replayed => "replayed",
            Self::Refused(problem) => problem.name(),
            Self::Observed(finding) => finding.name(),
        }
    }
}

/// What the service behind a door answered, or how it failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answered {
    /// With this status.
    Status(u16),
    /// Not one byte of the request can have reached it.
    Unreached,
    /// It was silent for too long, or broke off.
    Broken,
}

impl Answered {
    /// The class of the status, or how it failed: the name used in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Status(200..=299) => "2xx",
            Self::Status(300..=399) => "3xx",
            Self::Status(400..=499) => "4xx",
            Self::Status(500..=599) => "5xx",
            Self::Unreached => "unreached",
            Self::Status(_) | Self::Broken => "broken",
        }
    }
}

/// A request that has been answered.
#[derive(Debug)]
pub struct Event<'a> {
    /// The route's scope.
    pub scope: &'a Scope,
    /// Which operation was meant, if that could be told.
    pub identity: Option<&'a Identity>,
    /// What became of it.
    pub what: What,
    /// The status of the answer; 0 where none was made.
    pub status: u16,
    /// From the request's head to the answer's.
    pub took: Duration,
}

/// Somebody who wants to know. Called on the request's own path: it must be quick and must not block.
pub trait RequestObserver: Send + Sync + 'static {
    /// Sees one request.
    fn saw(&self, event: &Event<'_>);

    /// Sees a duplicate, before [`RequestObserver::saw`] sees the same request.
    fn saw_duplicate(&self, _duplicate: &Duplicate<'_>) {}

    /// Sees a request that carries a key and that no route guards: its client believes that it is safe to retry.
    fn saw_unguarded(&self, _method: &Method) {}

    /// Sees what the service answered to a guarded request that ran, and after how long.
    fn saw_upstream(&self, _scope: &Scope, _answered: Answered, _took: Duration) {}
}

/// Nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl RequestObserver for Nobody {
    fn saw(&self, _event: &Event<'_>) {}
}

impl<W: RequestObserver + ?Sized> RequestObserver for Arc<W> {
    fn saw(&self, event: &Event<'_>) {
        (**self).saw(event);
    }

    fn saw_duplicate(&self, duplicate: &Duplicate<'_>) {
        (**self).saw_duplicate(duplicate);
    }

    fn saw_unguarded(&self, method: &Method) {
        (**self).saw_unguarded(method);
    }

    fn saw_upstream(&self, scope: &Scope, answered: Answered, took: Duration) {
        (**self).saw_upstream(scope, answered, took);
    }
}

impl fmt::Debug for dyn RequestObserver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestObserver")
    }
}
