//! What an answer means: which series it counts in, and whether something changed.

use semel_core::record::{Claim, UnknownCause};
use semel_core::store::{
    Actor, ClaimAnswer, MarkAnswer, ReleaseAnswer, RenewAnswer, ResolveAnswer, SettleAnswer,
};
use semel_core::{Identity, Verdict};

use crate::log;
use crate::metrics::{Met, Metrics};

pub(super) fn claim(metrics: &Metrics, identity: Identity, answer: &ClaimAnswer) {
    metrics.verbs.met(match answer {
        ClaimAnswer::Granted(lease) if lease.attempt > 1 => {
            log::took_over(lease);
            Met::TookOver
        }
        ClaimAnswer::Granted(lease) => {
            log::claimed(lease);
            Met::Granted
        }
        ClaimAnswer::Running { .. } => Met::Running,
        ClaimAnswer::Settled(_) => Met::Replayed,
        ClaimAnswer::Unknown { .. } => Met::StillUnknown,
        ClaimAnswer::Mismatch => {
            log::mismatch(&identity);
            Met::Mismatch
        }
    });
}

pub(super) fn renew(metrics: &Metrics, claim: Claim, answer: &RenewAnswer) {
    metrics.verbs.met(match answer {
        RenewAnswer::Renewed(_) => Met::Renewed,
        RenewAnswer::Lost => {
            log::lease_lost(&claim, "renew");
            Met::RenewLost
        }
    });
}

pub(super) fn settle(metrics: &Metrics, (claim, verdict): (Claim, Verdict), answer: &SettleAnswer) {
    metrics.verbs.met(match (answer, verdict) {
        (SettleAnswer::Late, _) => {
            log::late_outcome(&claim, verdict);
            Met::Late
        }
        (SettleAnswer::NeverGranted, _) => {
            log::never_granted(&claim);
            Met::NeverGranted
        }
        (SettleAnswer::Settled, verdict) => {
            log::settled(&claim, verdict);
            match verdict {
                Verdict::Succeeded => Met::Succeeded,
                Verdict::Failed => Met::Failed,
            }
        }
    });
}

pub(super) fn release(metrics: &Metrics, claim: Claim, answer: &ReleaseAnswer) {
    metrics.verbs.met(match answer {
        ReleaseAnswer::Released => {
            log::released(&claim);
            Met::Released
        }
        ReleaseAnswer::Lost => {
            log::lease_lost(&claim, "release");
            Met::ReleaseLost
        }
    });
}

pub(super) fn mark_unknown(
    metrics: &Metrics,
    (claim, cause): (Claim, UnknownCause),
    answer: &MarkAnswer,
) {
    metrics.verbs.met(match answer {
        MarkAnswer::Marked => {
            metrics.became_unknown(cause);
            log::became_unknown(&claim, cause);
            Met::Marked
        }
        MarkAnswer::Lost => {
            log::lease_lost(&claim, "mark-unknown");
            Met::MarkLost
        }
    });
}

pub(super) fn resolve(
    metrics: &Metrics,
    (claim, by, how): (Claim, Actor, log::How),
    answer: &ResolveAnswer,
) {
    metrics.verbs.met(match (answer, how) {
        (ResolveAnswer::Refused, _) => Met::Refused,
        (ResolveAnswer::Resolved, how) => {
            log::resolved(&claim, by.as_str(), how);
            match how {
                log::How::Settle | log::How::Release | log::How::Correct => Met::Resolved,
                log::How::Erase => Met::Erased,
                log::How::EraseContents => Met::ContentsErased,
            }
        }
    });
}
