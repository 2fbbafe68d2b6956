//! Between the effect and the outcome on record.

use std::time::Duration;

use semel_core::store::{ClaimAnswer, ClaimRequest, SettleAnswer, Verb};
use semel_core::{LeaseTerm, StoreExt};
use semel_testkit::faulty::{Call, Fault};

use crate::world::{PAST_LEASE, World, granted, kill, replayed, state};

#[tokio::test]
async fn a_process_dead_before_the_settle_is_unknown() {
    let world = World::new();
    world.granted("k").await;
    world.pass(PAST_LEASE);
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }));
}

#[tokio::test]
async fn a_process_dead_between_renewal_and_keep_is_unknown() {
    let world = World::new();
    let claim = world.granted("k").await.claim;
    let settle = (&claim, "lost");
    let process = world
        .settling_until(&world.durable, Call::Keep, world.gated(), settle)
        .await;
    kill(process).await;
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { .. }));
    world.pass(PAST_LEASE);
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }));
}

#[tokio::test]
async fn a_process_dead_between_renewal_and_keep_holds_its_claim_for_its_lease_and_no_longer() {
    let (world, term) = (World::new(), Duration::from_secs(2));
    let request = ClaimRequest {
        lease: LeaseTerm::new(term).unwrap(),
        ..world.request("k")
    };
    let claim = granted(world.hybrid.claim_one(request).await).claim;
    let process = world
        .settling_until(&world.durable, Call::Keep, world.gated(), (&claim, "lost"))
        .await;
    kill(process).await;
    world.pass(term);
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }));
}

#[tokio::test]
async fn a_store_away_at_the_settle_hears_it_when_it_is_sent_again() {
    for (is_fast, verb) in [
        (true, Call::Store(Verb::Renew)),
        (true, Call::Store(Verb::LookUp)),
        (false, Call::Keep),
    ] {
        let world = World::new();
        let claim = world.granted("k").await.claim;
        let store = if is_fast { &world.fast } else { &world.durable };
        store.next(verb, Fault::Away);
        assert!(world.settle(&claim, "done").await.is_err(), "{verb:?}");
        assert_eq!(world.state("k").await, "running", "{verb:?}");
        let again = world.settle(&claim, "done").await.unwrap();
        assert_eq!(again, SettleAnswer::Settled, "{verb:?}");
        assert_eq!(replayed(world.claim("k").await), "done", "{verb:?}");
    }
}

#[tokio::test]
async fn an_outcome_kept_by_a_process_that_died_is_settled() {
    for lease_ended in [false, true] {
        let world = World::new();
        let claim = world.granted("k").await.claim;
        let settle = (&claim, "kept");
        let process = world
            .settling_until(&world.durable, Call::Keep, world.gated_after(), settle)
            .await;
        kill(process).await;
        if lease_ended {
            world.pass(PAST_LEASE);
        }
        assert_eq!(world.state("k").await, "succeeded");
        assert_ne!(state(world.fast.as_ref(), "k").await, "succeeded");
        assert_eq!(replayed(world.claim("k").await), "kept");
        // The fast store agrees now, and goes on agreeing.
        assert!(!["running", "unknown"].contains(&state(world.fast.as_ref(), "k").await));
        assert_eq!(replayed(world.take_over("k").await), "kept");
    }
}

#[tokio::test]
async fn an_outcome_kept_while_the_fast_store_went_away_is_settled() {
    let world = World::new();
    let claim = world.granted("k").await.claim;
    world.fast.next(Verb::Settle, Fault::Away);
    let settled = world.settle(&claim, "kept").await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
    assert_eq!(state(world.fast.as_ref(), "k").await, "running");
    assert_eq!(replayed(world.claim("k").await), "kept");
}

#[tokio::test]
async fn an_unknown_whose_outcome_is_kept_is_settled_also_to_a_takeover() {
    let world = World::new();
    let claim = world.granted("k").await.claim;
    world.fast.next(Verb::Settle, Fault::Away);
    world.settle(&claim, "kept").await.unwrap();
    world.pass(PAST_LEASE);
    assert_eq!(state(world.fast.as_ref(), "k").await, "unknown");
    assert_eq!(replayed(world.take_over("k").await), "kept");
    // An unknown that is settled is nobody's to list; a sweep makes the counts agree too.
    world.hybrid_sweeps().await;
    assert_eq!(world.unknowns().await, (0, 0));
}

#[tokio::test]
async fn a_keep_whose_answer_was_lost_is_settled_when_sent_again() {
    let world = World::new();
    let claim = world.granted("k").await.claim;
    world.durable.next(Call::Keep, Fault::AnswerLost);
    assert!(world.settle(&claim, "done").await.is_err());
    assert_eq!(replayed(world.claim("k").await), "done");
    let again = world.settle(&claim, "done").await.unwrap();
    assert_eq!(again, SettleAnswer::Settled);
    assert!(world.late_bodies("k").await.is_empty());
}

#[tokio::test]
async fn an_owner_that_stalls_before_its_keep_and_is_taken_over_is_late() {
    let world = World::new();
    let old = world.granted("k").await.claim;
    let settle = (&old, "old");
    let process = world
        .settling_until(&world.durable, Call::Keep, world.gated(), settle)
        .await;
    world.pass(PAST_LEASE);
    let new = granted(world.take_over("k").await).claim;
    world.gate.let_pass(1);
    assert_eq!(process.await.unwrap().unwrap(), SettleAnswer::Late);
    assert_eq!(world.state("k").await, "running");
    let settled = world.settle(&new, "new").await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
    assert_eq!(replayed(world.claim("k").await), "new");
    assert_eq!(world.late_bodies("k").await, ["old"]);
}

#[tokio::test]
async fn an_owner_that_keeps_before_the_bar_is_found_by_the_takeover() {
    let world = World::new();
    let old = world.granted("k").await.claim;
    let settle = (&old, "old");
    let process = world
        .settling_until(&world.durable, Call::Keep, world.gated(), settle)
        .await;
    world.pass(PAST_LEASE);
    // The takeover is granted in the fast store and is on its way to the bar.
    world.durable.next(Call::Bar, world.gated());
    let taker = world.clone();
    let taking = tokio::spawn(async move { taker.take_over("k").await });
    world.gate.reached().await;
    // Both stand still; the keep was there first and goes first.
    world.gate.let_pass(1);
    assert_eq!(process.await.unwrap().unwrap(), SettleAnswer::Settled);
    world.gate.let_pass(1);
    assert_eq!(replayed(taking.await.unwrap()), "old");
    assert_eq!(replayed(world.claim("k").await), "old");
}
