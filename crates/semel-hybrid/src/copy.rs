//! Copies of outcomes in the fast store, and what is done to it so that it agrees with the durable one.
//!
//! A copy spares a duplicate the two writes of claiming and letting go again, and answers while the
//! durable store is away. It is never the truth: whenever the durable store answers, its word counts.
//! What is done here may fail without harm, because the next claim finds the same and does it again.

use std::time::Duration;

use semel_core::outcome::Settled;
use semel_core::record::{Claim, Record};
use semel_core::store::{Actor, MarkRequest, Resolution, ResolveRequest, SettleRequest};
use semel_core::{Retention, State, Timestamp};

use crate::Hybrid;

/// The longest that a copy lasts.
const COPY_MAX: Duration = Duration::from_secs(10 * 60);
/// The shortest retention that there is: the copy makes room at once.
const COPY_MIN: Duration = Duration::from_millis(1);
/// Who decides, in the fast store's history, when the hybrid makes the two stores agree.
const HYBRID: &str = "semel-hybrid";

/// How long a copy lasts of an outcome that has `left` until its retention ends.
///
/// Half of it: neither the way to the fast store nor a clock that differs by less than the
/// other half lets a copy outlive the record.
pub(crate) fn copy_retention(left: Duration) -> Retention {
    let keep = (left / 2).clamp(COPY_MIN, COPY_MAX);
    Retention::delete_after(keep).expect("ten minutes and less is a valid retention")
}

/// A copy of a durable record under a claim of the fast store, which is alive at `now`.
pub(crate) fn copy_of(claim: Claim, record: &Record, now: Option<Timestamp>) -> SettleRequest {
    let settled = settled_of(record);
    let left = now.map_or(Duration::ZERO, |now| settled.expires_at.since(now));
    SettleRequest {
        claim,
        outcome: settled.outcome.clone(),
        took: settled.took,
        retention: copy_retention(left),
    }
}

/// Ends an unknown claim of the fast store whose operation is settled in the durable one.
pub(crate) fn end_unknown(claim: Claim, record: &Record, same_request: bool) -> ResolveRequest {
    let resolution = match same_request {
        true => Resolution::Settle {
            outcome: settled_of(record).outcome.clone(),
            retention: copy_retention(Duration::ZERO),
        },
        // It was refused for its fingerprint and never ran.
        false => Resolution::Release,
    };
    decided(claim, resolution)
}

/// Removes a copy.
pub(crate) fn drop_copy(claim: Claim) -> ResolveRequest {
    decided(claim, Resolution::Erase)
}

/// Erases the contents of a copy and of its history.
pub(crate) fn erase_copy(claim: Claim) -> ResolveRequest {
    decided(claim, Resolution::EraseContents)
}

fn decided(claim: Claim, resolution: Resolution) -> ResolveRequest {
    ResolveRequest {
        claim,
        by: Actor::component(HYBRID),
        resolution,
        reason: None,
    }
}

/// Whether an event of the fast store tells only of a copy that was removed or erased.
pub(crate) fn is_about_a_copy(event: &semel_core::Event) -> bool {
    use semel_core::EventKind::{ContentsErased, Erased};
    matches!(&event.kind, Erased { by, .. } | ContentsErased { by, .. } if by == HYBRID)
}

pub(crate) fn claim_of(record: &Record) -> Claim {
    Claim {
        identity: record.identity.clone(),
        fence: record.fence,
    }
}

pub(crate) fn is_settled(record: &Record) -> bool {
    matches!(record.state, State::Settled(_))
}

fn settled_of(record: &Record) -> &Settled {
    match &record.state {
        State::Settled(settled) => settled,
        State::Running { .. } | State::Unknown { .. } => {
            unreachable!("what the durable store answers as settled is settled")
        }
    }
}

/// What to do to the fast store after the durable one has spoken.
#[derive(Debug, Default)]
pub(crate) struct Repair {
    /// Live claims that end as copies.
    pub(crate) copies: Vec<SettleRequest>,
    /// Claims that end because nothing is to run under them.
    pub(crate) releases: Vec<Claim>,
    /// Live claims that nobody is to run, and that took over from others that may have run.
    pub(crate) marks: Vec<MarkRequest>,
    /// Unknown claims and copies that end.
    pub(crate) decisions: Vec<ResolveRequest>,
}

impl Hybrid {
    /// Does it as far as the fast store is there to do it.
    pub(crate) async fn repair(&self, repair: Repair) {
        let Repair {
            copies,
            releases,
            marks,
            decisions,
        } = repair;
        if !copies.is_empty() {
            let _ = self.fast.settle(copies.into()).await;
        }
        if !releases.is_empty() {
            let _ = self.fast.release(releases.into()).await;
        }
        if !marks.is_empty() {
            let _ = self.fast.mark_unknown(marks.into()).await;
        }
        if !decisions.is_empty() {
            let _ = self.fast.resolve(decisions.into()).await;
        }
    }
}
