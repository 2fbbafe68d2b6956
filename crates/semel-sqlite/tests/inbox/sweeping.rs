//! What retention no longer protects goes with all that hangs on it; what waits stays.

use semel_core::inbox::{
    Action, Baseline, Cause, Disposition, Finished, OnGap, OnTerminal, Order, Receipt, State, Step,
};
use semel_core::store::{Actor, Resolution, ResolveRequest, StoreExt};
use semel_core::{Claim, Inbox, Store};

use crate::fixture::{Fixture, KEEP, completed, identity, message, retry, terminal, version};

const TABLES: [&str; 7] = [
    "semel_messages",
    "semel_work",
    "semel_attempts",
    "semel_transitions",
    "semel_steps",
    "semel_duplicates",
    "semel_generations",
];

async fn with_a_history(fixture: &Fixture, id: &str) {
    fixture.receive(vec![message(id), message(id)]).await;
    let job = fixture.claim_one().await;
    let step = Step::new("charge", "ok").unwrap();
    let remembered = fixture.store.remember_step(job.claim.clone(), step).await;
    remembered.unwrap();
    fixture.finish(&job, retry()).await;
    let job = fixture.claim_one().await;
    fixture.finish(&job, terminal()).await;
    fixture
        .operate(Action::Retry { new_key: false }, &[id])
        .await;
    let job = fixture.claim_one().await;
    assert_eq!(fixture.finish(&job, completed()).await, Finished::Done);
}

#[tokio::test]
async fn a_message_goes_with_its_record_and_with_its_whole_history() {
    let fixture = Fixture::new();
    with_a_history(&fixture, "m").await;
    for table in TABLES.iter().filter(|table| **table != "semel_work") {
        assert!(fixture.count(table) > 0, "{table}");
    }
    fixture.clock.advance(KEEP);
    fixture.sweep_all().await;
    for table in TABLES {
        assert_eq!(fixture.count(table), 0, "{table}");
    }
    assert!(fixture.detail("m").await.is_none());
}

#[tokio::test]
async fn a_sweep_takes_bounded_steps() {
    let fixture = Fixture::new();
    fixture
        .receive((0..10).map(|n| message(&format!("m-{n}"))).collect())
        .await;
    fixture.process_all().await;
    fixture.clock.advance(KEEP);
    let mut left = Vec::new();
    while fixture.store.sweep(4).await.unwrap().more {
        left.push(fixture.count("semel_messages"));
    }
    assert_eq!(left, [6, 2]);
    assert_eq!(fixture.count("semel_messages"), 0);
}

#[tokio::test]
async fn a_message_whose_record_was_erased_goes_when_its_own_time_is_over() {
    let fixture = Fixture::new();
    fixture.receive(vec![message("m")]).await;
    fixture.process_all().await;
    let record = fixture.store.look_up_one(identity("m")).await.unwrap();
    let request = ResolveRequest {
        claim: Claim {
            identity: identity("m"),
            fence: record.unwrap().fence,
        },
        by: Actor::new("ops").unwrap(),
        resolution: Resolution::Erase,
        reason: None,
    };
    fixture.store.resolve_one(request).await.unwrap();
    fixture.sweep_all().await;
    assert_eq!(fixture.state("m").await, State::Completed);
    fixture.clock.advance(KEEP);
    // Whatever waits in front of it does not keep it.
    for n in 0..5 {
        fixture.receive(vec![message(&format!("m-{n}"))]).await;
        fixture.sweep_all().await;
    }
    assert!(fixture.detail("m").await.is_none());
}

#[tokio::test]
async fn an_id_whose_record_was_erased_runs_again() {
    let fixture = Fixture::new();
    fixture.receive(vec![message("m")]).await;
    fixture.process_all().await;
    let connection = fixture.connection();
    for table in ["semel_keys", "semel_claims", "semel_outcomes"] {
        let sql = format!("DELETE FROM {table}");
        connection.execute(&sql, []).unwrap();
    }
    let received = State::Received;
    let again = fixture.receive(vec![message("m")]).await;
    assert_eq!(again, [Receipt::Stored { state: received }]);
    assert_eq!(fixture.process_all().await, ["m"]);
}

#[tokio::test]
async fn a_replay_that_waits_keeps_its_message_beyond_its_record() {
    let fixture = Fixture::new();
    fixture.receive(vec![message("m")]).await;
    fixture.process_all().await;
    let replay = Action::Replay { rebuild: false };
    assert_eq!(fixture.operate(replay, &["m"]).await.changed, 1);
    fixture.clock.advance(KEEP * 2);
    fixture.sweep_all().await;
    assert!(
        fixture
            .store
            .look_up_one(identity("m"))
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(fixture.process_all().await, ["m"]);
    // The replay settled a new record.
    assert!(
        fixture
            .store
            .look_up_one(identity("m"))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn a_lane_by_sequence_outlives_its_messages_and_what_was_skipped_before_its_turn() {
    let fixture = Fixture::new().ordered(Order::Sequence {
        baseline: Baseline::After(0),
        on_gap: OnGap::default(),
        on_terminal: OnTerminal::Park,
    });
    fixture.versions(&[1, 2, 3]).await;
    let job = fixture.claim_one().await;
    fixture.operate(Action::Skip, &["a-2"]).await;
    fixture.clock.advance(KEEP * 2);
    fixture.sweep_all().await;
    assert!(
        fixture.detail("a-2").await.is_some(),
        "its lane has not come to it"
    );
    assert_eq!(fixture.finish(&job, completed()).await, Finished::Done);
    assert_eq!(fixture.process_all().await, ["a-3"]);
    fixture.clock.advance(KEEP * 2);
    fixture.sweep_all().await;
    assert_eq!(fixture.count("semel_messages"), 0);
    assert_eq!(fixture.versions(&[3]).await, [State::SkippedDuplicate]);
    let cause = fixture.detail("a-3").await.unwrap().entry.cause;
    assert_eq!(cause, Some(Cause::OlderVersion));
    assert_eq!(fixture.receive(vec![version("a", 4)]).await.len(), 1);
    assert_eq!(fixture.process_all().await, ["a-4"]);
}

#[tokio::test]
async fn old_lines_of_the_audit_go_with_old_events() {
    let fixture = Fixture::new();
    fixture.receive(vec![message("m")]).await;
    fixture.operate(Action::Park, &["m"]).await;
    assert_eq!(fixture.store.audit(10).await.unwrap().len(), 1);
    fixture
        .clock
        .advance(std::time::Duration::from_secs(100 * 24 * 60 * 60));
    fixture.sweep_all().await;
    assert_eq!(fixture.store.audit(10).await.unwrap(), []);
    assert_eq!(fixture.state("m").await, State::Parked);
}

#[tokio::test]
async fn at_most_a_hundred_attempts_and_transitions_are_kept() {
    let fixture = Fixture::new();
    fixture.receive(vec![message("m")]).await;
    for _ in 0..120 {
        let job = fixture.claim_one().await;
        fixture.finish(&job, retry()).await;
        let job = fixture.claim_one().await;
        fixture.finish(&job, Disposition::Return).await;
    }
    let detail = fixture.detail("m").await.unwrap();
    assert_eq!(
        (detail.attempts.len(), detail.transitions.len()),
        (100, 100)
    );
    assert_eq!(detail.attempts[99].number, 120);
    assert_eq!(detail.attempts[0].number, 21);
}
