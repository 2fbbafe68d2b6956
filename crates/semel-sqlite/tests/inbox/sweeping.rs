//! What retention no longer protects goes with all that hangs on it; what waits stays.

use semel_core::inbox::{
    Action, Baseline, Cause, Disposition, Finished, OnGap, OnTerminal, Order, Receipt, State, Step,
};
use semel_core::store::{Actor, Resolution, ResolveRequest, StoreExt};
use semel_core::{Claim, Inbox, Store};

use crate::desk::{Desk, KEEP, completed, identity, message, retry, terminal, version};

const TABLES: [&str; 7] = [
    "semel_messages",
    "semel_work",
    "semel_attempts",
    "semel_transitions",
    "semel_steps",
    "semel_duplicates",
    "semel_generations",
];

async fn with_a_history(desk: &Desk, id: &str) {
    desk.receive(vec![message(id), message(id)]).await;
    let job = desk.claim_one().await;
    let step = Step::new("charge", "ok").unwrap();
    let remembered = desk.store.remember_step(job.claim.clone(), step).await;
    remembered.unwrap();
    desk.finish(&job, retry()).await;
    let job = desk.claim_one().await;
    desk.finish(&job, terminal()).await;
    desk.operate(Action::Retry { new_key: false }, &[id]).await;
    let job = desk.claim_one().await;
    assert_eq!(desk.finish(&job, completed()).await, Finished::Done);
}

#[tokio::test]
async fn a_message_goes_with_its_record_and_with_its_whole_history() {
    let desk = Desk::new();
    with_a_history(&desk, "m").await;
    for table in TABLES.iter().filter(|table| **table != "semel_work") {
        assert!(desk.count(table) > 0, "{table}");
    }
    desk.clock.advance(KEEP);
    desk.sweep_all().await;
    for table in TABLES {
        assert_eq!(desk.count(table), 0, "{table}");
    }
    assert!(desk.detail("m").await.is_none());
}

#[tokio::test]
async fn a_sweep_takes_bounded_steps() {
    let desk = Desk::new();
    desk.receive((0..10).map(|n| message(&format!("m-{n}"))).collect())
        .await;
    desk.process_all().await;
    desk.clock.advance(KEEP);
    let mut left = Vec::new();
    while desk.store.sweep(4).await.unwrap().more {
        left.push(desk.count("semel_messages"));
    }
    assert_eq!(left, [6, 2]);
    assert_eq!(desk.count("semel_messages"), 0);
}

#[tokio::test]
async fn a_message_whose_record_was_erased_goes_when_its_own_time_is_over() {
    let desk = Desk::new();
    desk.receive(vec![message("m")]).await;
    desk.process_all().await;
    let record = desk.store.look_up_one(identity("m")).await.unwrap();
    let request = ResolveRequest {
        claim: Claim {
            identity: identity("m"),
            fence: record.unwrap().fence,
        },
        by: Actor::new("ops").unwrap(),
        resolution: Resolution::Erase,
    };
    desk.store.resolve_one(request).await.unwrap();
    desk.sweep_all().await;
    assert_eq!(desk.state("m").await, State::Completed);
    desk.clock.advance(KEEP);
    // Whatever waits in front of it does not keep it.
    for n in 0..5 {
        desk.receive(vec![message(&format!("m-{n}"))]).await;
        desk.sweep_all().await;
    }
    assert!(desk.detail("m").await.is_none());
}

#[tokio::test]
async fn an_id_whose_record_was_erased_runs_again() {
    let desk = Desk::new();
    desk.receive(vec![message("m")]).await;
    desk.process_all().await;
    let connection = desk.connection();
    for table in ["semel_keys", "semel_claims", "semel_outcomes"] {
        let sql = format!("DELETE FROM {table}");
        connection.execute(&sql, []).unwrap();
    }
    let received = State::Received;
    let again = desk.receive(vec![message("m")]).await;
    assert_eq!(again, [Receipt::Stored { state: received }]);
    assert_eq!(desk.process_all().await, ["m"]);
}

#[tokio::test]
async fn a_replay_that_waits_keeps_its_message_beyond_its_record() {
    let desk = Desk::new();
    desk.receive(vec![message("m")]).await;
    desk.process_all().await;
    let replay = Action::Replay { rebuild: false };
    assert_eq!(desk.operate(replay, &["m"]).await.changed, 1);
    desk.clock.advance(KEEP * 2);
    desk.sweep_all().await;
    assert!(
        desk.store
            .look_up_one(identity("m"))
            .await
            .unwrap()
            .is_none()
    );
    assert_eq!(desk.process_all().await, ["m"]);
    // The replay settled a new record.
    assert!(
        desk.store
            .look_up_one(identity("m"))
            .await
            .unwrap()
            .is_some()
    );
}

#[tokio::test]
async fn a_lane_by_sequence_outlives_its_messages_and_what_was_skipped_before_its_turn() {
    let desk = Desk::new().ordered(Order::Sequence {
        baseline: Baseline::After(0),
        on_gap: OnGap::default(),
        on_terminal: OnTerminal::Park,
    });
    desk.versions(&[1, 2, 3]).await;
    let job = desk.claim_one().await;
    desk.operate(Action::Skip, &["a-2"]).await;
    desk.clock.advance(KEEP * 2);
    desk.sweep_all().await;
    assert!(
        desk.detail("a-2").await.is_some(),
        "its lane has not come to it"
    );
    assert_eq!(desk.finish(&job, completed()).await, Finished::Done);
    assert_eq!(desk.process_all().await, ["a-3"]);
    desk.clock.advance(KEEP * 2);
    desk.sweep_all().await;
    assert_eq!(desk.count("semel_messages"), 0);
    assert_eq!(desk.versions(&[3]).await, [State::SkippedDuplicate]);
    let cause = desk.detail("a-3").await.unwrap().entry.cause;
    assert_eq!(cause, Some(Cause::OlderVersion));
    assert_eq!(desk.receive(vec![version("a", 4)]).await.len(), 1);
    assert_eq!(desk.process_all().await, ["a-4"]);
}

#[tokio::test]
async fn old_lines_of_the_audit_go_with_old_events() {
    let desk = Desk::new();
    desk.receive(vec![message("m")]).await;
    desk.operate(Action::Park, &["m"]).await;
    assert_eq!(desk.store.audit(10).await.unwrap().len(), 1);
    desk.clock
        .advance(std::time::Duration::from_secs(100 * 24 * 60 * 60));
    desk.sweep_all().await;
    assert_eq!(desk.store.audit(10).await.unwrap(), []);
    assert_eq!(desk.state("m").await, State::Parked);
}

#[tokio::test]
async fn at_most_a_hundred_attempts_and_transitions_are_kept() {
    let desk = Desk::new();
    desk.receive(vec![message("m")]).await;
    for _ in 0..120 {
        let job = desk.claim_one().await;
        desk.finish(&job, retry()).await;
        let job = desk.claim_one().await;
        desk.finish(&job, Disposition::Return).await;
    }
    let detail = desk.detail("m").await.unwrap();
    assert_eq!(
        (detail.attempts.len(), detail.transitions.len()),
        (100, 100)
    );
    assert_eq!(detail.attempts[99].number, 120);
    assert_eq!(detail.attempts[0].number, 21);
}
