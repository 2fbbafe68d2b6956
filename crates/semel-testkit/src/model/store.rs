//! The store of the model: one record, decided about by the shipped protocol and nothing else.

use std::time::Duration;

use semel_core::protocol::{self, Standing, Step};
use semel_core::record::UnknownCause;
use semel_core::store::{
    Actor, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, ReleaseAnswer, RenewAnswer,
    Resolution, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Takeover,
};
use semel_core::{EventKind, Fence, Fingerprint, LeaseTerm, Outcome, Record, Timestamp};

use super::config::Bug;
use super::mirror::{Brought, Mirror, Mirrored, claim_of, retention};
use super::mistake::Verb;

/// The record, the clock and the sequence of fences, with what the properties must remember.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Store {
    bug: Bug,
    pub(super) now: Timestamp,
    pub(super) row: Option<Mirror>,
    /// The fences of all grants, oldest first; the last one is where the sequence stands.
    pub(super) grants: Vec<Fence>,
    /// The record as it was first settled.
    pub(super) first_settled: Option<Mirror>,
    /// Whether somebody without a live lease ever changed the record.
    pub(super) changed_by_stranger: bool,
    /// Whether a late outcome was ever thrown away.
    pub(super) dropped_outcome: bool,
}

impl Store {
    pub(super) fn new(bug: Bug) -> Self {
        Self {
            bug,
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

    pub(super) fn claim(&mut self, takeover: Takeover) -> ClaimAnswer {
        let next = self.next_fence();
        let request = ClaimRequest {
            identity: claim_of(next).identity,
            fingerprint: Fingerprint::none(),
            lease: lease_term(),
            takeover: match self.bug == Bug::TakeoverOfLiveLease {
                true => Takeover::Allowed,
                false => takeover,
            },
            about: None,
            nonce: None,
        };
        let seen = self.seen_by(Verb::Claim);
        let answer = self.apply(protocol::claim(seen.as_ref(), &request, next, self.now));
        if let ClaimAnswer::Granted(lease) = &answer {
            self.grants.push(lease.claim.fence);
        }
        answer
    }

    pub(super) fn renew(&mut self, fence: Fence) -> RenewAnswer {
        self.by_owner(Verb::Renew, fence, |current, shown, now| {
            protocol::renew(current, shown, lease_term(), now)
        })
    }

    pub(super) fn settle(&mut self, fence: Fence, brought: Brought) -> SettleAnswer {
        let (bug, mut kept) = (self.bug, true);
        let highest = self.grants.last().copied().unwrap_or(Fence::new(0));
        let answer = self.by_owner(Verb::Settle, fence, |current, shown, now| {
            let request = SettleRequest {
                claim: claim_of(shown),
                outcome: brought.outcome(),
                took: Duration::ZERO,
                retention: retention(),
            };
            let mut step = protocol::settle(current, &request, highest, now);
            step.events.retain(|_| bug != Bug::LateOutcomeDropped);
            kept = keeps(&step, &request.outcome);
            step
        });
        self.dropped_outcome |= !kept;
        answer
    }

    pub(super) fn release(&mut self, fence: Fence) -> ReleaseAnswer {
        self.by_owner(Verb::Release, fence, protocol::release)
    }

    pub(super) fn mark_unknown(&mut self, fence: Fence) -> MarkAnswer {
        self.by_owner(Verb::MarkUnknown, fence, |current, shown, now| {
            let request = MarkRequest {
                claim: claim_of(shown),
                cause: UnknownCause::RunUndecided,
                evidence: None,
            };
            protocol::mark_unknown(current, &request, now)
        })
    }

    /// Decides about an unknown claim: it happened and this came of it, or it did not happen.
    pub(super) fn resolve(&mut self, fence: Fence, happened: Option<Brought>) -> ResolveAnswer {
        let resolution = happened.map_or(Resolution::Release, |brought| Resolution::Settle {
            outcome: brought.outcome(),
            retention: retention(),
        });
        let request = ResolveRequest {
            claim: claim_of(self.shown_to(Verb::Resolve, fence)),
            by: Actor::new("reconciler").expect("a short name is an actor"),
            resolution,
            reason: None,
        };
        let seen = self.seen_by(Verb::Resolve);
        self.apply(protocol::resolve(seen.as_ref(), &request, self.now))
    }

    pub(super) fn sweep(&mut self) -> bool {
        let record = self.record();
        self.apply(protocol::sweep_lease(record.as_ref(), self.now))
    }

    /// Whether this claim holds a live lease.
    pub(super) fn is_live(&self, fence: Fence) -> bool {
        let record = self.record();
        let standing = Standing::of(record.as_ref(), self.now);
        matches!(standing, Standing::Running { .. }) && standing.is_of(fence)
    }

    /// Runs a verb by which only a live owner may change anything, and notices if another did.
    ///
    /// Writing down that a lease has ended changes nothing that a reader could see.
    fn by_owner<A>(
        &mut self,
        verb: Verb,
        fence: Fence,
        decide: impl FnOnce(Option<&Record>, Fence, Timestamp) -> Step<A>,
    ) -> A {
        let (is_owner, before) = (self.is_live(fence), self.visible());
        let shown = self.shown_to(verb, fence);
        let answer = self.apply(decide(self.seen_by(verb).as_ref(), shown, self.now));
        self.changed_by_stranger |= !is_owner && self.visible() != before;
        answer
    }

    fn apply<A>(&mut self, step: Step<A>) -> A {
        let changed = step.change.apply(self.record());
        self.row = changed.as_ref().map(Mirror::of);
        if self.first_settled.is_none() {
            self.first_settled = self.row.filter(is_settled);
        }
        step.answer
    }

    fn record(&self) -> Option<Record> {
        self.row.as_ref().map(Mirror::record)
    }

    fn visible(&self) -> Option<Record> {
        protocol::view(self.record(), self.now)
    }

    fn seen_by(&self, verb: Verb) -> Option<Record> {
        self.bug.seen(verb, self.record(), self.now)
    }

    fn shown_to(&self, verb: Verb, fence: Fence) -> Fence {
        self.bug.shown(verb, fence, self.row.map(|row| row.fence))
    }

    fn next_fence(&self) -> Fence {
        let (granted, stored) = (self.grants.last().copied(), self.row.map(|row| row.fence));
        let last = self.bug.last_fence(granted, stored);
        Fence::new(last.map_or(0, Fence::get) + 1)
    }
}

/// Two ticks, so that a renewal half-way extends the lease.
fn lease_term() -> LeaseTerm {
    LeaseTerm::new(Duration::from_millis(2)).expect("two milliseconds are a lease")
}

fn is_settled(row: &Mirror) -> bool {
    matches!(row.state, Mirrored::Settled { .. })
}

/// Whether an outcome is on record after a settle, or in the history as a late one.
fn keeps(step: &Step<SettleAnswer>, outcome: &Outcome) -> bool {
    let mut kinds = step.events.iter().map(|event| &event.kind);
    step.answer == SettleAnswer::Settled
        || kinds.any(|kind| matches!(kind, EventKind::LateOutcome(late) if late == outcome))
}
