//! What is lost when a store forgets, and what is not.

use semel_core::Kind;
use semel_core::store::{ClaimAnswer, OutcomeStore, SettleAnswer, one, only};
use semel_testkit::faulty::{Call, Fault};

use crate::world::{PAST_LEASE, World, granted, replayed};

#[tokio::test]
async fn a_fast_store_that_forgot_everything_replays_what_is_settled() {
    let world = World::new();
    world.settled("k", "kept").await;
    let world = world.forgetful();
    assert_eq!(world.state("k").await, "succeeded");
    assert_eq!(replayed(world.claim("k").await), "kept");
    let mistaken = world.mistaken("k").await.unwrap();
    assert_eq!(mistaken, ClaimAnswer::Mismatch);
}

/// The one thing that a hybrid cannot promise: a claim that its store has lost protects nobody.
#[tokio::test]
async fn a_claim_that_the_fast_store_forgot_can_run_again_and_one_outcome_holds() {
    let world = World::new();
    let first = world.granted("k").await.claim;
    let world = world.forgetful();
    // Drawn from the beginning again: the fences of the two runs are even the same.
    let second = world.granted("k").await.claim;
    assert_eq!(first.fence, second.fence);
    let settled = world.settle(&second, "second").await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
    let late = world.settle(&first, "first").await.unwrap();
    assert_eq!(late, SettleAnswer::Late);
    assert_eq!(replayed(world.claim("k").await), "second");
    assert_eq!(world.late_bodies("k").await, ["first"]);
}

#[tokio::test]
async fn a_fence_that_the_durable_store_knows_is_refused_before_anything_runs() {
    let world = World::new();
    world.granted("k").await;
    world.pass(PAST_LEASE);
    granted(world.take_over("k").await);
    let world = world.forgetful();
    let error = world.claim("k").await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable);
    assert!(error.to_string().contains("lost records"), "{error}");
    assert_eq!(world.state("k").await, "absent");
    // Fences grow with every try, so the identity is free once they are past what is known.
    granted(world.claim("k").await);
}

#[tokio::test]
async fn a_fence_on_record_for_another_operation_is_refused_too() {
    let world = World::new();
    world.settled("a", "kept").await;
    let world = world.forgetful();
    let error = world.claim("b").await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable);
    granted(world.claim("b").await);
}

#[tokio::test]
async fn an_outcome_that_can_no_longer_be_kept_is_late_and_unknown() {
    let world = World::new();
    let claim = world.granted("k").await.claim;
    // Somebody bars behind the fast store's back: the lease lives, the claim is worth nothing.
    let above = semel_core::Claim {
        identity: claim.identity.clone(),
        fence: semel_core::Fence::new(claim.fence.get() + 5),
    };
    only(world.durable.bar(one(above)).await).unwrap();
    let late = world.settle(&claim, "late").await.unwrap();
    assert_eq!(late, SettleAnswer::Late);
    assert_eq!(world.late_bodies("k").await, ["late"]);
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }));
}

#[tokio::test]
async fn a_copy_answers_while_the_durable_store_is_away() {
    let world = World::new();
    world.settled("k", "kept").await;
    world.durable.set_all(Fault::Away);
    assert_eq!(replayed(world.claim("k").await), "kept");
    let mistaken = world.mistaken("k").await;
    assert!(mistaken.is_err(), "{mistaken:?}");
    assert!(world.claim("new").await.is_err());
    world.durable.heal_all();
    world.durable.next(Call::Check, Fault::Away);
    assert_eq!(replayed(world.claim("k").await), "kept");
}
