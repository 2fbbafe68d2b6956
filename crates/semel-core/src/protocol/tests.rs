//! Properties of the transitions: whatever is done in whatever order, the rules hold.

use std::time::Duration;

use proptest::prelude::*;

use super::*;
use crate::policy::{LeaseTerm, Retention};
use crate::record::{Claim, EventKind, Fence, State, UnknownCause};
use crate::store::{
    Actor, ClaimAnswer, ClaimRequest, MarkRequest, Resolution, ResolveRequest, SettleRequest,
    Takeover,
};
use crate::{Fingerprint, Identity, Outcome};

#[derive(Debug, Clone)]
enum Verb {
    Claim {
        print: u8,
        lease_ms: u64,
        takeover: u8,
    },
    Renew {
        fence: u64,
        lease_ms: u64,
    },
    Settle {
        fence: u64,
        body: u8,
    },
    Release {
        fence: u64,
    },
    Mark {
        fence: u64,
    },
    Resolve {
        fence: u64,
        how: u8,
    },
    SweepLease,
    Pass {
        ms: i64,
    },
}

fn verb() -> impl Strategy<Value = Verb> {
    let fence = 1..6u64;
    prop_oneof![
        (0..2u8, 1..50u64, 0..3u8).prop_map(|(print, lease_ms, takeover)| Verb::Claim {
            print,
            lease_ms,
            takeover
        }),
        (fence.clone(), 1..50u64).prop_map(|(fence, lease_ms)| Verb::Renew { fence, lease_ms }),
        (fence.clone(), 0..3u8).prop_map(|(fence, body)| Verb::Settle { fence, body }),
        fence.clone().prop_map(|fence| Verb::Release { fence }),
        fence.clone().prop_map(|fence| Verb::Mark { fence }),
        (fence, 0..4u8).prop_map(|(fence, how)| Verb::Resolve { fence, how }),
        Just(Verb::SweepLease),
        (1..60i64).prop_map(|ms| Verb::Pass { ms }),
    ]
}

/// One identity, driven by verbs, with what an observer remembers of it.
struct World {
    record: Option<Record>,
    now: Timestamp,
    next: u64,
}

fn identity() -> Identity {
    Identity::parse("t", "s@1", "k").unwrap()
}

fn claim_of(fence: u64) -> Claim {
    Claim {
        identity: identity(),
        fence: Fence::new(fence),
    }
}

fn term(ms: u64) -> LeaseTerm {
    LeaseTerm::new(Duration::from_millis(ms)).unwrap()
}

fn retention() -> Retention {
    Retention::delete_after(Duration::from_millis(40)).unwrap()
}

fn outcome(body: u8) -> Outcome {
    Outcome::succeeded(vec![body])
}

impl World {
    /// Performs a verb; returns its change, its events and whether a claim was granted.
    fn perform(&mut self, verb: &Verb) -> (Change, Vec<Event>, bool) {
        let current = self.record.as_ref();
        let (change, events, granted) = match verb {
            Verb::Claim {
                print,
                lease_ms,
                takeover,
            } => {
                let request = ClaimRequest {
                    identity: identity(),
                    fingerprint: Fingerprint::of_bytes(&[*print]),
                    lease: term(*lease_ms),
                    takeover: match takeover {
                        0 => Takeover::Never,
                        1 => Takeover::Allowed,
                        _ => Takeover::Of(Fence::new(self.next.saturating_sub(1))),
                    },
                    about: None,
                    nonce: None,
                };
                let step = claim(current, &request, Fence::new(self.next), self.now);
                let granted = matches!(step.answer, ClaimAnswer::Granted(_));
                (step.change, step.events, granted)
            }
            Verb::Renew { fence, lease_ms } => {
                let step = renew(current, Fence::new(*fence), term(*lease_ms), self.now);
                (step.change, step.events, false)
            }
            Verb::Settle { fence, body } => {
                let request = SettleRequest {
                    claim: claim_of(*fence),
                    outcome: outcome(*body),
                    took: Duration::ZERO,
                    retention: retention(),
                };
                let step = settle(current, &request, Fence::new(self.next - 1), self.now);
                (step.change, step.events, false)
            }
            Verb::Release { fence } => {
                let step = release(current, Fence::new(*fence), self.now);
                (step.change, step.events, false)
            }
            Verb::Mark { fence } => {
                let cause = UnknownCause::RunUndecided;
                let claim = claim_of(*fence);
                let step = mark_unknown(
                    current,
                    &MarkRequest {
                        claim,
                        cause,
                        evidence: None,
                    },
                    self.now,
                );
                (step.change, step.events, false)
            }
            Verb::Resolve { fence, how } => {
                let resolution = match how {
                    0 => Resolution::Release,
                    1 => Resolution::Erase,
                    2 => Resolution::EraseContents,
                    _ => Resolution::Settle {
                        outcome: outcome(9),
                        retention: retention(),
                    },
                };
                let by = Actor::new("test").unwrap();
                let claim = claim_of(*fence);
                let step = resolve(
                    current,
                    &ResolveRequest {
                        claim,
                        by,
                        resolution,
                        reason: None,
                    },
                    self.now,
                );
                (step.change, step.events, false)
            }
            Verb::SweepLease => {
                let step = sweep_lease(current, self.now);
                (step.change, step.events, false)
            }
            Verb::Pass { ms } => {
                self.now = Timestamp::from_millis(self.now.as_millis() + ms);
                (Change::None, Vec::new(), false)
            }
        };
        self.record = change.clone().apply(self.record.take());
        self.next += u64::from(granted);
        (change, events, granted)
    }
}

fn verb_fence(verb: &Verb) -> Option<u64> {
    match verb {
        Verb::Renew { fence, .. }
        | Verb::Settle { fence, .. }
        | Verb::Release { fence }
        | Verb::Mark { fence }
        | Verb::Resolve { fence, .. } => Some(*fence),
        Verb::Claim { .. } | Verb::SweepLease | Verb::Pass { .. } => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rules_hold_in_every_order(verbs in prop::collection::vec(verb(), 1..60)) {
        let mut world = World { record: None, now: Timestamp::from_millis(0), next: 1 };
        for verb in &verbs {
            let before = world.record.clone();
            let (now_before, next_before) = (world.now, world.next);
            let (change, events, granted) = world.perform(verb);
            let standing = Standing::of(before.as_ref(), now_before);

            // Rule 2: a grant never happens beside a live lease.
            if granted {
                let free = !matches!(standing, Standing::Running { .. } | Standing::Settled { .. });
                prop_assert!(free);
                // A grant's fence is above every earlier one.
                prop_assert!(before.as_ref().is_none_or(|r| r.fence < world.record.as_ref().unwrap().fence));
            }
            // Rule 3: a verb that shows another fence changes nothing but what the clock already did.
            if let Some(fence) = verb_fence(verb)
                && !standing.is_of(Fence::new(fence))
            {
                let harmless = matches!(change, Change::None)
                    || matches!(change, Change::Unknown { cause: UnknownCause::LeaseEnded, .. })
                    // What is past its retention is held all the same.
                    || matches!(change, Change::EraseContents(_))
                        && before.as_ref().is_some_and(|record| record.fence.get() == fence);
                prop_assert!(harmless, "{verb:?} made {change:?}");
            }
            // Rule 4: a settled record changes only by erasure or when its retention ended; erased contents leave all else as it was.
            if let Standing::Settled { record, settled } = standing {
                let expected = match events.first().map(|e| &e.kind) {
                    Some(EventKind::Erased { .. }) => None,
                    Some(EventKind::ContentsErased { .. }) => {
                        let state = State::Settled(settled.without_contents());
                        Some(Record { about: None, state, ..record.clone() })
                    }
                    _ => Some(record.clone()),
                };
                prop_assert_eq!(&world.record, &expected);
            }
            // Rule 5: a running or unknown record goes only by a decision, which leaves an event.
            if matches!(standing, Standing::Running { .. } | Standing::Unknown { .. } | Standing::Ended { .. })
                && world.record.is_none()
            {
                prop_assert!(!events.is_empty());
            }
            // An unknown record is never running again under the same fence.
            if let (Standing::Unknown { record, .. } | Standing::Ended { record, .. }, Some(after)) =
                (standing, world.record.as_ref())
                && !matches!(verb, Verb::Pass { .. })
                && matches!(after.state, State::Running { .. })
                && !matches!(change, Change::None)
            {
                prop_assert!(after.fence > record.fence);
            }
            // What a late owner brings is kept, and what was made up is not.
            let granted_last = before.as_ref().map_or(next_before - 1, |record| record.fence.get());
            if let Verb::Settle { fence, .. } = verb
                && *fence > granted_last
            {
                prop_assert!(events.is_empty() && matches!(change, Change::None));
            } else if let Verb::Settle { fence, body } = verb
                && !matches!(change, Change::Settle(_))
                && !(standing.is_of(Fence::new(*fence)) && matches!(standing, Standing::Settled { settled, .. } if settled.is_of(&outcome(*body))))
            {
                let late = EventKind::LateOutcome(outcome(*body));
                let expected = match standing {
                    Standing::Settled { settled, .. } if settled.erased => late.without_contents(),
                    _ => late,
                };
                prop_assert!(events.iter().any(|e| e.kind == expected));
            }
        }
    }
}
