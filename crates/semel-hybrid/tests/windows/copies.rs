//! What the fast store is told of outcomes, and what each path costs the durable one.

use std::time::Duration;

use semel_core::store::{ClaimAnswer, SettleRequest, Verb, all};
use semel_core::{Outcome, Retention, Store};
use semel_testkit::faulty::Call;

use crate::world::{World, granted, replayed, state};

#[tokio::test]
async fn the_happy_path_is_one_read_and_one_write_of_the_durable_store() {
    let world = World::new();
    world.settled("k", "done").await;
    assert_eq!(world.durable.take_calls(), [Call::Check, Call::Keep]);
    assert_eq!(
        world.fast.take_calls(),
        [Verb::Claim, Verb::Renew, Verb::LookUp, Verb::Settle].map(Call::Store)
    );
}

#[tokio::test]
async fn a_duplicate_writes_nothing_while_there_is_a_copy() {
    let world = World::new();
    world.settled("k", "done").await;
    world.fast.take_calls();
    world.durable.take_calls();
    assert_eq!(replayed(world.claim("k").await), "done");
    assert_eq!(world.fast.take_calls(), [Call::Store(Verb::Claim)]);
    assert_eq!(world.durable.take_calls(), [Call::Check]);
}

#[tokio::test]
async fn a_batch_costs_the_durable_store_one_call_per_step() {
    let world = World::new();
    let requests: Vec<_> = (0..20).map(|n| world.request(&format!("k-{n}"))).collect();
    let answers = world.hybrid.claim(requests.into()).await;
    let settles: Vec<_> = answers
        .into_iter()
        .map(|answer| SettleRequest {
            claim: granted(answer).claim,
            outcome: Outcome::succeeded("done"),
            took: Duration::ZERO,
            retention: Retention::default(),
        })
        .collect();
    all(world.hybrid.settle(settles.into()).await).unwrap();
    assert_eq!(world.durable.take_calls(), [Call::Check, Call::Keep]);
}

#[tokio::test]
async fn after_its_copy_an_outcome_is_replayed_and_copied_again() {
    let world = World::new();
    world.settled("k", "done").await;
    world.pass(Duration::from_secs(11 * 60));
    assert_eq!(state(world.fast.as_ref(), "k").await, "absent");
    assert_eq!(replayed(world.claim("k").await), "done");
    assert_eq!(state(world.fast.as_ref(), "k").await, "succeeded");
    // Neither the grant nor its end is anything unusual.
    assert!(world.event_names("k").await.is_empty());
}

#[tokio::test]
async fn after_its_copy_another_request_is_refused_and_remembered() {
    let world = World::new();
    world.settled("k", "done").await;
    world.pass(Duration::from_secs(11 * 60));
    assert_eq!(world.mistaken("k").await.unwrap(), ClaimAnswer::Mismatch);
    assert!(world.event_names("k").await.contains(&"mismatch"));
    assert_eq!(replayed(world.claim("k").await), "done");
}

#[tokio::test]
async fn a_mistaken_claim_in_the_middle_of_its_check_disturbs_no_replay() {
    let world = World::new();
    world.settled("k", "done").await;
    world.pass(Duration::from_secs(11 * 60));
    world.durable.next(Call::Check, world.gated());
    let mistaken = world.clone();
    let process = tokio::spawn(async move { mistaken.mistaken("k").await });
    world.gate.reached().await;
    // The fast store runs the other request at this moment.
    assert_eq!(replayed(world.claim("k").await), "done");
    world.gate.let_pass(1);
    assert_eq!(process.await.unwrap().unwrap(), ClaimAnswer::Mismatch);
    assert_eq!(replayed(world.claim("k").await), "done");
}

#[tokio::test]
async fn no_copy_outlives_its_record() {
    let world = World::new();
    let day = Retention::default().keep();
    world.settled("k", "done").await;
    // A copy that is made just before retention ends is short.
    world.pass(day - Duration::from_secs(10));
    assert_eq!(replayed(world.claim("k").await), "done");
    assert_eq!(state(world.fast.as_ref(), "k").await, "succeeded");
    world.pass(Duration::from_secs(5));
    assert_eq!(state(world.fast.as_ref(), "k").await, "absent");
    assert_eq!(world.state("k").await, "succeeded");
    world.pass(Duration::from_secs(5));
    assert_eq!(world.state("k").await, "absent");
    granted(world.claim("k").await);
}
