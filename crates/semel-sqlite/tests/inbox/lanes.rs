//! Lanes in the situations that people and changed plans make.

use std::time::Duration;

use semel_core::inbox::order::GapThen;
use semel_core::inbox::{
    Action, Baseline, Cause, Finished, OnGap, OnTerminal, Order, Receipt, State, UnknownPolicy,
};
use semel_core::{Inbox, Key};

use crate::fixture::{Fixture, LEASE, completed, in_lane, terminal, version};

const LONG: Duration = Duration::from_secs(600);

const fn by_sequence(baseline: Baseline, on_terminal: OnTerminal) -> Order {
    Order::Sequence {
        baseline,
        on_gap: OnGap {
            deadline: LONG,
            then: GapThen::Hold,
        },
        on_terminal,
    }
}

const PARKING: Order = by_sequence(Baseline::After(0), OnTerminal::Park);
const ADVANCING: Order = by_sequence(Baseline::After(0), OnTerminal::Advance);

async fn cause(fixture: &Fixture, id: &str) -> Option<Cause> {
    fixture.detail(id).await.unwrap().entry.cause
}

#[tokio::test]
async fn a_lane_that_begins_at_zero_has_begun_before_zero_is_done() {
    let fixture = Fixture::new().ordered(by_sequence(Baseline::FirstSeen, OnTerminal::Park));
    let due = State::Received;
    assert_eq!(fixture.versions(&[0]).await, [due]);
    let zero = fixture.claim_one().await;
    assert_eq!(fixture.versions(&[1, 5]).await, [due, State::Parked]);
    assert_eq!(cause(&fixture, "a-5").await, Some(Cause::Gap));
    assert_eq!(fixture.finish(&zero, completed()).await, Finished::Done);
    assert_eq!(fixture.process_all().await, ["a-1"]);
}

#[tokio::test]
async fn a_version_that_is_skipped_before_its_turn_is_not_missing() {
    let fixture = Fixture::new().ordered(PARKING);
    fixture.versions(&[1, 2, 3, 4]).await;
    let first = fixture.claim_one().await;
    assert_eq!(
        fixture.operate(Action::Skip, &["a-2", "a-3"]).await.changed,
        2
    );
    assert_eq!(fixture.versions(&[5]).await, [State::Received]);
    assert_eq!(fixture.finish(&first, completed()).await, Finished::Done);
    assert_eq!(fixture.process_all().await, ["a-4", "a-5"]);
    assert_eq!(fixture.state("a-2").await, State::SkippedDuplicate);
}

#[tokio::test]
async fn a_version_that_is_parked_before_its_turn_holds_or_is_passed_by_policy() {
    for (order, runs) in [
        (PARKING, &["a-1"][..]),
        (ADVANCING, &["a-1", "a-3", "a-4"][..]),
    ] {
        let fixture = Fixture::new().ordered(order);
        fixture.versions(&[1, 2, 3]).await;
        assert_eq!(fixture.operate(Action::Park, &["a-2"]).await.changed, 1);
        fixture.versions(&[4]).await;
        assert_eq!(fixture.process_all().await, runs);
        assert_eq!(fixture.state("a-2").await, State::Parked);
        let report = fixture.operate(Action::Unpark, &["a-2"]).await;
        match order.on_terminal() {
            OnTerminal::Park => {
                assert_eq!(report.changed, 1);
                assert_eq!(fixture.process_all().await, ["a-2", "a-3", "a-4"]);
            }
            // The lane went on without it: it is older than what was applied.
            OnTerminal::Advance => assert_eq!((report.changed, report.skipped), (0, 1)),
        }
    }
}

#[tokio::test]
async fn what_waits_behind_a_failure_says_so_and_says_why_it_goes_on() {
    let fixture = Fixture::new().ordered(PARKING);
    fixture.versions(&[1, 2, 3, 5]).await;
    let first = fixture.claim_one().await;
    fixture.finish(&first, terminal()).await;
    for id in ["a-2", "a-3", "a-5"] {
        assert_eq!(cause(&fixture, id).await, Some(Cause::BehindFailed), "{id}");
    }
    fixture.operate(Action::Skip, &["a-1"]).await;
    assert_eq!(fixture.state("a-2").await, State::Received);
    assert_eq!(fixture.state("a-3").await, State::Received);
    assert_eq!(cause(&fixture, "a-5").await, Some(Cause::Gap));
    let causes: Vec<Option<Cause>> = fixture
        .detail("a-3")
        .await
        .unwrap()
        .transitions
        .iter()
        .map(|t| t.cause)
        .collect();
    assert_eq!(causes, [Some(Cause::BehindFailed), Some(Cause::HeadDone)]);
    assert_eq!(fixture.process_all().await, ["a-2", "a-3"]);
    let missing = fixture
        .store
        .gaps(fixture.plan.consumer.clone(), 10)
        .await
        .unwrap();
    assert_eq!(missing[0].missing, [(4, 4)]);
}

#[tokio::test]
async fn a_second_failure_in_a_lane_waits_behind_the_first() {
    let fixture = Fixture::new().ordered(PARKING);
    fixture.versions(&[1, 2, 3]).await;
    fixture.operate(Action::Park, &["a-2"]).await;
    let first = fixture.claim_one().await;
    fixture.finish(&first, terminal()).await;
    // Retried alone, the second has its turn only after the first.
    assert_eq!(
        fixture
            .operate(Action::Retry { new_key: false }, &["a-2"])
            .await
            .changed,
        1
    );
    assert_eq!(cause(&fixture, "a-2").await, Some(Cause::BehindFailed));
    assert!(fixture.claim().await.is_empty());
    assert_eq!(
        fixture
            .operate(Action::Retry { new_key: false }, &["a-1"])
            .await
            .changed,
        1
    );
    assert_eq!(fixture.process_all().await, ["a-1", "a-2", "a-3"]);
}

#[tokio::test]
async fn a_retry_of_all_that_is_parked_runs_it_in_order() {
    let fixture = Fixture::new().ordered(PARKING);
    fixture.versions(&[1, 2, 3]).await;
    let first = fixture.claim_one().await;
    fixture.finish(&first, terminal()).await;
    let report = fixture
        .operate(Action::Retry { new_key: false }, &["a-3", "a-2", "a-1"])
        .await;
    assert_eq!((report.matched, report.changed), (3, 3), "{report:?}");
    assert_eq!(fixture.process_all().await, ["a-1", "a-2", "a-3"]);
}

#[tokio::test]
async fn a_lost_head_that_is_held_stops_or_passes_its_lane_at_once() {
    for (order, next) in [(PARKING, State::Parked), (ADVANCING, State::Received)] {
        let fixture = Fixture::new().ordered(order);
        fixture.versions(&[1, 2]).await;
        let lost = fixture.claim_one().await;
        fixture.clock.advance(LEASE * 2);
        assert!(fixture.claim_as(UnknownPolicy::Hold).await.is_empty());
        assert_eq!(cause(&fixture, "a-1").await, Some(Cause::Unknown));
        assert_eq!(fixture.state("a-2").await, next);
        assert_eq!(fixture.advance_lanes().await, 0);
        if next == State::Parked {
            // Nobody has claimed it since: its owner knows what happened after all.
            assert_eq!(fixture.finish(&lost, completed()).await, Finished::Done);
        }
        assert_eq!(fixture.process_all().await, ["a-2"]);
    }
}

#[tokio::test]
async fn a_rebuild_of_some_versions_waits_for_no_others() {
    let fixture = Fixture::new().ordered(PARKING);
    fixture.versions(&[1, 2, 3, 4, 5]).await;
    fixture.process_all().await;
    let rebuild = Action::Replay { rebuild: true };
    assert_eq!(fixture.operate(rebuild, &["a-2", "a-4"]).await.changed, 2);
    fixture.versions(&[6]).await;
    assert_eq!(fixture.process_all().await, ["a-2", "a-4", "a-6"]);
    let (done, again) = (State::SkippedDuplicate, version("a", 3).as_conflict());
    assert_eq!(
        fixture.receive(vec![again]).await,
        [Receipt::Stored { state: done }]
    );
}

#[tokio::test]
async fn a_rebuild_waits_for_whoever_runs_in_the_lane() {
    let fixture = Fixture::new().ordered(PARKING);
    fixture.versions(&[1, 2]).await;
    fixture.process_all().await;
    fixture.versions(&[3, 4]).await;
    let third = fixture.claim_one().await;
    fixture
        .operate(Action::Replay { rebuild: true }, &["a-1", "a-2"])
        .await;
    assert!(fixture.claim().await.is_empty());
    assert_eq!(fixture.finish(&third, completed()).await, Finished::Done);
    assert_eq!(fixture.process_all().await, ["a-1", "a-2", "a-4"]);
}

#[tokio::test]
async fn a_message_that_a_lane_went_on_without_does_not_run_beside_its_head() {
    let on_terminal = OnTerminal::Advance;
    let fixture = Fixture::new().ordered(Order::Arrival { on_terminal });
    fixture
        .receive(["x", "y", "z"].map(|id| in_lane("a", id)).to_vec())
        .await;
    let first = fixture.claim_one().await;
    fixture.finish(&first, terminal()).await;
    let second = fixture.claim_one().await;
    assert_eq!(
        fixture
            .operate(Action::Retry { new_key: false }, &["x"])
            .await
            .changed,
        1
    );
    assert!(fixture.claim().await.is_empty());
    assert_eq!(fixture.finish(&second, completed()).await, Finished::Done);
    assert_eq!(fixture.process_all().await, ["x", "z"]);
}

#[tokio::test]
async fn a_plan_that_gives_up_its_order_leaves_nobody_behind() {
    let on_terminal = OnTerminal::Park;
    for order in [PARKING, Order::Arrival { on_terminal }] {
        let mut fixture = Fixture::new().ordered(order);
        fixture.versions(&[1, 2, 3]).await;
        let first = fixture.claim_one().await;
        fixture.plan.order = Order::None;
        assert_eq!(fixture.finish(&first, completed()).await, Finished::Done);
        assert_eq!(fixture.process_all().await, ["a-2", "a-3"]);
    }
}

#[tokio::test]
async fn a_long_lane_is_received_and_worked_off_in_order() {
    const MESSAGES: u64 = 300;
    for order in [
        PARKING,
        Order::Arrival {
            on_terminal: OnTerminal::Park,
        },
    ] {
        let fixture = Fixture::new().ordered(order);
        let versions: Vec<u64> = (1..=MESSAGES).collect();
        fixture.versions(&versions).await;
        let first = fixture.claim_one().await;
        fixture.finish(&first, terminal()).await;
        // One commit changes a bounded number of those behind it, and housekeeping the rest.
        let parked = async || fixture.store.counts().await.unwrap()[0].parked;
        assert_eq!(parked().await, semel_core::inbox::lanes::STEP_MAX as u64);
        while fixture.advance_lanes().await > 0 {}
        assert_eq!(parked().await, MESSAGES - 1);
        fixture
            .operate(Action::Retry { new_key: false }, &["a-1"])
            .await;
        let expected: Vec<String> = versions.iter().map(|v| format!("a-{v}")).collect();
        assert_eq!(fixture.process_all().await, expected);
    }
}

#[tokio::test]
async fn lanes_of_two_consumers_are_apart() {
    let fixture = Fixture::new().ordered(PARKING);
    fixture.versions(&[1]).await;
    let mut other = fixture.plan.clone();
    other.consumer = "indexer@1".parse().unwrap();
    let identity = semel_core::Identity::parse("public", "indexer@1", "a-1").unwrap();
    let message = semel_core::inbox::Message::new(identity, "x").unwrap();
    let lane = Key::new("a").unwrap();
    let message = message.with_lane(lane).with_sequence(1).unwrap();
    let arrivals = semel_core::inbox::Arrivals {
        plan: other,
        messages: vec![message],
        positions: Vec::new(),
    };
    let received = fixture.store.receive(arrivals).await.unwrap();
    let state = State::Received;
    assert_eq!(received, [Receipt::Stored { state }]);
}
