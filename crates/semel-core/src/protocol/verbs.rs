//! The verbs. Each matches every standing, so a new state cannot be forgotten in one of them.

use std::sync::Arc;
use std::time::Duration;

use super::{Change, Standing, Step};
use crate::clock::Timestamp;
use crate::known::Evidence;
use crate::outcome::{Outcome, Settled};
use crate::policy::{LeaseTerm, Retention};
use crate::record::{Claim, Event, EventKind, Fence, Lease, Record, Resolved, State, UnknownCause};
use crate::store::{
    ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, ReleaseAnswer, RenewAnswer, Resolution,
    ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Takeover, audit_of,
};

impl<A> Step<A> {
    fn answer(answer: A) -> Self {
        Self {
            answer,
            change: Change::None,
            events: Vec::new(),
            audit: None,
        }
    }

    fn change(mut self, change: Change) -> Self {
        self.change = change;
        self
    }

    fn event(mut self, at: Timestamp, fence: Fence, kind: EventKind) -> Self {
        self.events.push(Event { at, fence, kind });
        self
    }

    /// Tells the audit that the lease had ended before this was decided.
    fn preceded_by_lease_end(mut self, at: Timestamp, fence: Fence) -> Self {
        let kind = EventKind::LEASE_ENDED;
        self.events.insert(0, Event { at, fence, kind });
        self
    }

    /// Writes down that a lease has ended, so that no step of the clock can revive it.
    fn lease_ended(self, now: Timestamp, fence: Fence, since: Timestamp) -> Self {
        let cause = UnknownCause::LeaseEnded;
        self.unknown(now, fence, since, cause, None)
    }

    fn unknown(
        self,
        now: Timestamp,
        fence: Fence,
        since: Timestamp,
        cause: UnknownCause,
        evidence: Option<Evidence>,
    ) -> Self {
        let change = Change::Unknown {
            since,
            cause,
            evidence: evidence.clone(),
        };
        let kind = EventKind::BecameUnknown { cause, evidence };
        self.change(change).event(now, fence, kind)
    }
}

/// Asks for the right to run. `next` is the fence that a grant takes.
pub fn claim(
    current: Option<&Record>,
    request: &ClaimRequest,
    next: Fence,
    now: Timestamp,
) -> Step<ClaimAnswer> {
    let standing = Standing::of(current, now);
    // The fingerprint comes before the state, on every path.
    if let Some(record) = standing.record()
        && record.fingerprint != request.fingerprint
    {
        let kind = EventKind::Mismatch(request.fingerprint);
        return Step::answer(ClaimAnswer::Mismatch).event(now, record.fence, kind);
    }
    match standing {
        Standing::Absent => grant(request, next, 1, now),
        // The same claim, asked for again because its answer was lost.
        Standing::Running {
            record,
            lease_until,
        } if request.nonce.is_some() && record.nonce == request.nonce => {
            Step::answer(ClaimAnswer::Granted(lease_of(record, lease_until)))
        }
        Standing::Running {
            record,
            lease_until,
        } => Step::answer(ClaimAnswer::Running {
            fence: record.fence,
            lease_left: lease_until.since(now),
        }),
        Standing::Settled { record, .. } => {
            Step::answer(ClaimAnswer::Settled(Arc::new(record.clone())))
        }
        Standing::Ended { record, since } => {
            let cause = UnknownCause::LeaseEnded;
            claim_unknown(record, since, cause, request, next, now)
                .map(|step| step.preceded_by_lease_end(now, record.fence))
                .unwrap_or_else(|answer| Step::answer(answer).lease_ended(now, record.fence, since))
        }
        Standing::Unknown {
            record,
            since,
            cause,
        } => claim_unknown(record, since, cause, request, next, now).unwrap_or_else(Step::answer),
    }
}

/// A takeover where it is allowed; otherwise what the caller is told.
fn claim_unknown(
    record: &Record,
    since: Timestamp,
    cause: UnknownCause,
    request: &ClaimRequest,
    next: Fence,
    now: Timestamp,
) -> Result<Step<ClaimAnswer>, ClaimAnswer> {
    let allowed = match request.takeover {
        Takeover::Never => false,
        Takeover::Allowed => true,
        Takeover::Of(fence) => fence == record.fence,
    };
    if !allowed {
        let fence = record.fence;
        return Err(ClaimAnswer::Unknown {
            fence,
            since,
            cause,
        });
    }
    let from = record.fence;
    let attempt = record.attempt.saturating_add(1);
    Ok(grant(request, next, attempt, now).event(now, next, EventKind::TookOver { from }))
}

/// The lease of a running record, as its owner was granted it.
pub fn lease_of(record: &Record, until: Timestamp) -> Lease {
    Lease {
        claim: Claim {
            identity: record.identity.clone(),
            fence: record.fence,
        },
        attempt: record.attempt,
        until,
    }
}

fn grant(request: &ClaimRequest, fence: Fence, attempt: u32, now: Timestamp) -> Step<ClaimAnswer> {
    let lease_until = now.after(request.lease.get());
    let record = Record {
        identity: request.identity.clone(),
        fingerprint: request.fingerprint,
        fence,
        attempt,
        claimed_at: now,
        about: request.about.clone(),
        nonce: request.nonce,
        state: State::Running { lease_until },
    };
    Step::answer(ClaimAnswer::Granted(lease_of(&record, lease_until))).change(Change::Grant(record))
}

/// Extends a lease that is still alive.
pub fn renew(
    current: Option<&Record>,
    fence: Fence,
    lease: LeaseTerm,
    now: Timestamp,
) -> Step<RenewAnswer> {
    match Standing::of(current, now) {
        Standing::Running {
            record,
            lease_until,
        } if record.fence == fence => {
            // A shorter term than what is left must not take time away.
            let lease_until = lease_until.max(now.after(lease.get()));
            Step::answer(RenewAnswer::Renewed(lease_until)).change(Change::Extend { lease_until })
        }
        Standing::Ended { record, since } => {
            Step::answer(RenewAnswer::Lost).lease_ended(now, record.fence, since)
        }
        Standing::Absent
        | Standing::Running { .. }
        | Standing::Unknown { .. }
        | Standing::Settled { .. } => Step::answer(RenewAnswer::Lost),
    }
}

/// Records an outcome, or keeps it as a late one. `highest` is a fence that no granted claim of the
/// identity exceeds; the identity's record says more if there is one.
pub fn settle(
    current: Option<&Record>,
    request: &SettleRequest,
    highest: Fence,
    now: Timestamp,
) -> Step<SettleAnswer> {
    let fence = request.claim.fence;
    let granted_last = current.map_or(highest, |record| record.fence);
    if fence > granted_last {
        // Whoever makes up a fence must not fill the history.
        return Step::answer(SettleAnswer::NeverGranted);
    }
    let standing = Standing::of(current, now);
    match standing {
        Standing::Running { record, .. } if record.fence == fence => {
            let settled = on_record(&request.outcome, request.took, request.retention, now);
            Step::answer(SettleAnswer::Settled).change(Change::Settle(settled))
        }
        // The same settle, sent again because its answer was lost.
        Standing::Settled { record, settled }
            if record.fence == fence && settled.is_of(&request.outcome) =>
        {
            Step::answer(SettleAnswer::Settled)
        }
        Standing::Ended { record, since } => late(
            request,
            now,
            Step::answer(SettleAnswer::Late).lease_ended(now, record.fence, since),
        ),
        // What was erased does not come back by another way.
        Standing::Settled { settled, .. } if settled.erased => {
            let kind = EventKind::LateOutcome(request.outcome.clone()).without_contents();
            Step::answer(SettleAnswer::Late).event(now, fence, kind)
        }
        Standing::Absent
        | Standing::Running { .. }
        | Standing::Unknown { .. }
        | Standing::Settled { .. } => late(request, now, Step::answer(SettleAnswer::Late)),
    }
}

fn late(request: &SettleRequest, now: Timestamp, step: Step<SettleAnswer>) -> Step<SettleAnswer> {
    let kind = EventKind::LateOutcome(request.outcome.clone());
    step.event(now, request.claim.fence, kind)
}

fn on_record(outcome: &Outcome, took: Duration, retention: Retention, now: Timestamp) -> Settled {
    Settled {
        outcome: outcome.clone(),
        at: now,
        took,
        expires_at: now.after(retention.keep()),
        archive: retention.archive(),
        resolved: false,
        erased: false,
    }
}

/// Gives a claim back: nothing happened.
pub fn release(current: Option<&Record>, fence: Fence, now: Timestamp) -> Step<ReleaseAnswer> {
    match Standing::of(current, now) {
        Standing::Running { record, .. } if record.fence == fence => {
            Step::answer(ReleaseAnswer::Released)
                .change(Change::Remove)
                .event(now, fence, EventKind::Released)
        }
        Standing::Ended { record, since } => {
            Step::answer(ReleaseAnswer::Lost).lease_ended(now, record.fence, since)
        }
        // The same release, sent again because its answer was lost: it is absent, as was asked.
        Standing::Absent => Step::answer(ReleaseAnswer::Released),
        Standing::Running { .. } | Standing::Unknown { .. } | Standing::Settled { .. } => {
            Step::answer(ReleaseAnswer::Lost)
        }
    }
}

/// Says of a live claim that its outcome cannot be known.
pub fn mark_unknown(
    current: Option<&Record>,
    request: &MarkRequest,
    now: Timestamp,
) -> Step<MarkAnswer> {
    let fence = request.claim.fence;
    let standing = Standing::of(current, now);
    if !standing.is_of(fence) {
        return Step::answer(MarkAnswer::Lost);
    }
    match standing {
        Standing::Running { .. } => {
            let evidence = request.evidence.clone();
            Step::answer(MarkAnswer::Marked).unknown(now, fence, now, request.cause, evidence)
        }
        Standing::Ended { since, .. } => {
            let (cause, evidence) = (UnknownCause::LeaseEnded, request.evidence.clone());
            Step::answer(MarkAnswer::Marked).unknown(now, fence, since, cause, evidence)
        }
        Standing::Unknown { .. } => Step::answer(MarkAnswer::Marked),
        Standing::Absent | Standing::Settled { .. } => Step::answer(MarkAnswer::Lost),
    }
}

/// Decides an unknown outcome, corrects such a decision, erases a settled record or its contents.
pub fn resolve(
    current: Option<&Record>,
    request: &ResolveRequest,
    now: Timestamp,
) -> Step<ResolveAnswer> {
    if let Resolution::EraseContents = request.resolution {
        return erase_contents(current, request, now);
    }
    let fence = request.claim.fence;
    let standing = Standing::of(current, now);
    if !standing.is_of(fence) {
        return Step::answer(ResolveAnswer::Refused);
    }
    let by = request.by.as_str().to_owned();
    let reason = request.reason.as_ref();
    let reason = reason.map(|reason| reason.as_str().to_owned());
    let done = |change, kind| {
        let mut step = Step::answer(ResolveAnswer::Resolved)
            .change(change)
            .event(now, fence, kind);
        step.audit = audit_of(request, now);
        match standing {
            Standing::Ended { .. } => step.preceded_by_lease_end(now, fence),
            _ => step,
        }
    };
    match (standing, &request.resolution) {
        (
            Standing::Unknown { .. } | Standing::Ended { .. },
            Resolution::Settle { outcome, retention },
        ) => {
            let settled = Settled {
                resolved: true,
                ..on_record(outcome, Duration::ZERO, *retention, now)
            };
            let how = Resolved::Settled;
            let kind = EventKind::Resolved { by, how, reason };
            done(Change::Settle(settled), kind)
        }
        (Standing::Unknown { .. } | Standing::Ended { .. }, Resolution::Release) => {
            let how = Resolved::Released;
            done(Change::Remove, EventKind::Resolved { by, how, reason })
        }
        (Standing::Settled { settled, .. }, Resolution::Correct { outcome })
            if settled.resolved =>
        {
            let corrected = Settled {
                outcome: outcome.clone(),
                erased: false,
                ..settled.clone()
            };
            let how = Resolved::Corrected;
            let kind = EventKind::Resolved { by, how, reason };
            done(Change::Settle(corrected), kind)
        }
        (Standing::Settled { .. }, Resolution::Erase) => {
            done(Change::Remove, EventKind::Erased { by, reason })
        }
        (
            Standing::Unknown { .. } | Standing::Ended { .. },
            Resolution::Erase | Resolution::Correct { .. } | Resolution::EraseContents,
        )
        | (
            Standing::Settled { .. },
            Resolution::Settle { .. }
            | Resolution::Release
            | Resolution::Correct { .. }
            | Resolution::EraseContents,
        )
        | (Standing::Absent | Standing::Running { .. }, _) => Step::answer(ResolveAnswer::Refused),
    }
}

/// Erases contents of what is stored, whatever the clock says about it: bytes that nobody is shown any more are held
/// all the same until the sweep comes by, and may go to the archive then. Erased again, it is erased.
fn erase_contents(
    stored: Option<&Record>,
    request: &ResolveRequest,
    now: Timestamp,
) -> Step<ResolveAnswer> {
    let fence = request.claim.fence;
    let of_the_claim = stored.filter(|record| record.fence == fence);
    let Some(State::Settled(settled)) = of_the_claim.map(|record| &record.state) else {
        return Step::answer(ResolveAnswer::Refused);
    };
    let kind = EventKind::ContentsErased {
        by: request.by.as_str().to_owned(),
        reason: request
            .reason
            .as_ref()
            .map(|reason| reason.as_str().to_owned()),
    };
    let mut step = Step::answer(ResolveAnswer::Resolved)
        .change(Change::EraseContents(settled.without_contents()))
        .event(now, fence, kind);
    step.audit = audit_of(request, now);
    step
}

/// Writes down that a lease has ended, if it has; the answer says whether it had.
pub fn sweep_lease(current: Option<&Record>, now: Timestamp) -> Step<bool> {
    match Standing::of(current, now) {
        Standing::Ended { record, since } => {
            Step::answer(true).lease_ended(now, record.fence, since)
        }
        Standing::Absent
        | Standing::Running { .. }
        | Standing::Unknown { .. }
        | Standing::Settled { .. } => Step::answer(false),
    }
}
