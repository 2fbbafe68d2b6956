//! Between the two stores' parts of a decision.

use std::time::Duration;

use semel_core::store::{ClaimAnswer, Resolution, ResolveAnswer, SettleAnswer, Verb};
use semel_core::{EventKind, Outcome, Retention, Store};
use semel_testkit::faulty::{Call, Fault};

use crate::world::{PAST_LEASE, World, granted, identity, kill, replayed, state};

fn happened() -> Resolution {
    Resolution::Settle {
        outcome: Outcome::succeeded("found"),
        retention: Retention::default(),
    }
}

#[tokio::test]
async fn a_resolution_that_died_after_its_keep_is_settled() {
    let world = World::new();
    let claim = world.granted("k").await.claim;
    world.pass(PAST_LEASE);
    world.durable.next(Call::Keep, world.gated_after());
    let (resolver, of) = (world.clone(), claim.clone());
    let process = tokio::spawn(async move { resolver.resolve(&of, happened()).await });
    world.gate.reached().await;
    kill(process).await;
    assert_eq!(state(world.fast.as_ref(), "k").await, "unknown");
    assert_eq!(world.state("k").await, "succeeded");
    assert_eq!(replayed(world.take_over("k").await), "found");
}

#[tokio::test]
async fn a_resolution_that_the_fast_store_missed_says_who_decided() {
    let world = World::new();
    let claim = world.granted("k").await.claim;
    world.pass(PAST_LEASE);
    world.fast.next(Verb::Resolve, Fault::Away);
    let resolved = world.resolve(&claim, happened()).await.unwrap();
    assert_eq!(resolved, ResolveAnswer::Resolved);
    assert_eq!(replayed(world.claim("k").await), "found");
    assert!(world.deciders("k").await.contains(&"a person".to_owned()));
}

/// A copy lasts for minutes, and the fast store's history for days.
#[tokio::test]
async fn erased_contents_are_not_shown_from_a_history_whose_copy_is_gone() {
    let world = World::new();
    let old = world.granted("k").await.claim;
    world.pass(PAST_LEASE);
    let settled = world.settle(&old, "private").await.unwrap();
    assert_eq!(settled, SettleAnswer::Late);
    let claim = granted(world.take_over("k").await).claim;
    world.settle(&claim, "done").await.unwrap();
    assert_eq!(world.late_bodies("k").await, ["private"]);
    world.pass(Duration::from_secs(11 * 60));
    assert_eq!(state(world.fast.as_ref(), "k").await, "absent");
    let erased = world.resolve(&claim, Resolution::EraseContents).await;
    assert_eq!(erased.unwrap(), ResolveAnswer::Resolved);
    let history = world.hybrid.history(identity("k")).await.unwrap();
    let bodies = history.iter().filter_map(|event| match &event.kind {
        EventKind::LateOutcome(outcome) => Some(outcome.body.kept().is_some()),
        _ => None,
    });
    assert_eq!(bodies.collect::<Vec<_>>(), [false]);
}

#[tokio::test]
async fn a_release_that_died_after_its_bar_can_be_sent_again() {
    let world = World::new();
    let claim = world.granted("k").await.claim;
    world.pass(PAST_LEASE);
    world.durable.next(Call::Bar, world.gated_after());
    let (resolver, of) = (world.clone(), claim.clone());
    let process = tokio::spawn(async move { resolver.resolve(&of, Resolution::Release).await });
    world.gate.reached().await;
    kill(process).await;
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }));
    let again = world.resolve(&claim, Resolution::Release).await.unwrap();
    assert_eq!(again, ResolveAnswer::Resolved);
    let next = world.granted("k").await.claim;
    let settled = world.settle(&next, "done").await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
}

#[tokio::test]
async fn a_slow_owner_keeps_nothing_after_a_release_by_decision() {
    let world = World::new();
    let old = world.granted("k").await.claim;
    let settle = (&old, "old");
    let process = world
        .settling_until(&world.durable, Call::Keep, world.gated(), settle)
        .await;
    world.pass(PAST_LEASE);
    let released = world.resolve(&old, Resolution::Release).await.unwrap();
    assert_eq!(released, ResolveAnswer::Resolved);
    let new = world.granted("k").await.claim;
    world.gate.let_pass(1);
    assert_eq!(process.await.unwrap().unwrap(), SettleAnswer::Late);
    let settled = world.settle(&new, "new").await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
    assert_eq!(world.late_bodies("k").await, ["old"]);
}

#[tokio::test]
async fn a_release_of_what_was_kept_meanwhile_is_refused() {
    let world = World::new();
    let claim = world.granted("k").await.claim;
    world.fast.next(Verb::Settle, Fault::Away);
    world.settle(&claim, "kept").await.unwrap();
    world.pass(PAST_LEASE);
    let refused = world.resolve(&claim, Resolution::Release).await.unwrap();
    assert_eq!(refused, ResolveAnswer::Refused);
    assert_eq!(replayed(world.claim("k").await), "kept");
}

#[tokio::test]
async fn an_erasure_that_died_before_the_copy_went_is_an_erasure() {
    let world = World::new();
    let claim = world.settled("k", "private").await;
    world.durable.next(Verb::Resolve, world.gated_after());
    let (eraser, of) = (world.clone(), claim.clone());
    let process = tokio::spawn(async move { eraser.resolve(&of, Resolution::Erase).await });
    world.gate.reached().await;
    kill(process).await;
    assert_eq!(state(world.fast.as_ref(), "k").await, "succeeded");
    assert_eq!(world.state("k").await, "absent");
    granted(world.claim("k").await);
}
