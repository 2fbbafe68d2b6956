//! What the claims API answers. `state` says where the operation stands: `absent`, `running`,
//! `unknown` or `settled`.

use std::time::Duration;

use semel_core::record::{Claim, Lease, UnknownCause};
use semel_core::{Fence, Identity, LeaseTerm, State, Timestamp, duration};
use semel_http::problem::{Problem, Type};
use serde::Serialize;
use utoipa::ToSchema;

use crate::refused::Refused;
use crate::view::{self, Payload, millis};

/// Run it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Granted {
    /// `running`: by you.
    state: &'static str,
    /// The number of your claim; renew, settle and release must show it.
    fence: u64,
    /// 1 for the first run, one more for each takeover.
    attempt: u32,
    /// When the lease ends unless it is renewed, by the store's clock.
    lease_until: String,
    /// How long that was when it was granted; renew at a third of it.
    lease_ms: u64,
    /// Whether this is a claim that was granted before to the same nonce: an earlier answer was lost on its way.
    repeated: bool,
}

impl Granted {
    pub(super) fn of(lease: &Lease, term: LeaseTerm) -> Self {
        Self {
            repeated: false,
            state: "running",
            fence: lease.claim.fence.get(),
            attempt: lease.attempt,
            lease_until: lease.until.to_string(),
            lease_ms: millis(term.get()),
        }
    }
}

impl Granted {
    /// The same of a claim that was granted before, of whose lease so much is left.
    pub(super) fn repeated(self, left: Duration) -> Self {
        Self {
            lease_ms: self.lease_ms.min(millis(left)),
            repeated: true,
            ..self
        }
    }
}

/// The lease is longer now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Renewed {
    /// `running`: by you.
    state: &'static str,
    /// When the lease ends unless it is renewed again.
    lease_until: String,
}

impl Renewed {
    pub(super) fn until(until: Timestamp) -> Self {
        Self {
            state: "running",
            lease_until: until.to_string(),
        }
    }
}

/// Where the operation stands now.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Stands {
    /// `settled`, `absent` or `unknown`.
    pub(super) state: &'static str,
}

/// What is on record.
#[derive(Serialize, ToSchema)]
pub(crate) struct OnRecord {
    /// `running`, `unknown` or `settled`.
    state: &'static str,
    /// The record.
    record: view::Record,
    /// What the run brought, of a settled record.
    outcome: Option<view::Outcome>,
}

impl OnRecord {
    pub(super) fn of(record: &semel_core::Record, now: Timestamp) -> Self {
        Self {
            state: match record.state {
                State::Running { .. } => "running",
                State::Unknown { .. } => "unknown",
                State::Settled(_) => "settled",
            },
            record: view::Record::of(record, now),
            outcome: view::Outcome::of_record(record, Payload::Base64),
        }
    }
}

pub(super) fn in_progress(fence: Fence, lease_left: Duration) -> Refused {
    let left = duration::show(lease_left);
    let detail = format!("another claim runs it; its lease ends in {left} unless it is renewed");
    Problem::new(Type::InProgress, detail)
        .with("fence", fence.get())
        .with("lease_left_ms", millis(lease_left))
        .into()
}

pub(super) fn outcome_unknown(fence: Fence, since: Timestamp, cause: UnknownCause) -> Refused {
    let detail = "an earlier claim may have taken effect; resolve the record, or claim with \
                  takeover where running it again is safe";
    Problem::new(Type::OutcomeUnknown, detail)
        .with("fence", fence.get())
        .with("since", since.to_string())
        .with("cause", cause.name())
        .into()
}

pub(super) fn key_reused() -> Refused {
    let detail = "the key was claimed before with another request; nothing is to be run";
    Problem::new(Type::KeyReused, detail).into()
}

pub(super) fn lease_lost(claim: &Claim) -> Refused {
    let detail = "the claim is no longer live, and nothing was changed; stop the run if you can, \
                  and look the record up to see what stands";
    Problem::new(Type::LeaseLost, detail)
        .with("fence", claim.fence.get())
        .into()
}

pub(super) fn late_outcome(claim: &Claim) -> Refused {
    let detail = "the claim is no longer live; the outcome is kept in the history and never \
                  served. Do not send it again; look the record up to see what stands";
    Problem::new(Type::LateOutcome, detail)
        .with("fence", claim.fence.get())
        .into()
}

pub(super) fn never_granted(claim: &Claim) -> Refused {
    let detail = "the store has never granted this claim: check the fence and the identity; nothing was written";
    Problem::new(Type::NotFound, detail)
        .with("fence", claim.fence.get())
        .into()
}

pub(crate) fn not_found(identity: &Identity) -> Refused {
    let detail = format!("there is no record of {identity}");
    Problem::new(Type::NotFound, detail).into()
}
