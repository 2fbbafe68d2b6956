//! The store of the model: one record, decided about by the shipped protocol and nothing else.
//!
//! The broken variants of [`Bug`] live here, each as a wrong argument to the shipped verb.

use std::time::Duration;

use semel_core::protocol::{self, Standing, Step};
use semel_core::record::UnknownCause;
use semel_core::store::{
    Actor, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, ReleaseAnswer, RenewAnswer,
    Resolution, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Takeover,
};
use semel_core::{EventKind, Fence, Fingerprint, LeaseTerm, Record, State, Timestamp};

use super::config::Bug;
use super::mirror::{Brought, Mirror, Mirrored, claim_of, retention};

/// The record, the clock and the sequence of fences, with what the properties must remember.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Store {
    pub(super) now: Timestamp,
    pub(super) row: Option<Mirror>,
    /// The fences of all grants, oldest first; the last one is where the sequence stands.
    pub(super) grants: Vec<Fence>,
    /// The record as it was first settled.
    pub(super) first_settled: Option<Mirror>,
    /// Whether somebody without a live lease ever changed the record.
    pub(super) changed_by_stranger: bool,
    /// Whether a late outcome was ever dropped.
    pub(super) dropped_outcome: bool,
}

impl Store {
    pub(super) fn new() -> Self {
        Self {
            now: Timestamp::from_millis(0),
            row: None,
            grants: Vec::new(),
            first_settled: None,
            changed_by_stranger: false,
            dropped_outcome: false,
        }
    }

    pub(super) fn tick(&mut self) {
        self.now = self.now.after(Duration::from_millis(1));
    }

    pub(super) fn claim(&mut self, takeover: Takeover, bug: Bug) -> ClaimAnswer {
        let (record, takeover) = match bug == Bug::TakeoverOfLiveLease {
            true => (self.record_with_lease(self.now), Takeover::Allowed),
            false => (self.record(), takeover),
        };
        let next = self.next_fence(bug);
        let request = ClaimRequest {
            identity: claim_of(next).identity,
            fingerprint: Fingerprint::none(),
            lease: lease_term(),
            takeover,
        };
        let answer = self.apply(protocol::claim(record.as_ref(), &request, next, self.now));
        if let ClaimAnswer::Granted(lease) = &answer {
            self.grants.push(lease.claim.fence);
        }
        answer
    }

    pub(super) fn renew(&mut self, fence: Fence, bug: Bug) -> RenewAnswer {
        let revived = (bug == Bug::RenewOfLostLease)
            .then(|| self.record_with_lease(self.now.after(lease_term().get())));
        self.by_owner(fence, |current, now| {
            let current = revived.as_ref().map_or(current, Option::as_ref);
            protocol::renew(current, fence, lease_term(), now)
        })
    }

    pub(super) fn settle(&mut self, fence: Fence, brought: Brought, bug: Bug) -> SettleAnswer {
        let shown = self.shown(fence, bug == Bug::SettleWithoutFence);
        let request = SettleRequest {
            claim: claim_of(shown),
            outcome: brought.outcome(),
            took: Duration::ZERO,
            retention: retention(),
        };
        let mut kept = true;
        let answer = self.by_owner(fence, |current, now| {
            let step = protocol::settle(current, &request, now);
            kept = step.answer == SettleAnswer::Settled || keeps_late_outcome(&step, &request);
            step
        });
        self.dropped_outcome |= !kept;
        answer
    }

    pub(super) fn release(&mut self, fence: Fence, bug: Bug) -> ReleaseAnswer {
        let shown = self.shown(fence, bug == Bug::ReleaseWithoutFence);
        self.by_owner(fence, |current, now| protocol::release(current, shown, now))
    }

    pub(super) fn mark_unknown(&mut self, fence: Fence) -> MarkAnswer {
        let request = MarkRequest {
            claim: claim_of(fence),
            cause: UnknownCause::RunUndecided,
        };
        self.by_owner(fence, |current, now| {
            protocol::mark_unknown(current, &request, now)
        })
    }

    /// Decides about an unknown claim: it happened and this came of it, or it did not happen.
    pub(super) fn resolve(
        &mut self,
        fence: Fence,
        happened: Option<Brought>,
        bug: Bug,
    ) -> ResolveAnswer {
        let resolution = happened.map_or(Resolution::Release, |brought| Resolution::Settle {
            outcome: brought.outcome(),
            retention: retention(),
        });
        let request = ResolveRequest {
            claim: claim_of(self.shown(fence, bug == Bug::ResolveWithoutFence)),
            by: Actor::new("reconciler").expect("a short name is an actor"),
            resolution,
        };
        let record = self.record();
        self.apply(protocol::resolve(record.as_ref(), &request, self.now))
    }

    pub(super) fn sweep(&mut self) -> bool {
        let record = self.record();
        self.apply(protocol::sweep_lease(record.as_ref(), self.now))
    }

    /// Whether this claim holds a live lease.
    pub(super) fn is_live(&self, fence: Fence) -> bool {
        holds_lease(self.record().as_ref(), fence, self.now)
    }

    fn record(&self) -> Option<Record> {
        self.row.as_ref().map(Mirror::record)
    }

    fn apply<A>(&mut self, step: Step<A>) -> A {
        let changed = step.change.apply(self.record());
        self.row = changed.as_ref().map(Mirror::of);
        if self.first_settled.is_none() {
            self.first_settled = self.row.filter(is_settled);
        }
        step.answer
    }

    /// Runs a verb that only a live owner may change anything by, and notices if another did.
    ///
    /// Writing down that a lease has ended changes nothing that a reader could see.
    fn by_owner<A>(
        &mut self,
        fence: Fence,
        verb: impl FnOnce(Option<&Record>, Timestamp) -> Step<A>,
    ) -> A {
        let before = self.record();
        let is_owner = holds_lease(before.as_ref(), fence, self.now);
        let answer = self.apply(verb(before.as_ref(), self.now));
        let seen = |record| protocol::view(record, self.now);
        self.changed_by_stranger |= !is_owner && seen(before) != seen(self.record());
        answer
    }

    /// The store-wide sequence, or the mistake of counting in the record.
    fn next_fence(&self, bug: Bug) -> Fence {
        let last = match bug == Bug::FenceResetByRelease {
            true => self.row.map(|row| row.fence),
            false => self.grants.last().copied(),
        };
        Fence::new(last.map_or(0, Fence::get) + 1)
    }

    /// The fence that a verb compares: the caller's, or by mistake always the right one.
    fn shown(&self, fence: Fence, uncompared: bool) -> Fence {
        let current = self.row.map(|row| row.fence);
        current.filter(|_| uncompared).unwrap_or(fence)
    }

    /// The record, unless it is settled, as if its lease lasted until then.
    fn record_with_lease(&self, lease_until: Timestamp) -> Option<Record> {
        self.record().map(|record| match record.state {
            State::Running { .. } | State::Unknown { .. } => Record {
                state: State::Running { lease_until },
                ..record
            },
            State::Settled(_) => record,
        })
    }
}

/// Two ticks, so that a renewal half-way extends the lease.
fn lease_term() -> LeaseTerm {
    LeaseTerm::new(Duration::from_millis(2)).expect("two milliseconds are a lease")
}

fn holds_lease(record: Option<&Record>, fence: Fence, now: Timestamp) -> bool {
    matches!(Standing::of(record, now), Standing::Running { record, .. } if record.fence == fence)
}

fn is_settled(row: &Mirror) -> bool {
    matches!(row.state, Mirrored::Settled { .. })
}

fn keeps_late_outcome(step: &Step<SettleAnswer>, request: &SettleRequest) -> bool {
    let late =
        |kind: &EventKind| matches!(kind, EventKind::LateOutcome(o) if *o == request.outcome);
    step.events.iter().any(|event| late(&event.kind))
}
