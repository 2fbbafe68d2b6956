//! What tests say again and again: dispositions, leases, waits.

use std::time::Duration;

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Claim, Disposition, Finish, Job};
use semel_core::{Key, LeaseTerm, Outcome, Retention};

/// The id of a claimed message.
pub(super) fn id(job: &Job) -> String {
    job.claim.identity.key().to_string()
}

/// A message id or the name of a lane.
pub(super) fn key(text: &str) -> Key {
    Key::new(text).expect("keys of tests are valid")
}

/// The end of a claimed message's attempt.
pub(super) fn finish_of(job: &Job, disposition: Disposition) -> Finish {
    finish_of_claim(&job.claim, disposition)
}

/// The end of an attempt.
pub(super) fn finish_of_claim(claim: &Claim, disposition: Disposition) -> Finish {
    Finish {
        claim: claim.clone(),
        took: TOOK,
        disposition,
    }
}

/// Completed with this body and no intents.
pub(super) fn completed(body: &str) -> Disposition {
    Disposition::Completed {
        outcome: Outcome::succeeded(body.to_owned()),
        intents: Vec::new(),
    }
}

/// To be tried again after a while.
pub(super) fn retry_after(after: Duration) -> Disposition {
    Disposition::Retry {
        after,
        cause: Cause::Retryable,
        error: ErrorText::new("the provider is away"),
    }
}

/// Failed for good.
pub(super) fn terminal() -> Disposition {
    let error = ErrorText::new("the account is closed");
    Disposition::Terminal { error }
}

/// Set aside by its handler.
pub(super) fn parked() -> Disposition {
    Disposition::Park {
        cause: Cause::Handler,
        error: ErrorText::new("a person must look"),
    }
}

/// The one element.
#[track_caller]
pub(super) fn only<T: std::fmt::Debug>(all: Vec<T>) -> T {
    let [one] = <[T; 1]>::try_from(all).expect("exactly one");
    one
}

/// A lease that no test outlives.
pub(super) fn lease() -> LeaseTerm {
    LeaseTerm::new(Duration::from_secs(3_600)).expect("a valid term")
}

/// A lease that tests wait out.
pub(super) fn short_lease() -> LeaseTerm {
    LeaseTerm::new(Duration::from_millis(200)).expect("a valid term")
}

/// How long every attempt took.
pub(super) const TOOK: Duration = Duration::from_millis(7);

/// A little longer than the short lease, the short retention and the short wait.
pub(super) const AWHILE: Duration = Duration::from_millis(300);

/// A wait for a retry or a gap that tests wait out.
pub(super) const SHORTLY: Duration = Duration::from_millis(200);

/// A wait that no test outlives.
pub(super) const LONG: Duration = Duration::from_secs(3_600);

/// A retention that no test outlives.
pub(super) fn retention() -> Retention {
    Retention::delete_after(Duration::from_secs(2 * 3_600)).expect("a valid retention")
}

/// A retention that tests wait out.
pub(super) fn short_retention() -> Retention {
    Retention::delete_after(Duration::from_millis(200)).expect("a valid retention")
}
