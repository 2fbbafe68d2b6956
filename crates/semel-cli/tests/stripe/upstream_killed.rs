//! The upstream is killed while requests are on their way, again and again.

use crate::gateway::Unknown;
use crate::ledger;
use crate::upstream::Event;
use crate::upstream::Point::{After, Before};
use crate::world::World;

const ROUNDS: usize = 3;
const OPERATIONS_PER_ROUND: usize = 6;

#[test]
fn a_killed_upstream_charges_every_operation_once() {
    let mut world = World::new(Unknown::Reconcile);
    let mut client = world.client(2);
    let (mut operations, mut calls) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let fresh = ledger::operations(&format!("round-{round}"), OPERATIONS_PER_ROUND);
        let since = world.upstream.hold(&[Before, Before, After, After]);
        client.charge(&fresh);
        let others = OPERATIONS_PER_ROUND - 4;
        let held = world.upstream.wait_for_held(since, 4, others);

        world.upstream.kill();
        // These do not even reach it.
        let refused = ledger::operations(&format!("down-{round}"), 2);
        client.charge(&refused);
        world.upstream.restart();

        calls.extend(client.calls());
        operations.extend(fresh.into_iter().chain(refused));
        for (runs, happened) in [(held.before, false), (held.after, true)] {
            for run in runs {
                world.upstream.wait_for(since, &Event::Asked(run, happened));
            }
        }
    }
    world.assert_once(&operations, &calls);
}
