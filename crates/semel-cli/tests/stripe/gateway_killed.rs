//! The gateway is killed while requests are on their way, again and again.

use crate::gateway::Unknown;
use crate::ledger;
use crate::upstream::Point::{After, Before};
use crate::upstream::{Event, Run};
use crate::world::World;

const ROUNDS: usize = 3;
const OPERATIONS_PER_ROUND: usize = 6;

#[test]
fn a_killed_gateway_charges_every_operation_once() {
    let mut world = World::new(Unknown::Reconcile);
    let mut client = world.client(2);
    let (mut operations, mut calls) = (Vec::new(), Vec::new());
    for round in 1..=ROUNDS {
        let fresh = ledger::operations(&format!("round-{round}"), OPERATIONS_PER_ROUND);
        let since = world.upstream.hold(&[Before, Before, After, After]);
        client.charge(&fresh);
        let others = OPERATIONS_PER_ROUND - 4;
        let held = world.upstream.wait_for_held(since, 4, others);
        kill_twice(&mut world, &held.before);
        calls.extend(client.calls());
        operations.extend(fresh);
    }
    world.assert_once(&operations, &calls);
}

/// Four requests are stopped at the upstream, two of them charged, when the gateway dies. Of the
/// other two, one is charged while no gateway runs. The second is still on its way when the next
/// gateway is told that it did not happen and forwards the operation again; that gateway dies
/// too, and only then does the second arrive.
fn kill_twice(world: &mut World, uncharged: &[Run]) {
    let [delayed, late] = uncharged else {
        panic!("expected two requests that are not charged, found {uncharged:?}");
    };
    let since = world.upstream.hold(&[After]);
    world.gateway.kill();
    assert_eq!(world.upstream.go(delayed), Event::Charged(delayed.clone()));
    world.gateway.restart();

    // The one other charge is the delayed one's.
    let again = world.upstream.wait_for_held(since, 1, 1).after.remove(0);
    assert_eq!(
        again.key, late.key,
        "only what is not charged is forwarded again"
    );
    assert!(again.fence > late.fence, "{again:?} after {late:?}");
    world.gateway.kill();
    assert_eq!(world.upstream.go(late), Event::Refused(late.clone()));
    world.gateway.restart();
}
