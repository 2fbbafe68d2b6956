//! Every change of state, as a structured event of target `semel::state`.
//!
//! The unusual is told at `info` or `warn`; claims and settles, of which there are thousands each
//! second, at `debug`, where a level that is off costs one comparison. Fields are names and
//! numbers: no body, no header value and nothing else of what was asked or answered.

pub(crate) mod inbox;

use semel_core::clock::Doubt;
use semel_core::record::{Claim, Lease, UnknownCause};
use semel_core::store::{Resolution, Swept};
use semel_core::{Error, Identity, Verdict};

use crate::alerts::Rule;
use crate::alerts::judge::Change;

/// One event about one claim.
macro_rules! state {
    ($level:ident, $event:expr, $claim:expr $(, $($field:tt)+)?) => {
        tracing::$level!(
            target: "semel::state",
            event = $event,
            tenant = $claim.identity.tenant().as_str(),
            scope = %$claim.identity.scope(),
            key = $claim.identity.key().as_str(),
            fence = $claim.fence.get(),
            $($($field)+)?
        )
    };
}

pub(crate) fn claimed(lease: &Lease) {
    state!(debug, "claimed", lease.claim, attempt = lease.attempt);
}

pub(crate) fn took_over(lease: &Lease) {
    state!(info, "took-over", lease.claim, attempt = lease.attempt);
}

pub(crate) fn mismatch(identity: &Identity) {
    tracing::warn!(
        target: "semel::state",
        event = "mismatch",
        tenant = identity.tenant().as_str(),
        scope = %identity.scope(),
        key = identity.key().as_str(),
    );
}

pub(crate) fn settled(claim: &Claim, verdict: Verdict) {
    state!(debug, "settled", claim, verdict = verdict.name());
}

pub(crate) fn late_outcome(claim: &Claim, verdict: Verdict) {
    state!(warn, "late-outcome", claim, verdict = verdict.name());
}

/// An outcome came under a fence that the store has not drawn: made up, or lost in a failover.
pub(crate) fn never_granted(claim: &Claim) {
    state!(warn, "never-granted", claim);
}

pub(crate) fn released(claim: &Claim) {
    state!(info, "released", claim);
}

/// An owner came back after its lease had ended; `verb` is what it wanted.
pub(crate) fn lease_lost(claim: &Claim, verb: &'static str) {
    state!(info, "lease-lost", claim, verb);
}

pub(crate) fn became_unknown(claim: &Claim, cause: UnknownCause) {
    state!(warn, "became-unknown", claim, cause = cause.name());
}

pub(crate) fn lease_ended(claim: &Claim) {
    became_unknown(claim, UnknownCause::LeaseEnded);
}

pub(crate) fn resolved(claim: &Claim, by: &str, how: How) {
    match how {
        How::Settle => state!(info, "resolved", claim, by, how = "settled"),
        How::Release => state!(info, "resolved", claim, by, how = "released"),
        How::Erase => state!(info, "erased", claim, by),
        How::Correct => state!(info, "resolved", claim, by, how = "corrected"),
        How::EraseContents => state!(info, "contents-erased", claim, by),
    }
}

/// A decision without the outcome that it may carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum How {
    Settle,
    Release,
    Erase,
    Correct,
    EraseContents,
}

impl How {
    pub(crate) const fn of(resolution: &Resolution) -> Self {
        match resolution {
            Resolution::Settle { .. } => Self::Settle,
            Resolution::Release => Self::Release,
            Resolution::Erase => Self::Erase,
            Resolution::Correct { .. } => Self::Correct,
            Resolution::EraseContents => Self::EraseContents,
        }
    }
}

/// A sweep found leases that had ended. A store that is watched names each of them besides.
pub(crate) fn swept(swept: &Swept) {
    if swept.leases_ended > 0 {
        let count = swept.leases_ended;
        tracing::warn!(target: "semel::state", event = "leases-ended", count);
    }
}

pub(crate) fn sweep_failed(part: &'static str, error: &Error) {
    tracing::warn!(target: "semel::state", event = "sweep-failed", part, error = %error);
}

/// The clock has jumped ahead of the store's time and nothing explains it, or that is over.
pub(crate) fn clock_doubted(doubt: Option<Doubt>) {
    match doubt {
        Some(doubt) => tracing::warn!(
            target: "semel::store",
            event = "clock-jumped",
            by_s = doubt.by.as_secs(),
            doubted_until = %doubt.until(),
            "the clock jumped ahead of the store's newest time; was the machine off, or is the clock wrong? \
             retention is prolonged by the jump until it is no longer doubted",
        ),
        None => tracing::info!(
            target: "semel::store",
            event = "clock-believed",
            "the clock is no longer doubted",
        ),
    }
}

/// An alert that the admin side judges began or ended.
pub(crate) fn alert(rule: &Rule, change: &Change) {
    let (alert, value) = (rule.name, rule.unit.show(change.alert.value));
    let about = change.alert.subject.as_ref().map(tracing::field::display);
    match change.alert.firing {
        true => {
            tracing::warn!(target: "semel::state", event = "alert-began", alert, about, value, "{}", rule.summary);
        }
        false => tracing::info!(target: "semel::state", event = "alert-ended", alert, about),
    }
}
