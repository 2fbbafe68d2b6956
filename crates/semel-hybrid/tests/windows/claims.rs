//! Between the grant in the fast store and the run.

use semel_core::store::{ClaimAnswer, Verb};
use semel_testkit::faulty::{Call, Fault};

use crate::world::{PAST_LEASE, World, granted, kill, replayed, state};

/// Claims in a process that dies where the durable store stands still.
async fn die_claiming(world: &World, call: Call, fault: Fault, takes_over: bool) {
    world.durable.next(call, fault);
    let claimer = world.clone();
    let process = tokio::spawn(async move {
        match takes_over {
            true => claimer.take_over("k").await,
            false => claimer.claim("k").await,
        }
    });
    world.gate.reached().await;
    kill(process).await;
}

#[tokio::test]
async fn a_process_dead_between_grant_and_check_ran_nothing() {
    let world = World::new();
    die_claiming(&world, Call::Check, world.gated(), false).await;
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { .. }));
    world.pass(PAST_LEASE);
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }));
    granted(world.take_over("k").await);
}

#[tokio::test]
async fn a_process_dead_between_grant_and_check_hides_no_outcome() {
    let world = World::new();
    world.settled("k", "kept").await;
    // The copy has gone, so a duplicate is granted first and told then.
    world.pass(std::time::Duration::from_secs(11 * 60));
    die_claiming(&world, Call::Check, world.gated(), false).await;
    assert_eq!(replayed(world.claim("k").await), "kept");
    world.pass(PAST_LEASE);
    assert_eq!(state(world.fast.as_ref(), "k").await, "unknown");
    assert_eq!(replayed(world.take_over("k").await), "kept");
}

#[tokio::test]
async fn a_durable_store_away_at_the_grant_gives_the_claim_back() {
    let world = World::new();
    world.durable.set_all(Fault::Away);
    assert!(world.claim("k").await.is_err());
    assert_eq!(state(world.fast.as_ref(), "k").await, "absent");
    world.durable.heal_all();
    world.granted("k").await;
}

#[tokio::test]
async fn both_stores_away_at_the_grant_leave_an_unknown_that_never_ran() {
    let world = World::new();
    world.durable.set_all(Fault::Away);
    world.fast.next(Verb::Release, Fault::Away);
    assert!(world.claim("k").await.is_err());
    world.durable.heal_all();
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { .. }));
    world.pass(PAST_LEASE);
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }));
}

#[tokio::test]
async fn one_bad_moment_gives_back_every_claim_of_a_batch() {
    let world = World::new();
    let requests = ["a", "b", "c"].map(|key| world.request(key));
    world.durable.next(Call::Check, Fault::Away);
    let requests = requests.into_iter().collect();
    let answers = semel_core::Store::claim(world.hybrid.as_ref(), requests).await;
    assert!(answers.iter().all(Result::is_err));
    for key in ["a", "b", "c"] {
        assert_eq!(world.state(key).await, "absent", "{key}");
    }
}

#[tokio::test]
async fn a_takeover_whose_bar_fails_does_not_run() {
    let world = World::new();
    let first = world.granted("k").await;
    world.pass(PAST_LEASE);
    world.durable.next(Call::Bar, Fault::Away);
    assert!(world.take_over("k").await.is_err());
    // The first owner may have run: what is given back is unknown, not absent.
    assert_eq!(world.state("k").await, "unknown");
    let settled = world.settle(&first.claim, "late").await.unwrap();
    assert_eq!(settled, semel_core::store::SettleAnswer::Late);
    assert_eq!(granted(world.take_over("k").await).attempt, 3);
}

#[tokio::test]
async fn a_process_dead_between_bar_and_run_can_be_taken_over_again() {
    let world = World::new();
    world.granted("k").await;
    world.pass(PAST_LEASE);
    die_claiming(&world, Call::Bar, world.gated_after(), true).await;
    world.pass(PAST_LEASE);
    let answer = world.claim("k").await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }));
    let third = granted(world.take_over("k").await);
    assert_eq!(third.attempt, 3);
    let settled = world.settle(&third.claim, "done").await.unwrap();
    assert_eq!(settled, semel_core::store::SettleAnswer::Settled);
    assert_eq!(replayed(world.claim("k").await), "done");
}
