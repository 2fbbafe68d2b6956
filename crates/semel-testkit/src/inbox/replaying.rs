//! Messages that were dealt with and run once more.

use semel_core::inbox::order::GapThen;
use semel_core::inbox::{
    Action, Baseline, Disposition, Finished, OnGap, OnTerminal, Order, Receipt, Selection, State,
};

use super::receiving::rich;
use super::seen::duplicate;
use super::subject::Subject;
use super::values::{LONG, completed, only, retry_after, terminal};

const REPLAY: Action = Action::Replay { rebuild: false };
const REBUILD: Action = Action::Replay { rebuild: true };

fn by_version(s: &Subject) -> Subject {
    s.clone().ordered(Order::Sequence {
        baseline: Baseline::After(0),
        on_gap: OnGap {
            deadline: LONG,
            then: GapThen::Hold,
        },
        on_terminal: OnTerminal::Park,
    })
}

async fn history(s: &Subject) {
    s.stored((1..=3).map(|n| s.version("a", n)).collect()).await;
    assert_eq!(s.process_all().await, ["a-1", "a-2", "a-3"]);
}

/// The same message with the flag that tells its handler.
pub async fn a_replayed_message_is_the_same_with_the_flag_set(s: Subject) {
    s.stored(vec![rich(&s, "m")]).await;
    let first = s.claim_one().await;
    s.complete(&first).await;
    let report = s.operate(REPLAY, &["m"]).await;
    assert_eq!((report.matched, report.changed, report.gone), (1, 1, 0));
    s.is("m", State::Received).await;
    let again = s.claim_one().await;
    assert!(again.replay);
    assert_eq!((again.attempt, again.generation), (1, 1));
    assert!(again.claim.fence > first.claim.fence);
    assert_eq!(*again.message, rich(&s, "m"));
    assert_eq!(again.received_at, first.received_at);
}

/// A settled record does not change: what the replay comes to is not what duplicates are shown.
pub async fn a_replay_leaves_the_settled_record_alone(s: Subject) {
    s.received(&["m"]).await;
    let first = s.claim_one().await;
    s.finish(&first, completed("the first")).await;
    let before = s.record("m").await;
    s.operate(REPLAY, &["m"]).await;
    assert_eq!(s.record("m").await, before);
    let again = s.claim_one().await;
    assert_eq!(s.record("m").await, before);
    assert_eq!(
        s.finish(&again, completed("the second")).await,
        Finished::Done
    );
    assert_eq!(s.record("m").await, before);
    s.is("m", State::Completed).await;
    s.nothing_is_due().await;
}

/// Whatever arrives while a replay waits or runs is still a duplicate.
pub async fn a_duplicate_that_arrives_during_a_replay_is_a_duplicate(s: Subject) {
    s.processed(&["m"]).await;
    s.operate(REPLAY, &["m"]).await;
    let waiting = s.receive_one(s.message("m")).await;
    assert!(matches!(waiting, Receipt::Duplicate { .. }), "{waiting:?}");
    let job = s.claim_one().await;
    let running = s.receive_one(s.message("m")).await;
    assert!(matches!(running, Receipt::Duplicate { .. }), "{running:?}");
    s.nothing_is_due().await;
    s.complete(&job).await;
    assert_eq!(
        s.receive_one(s.message("m")).await,
        duplicate(State::Completed)
    );
    let other = s.receive_one(s.message_of("m", "another payload")).await;
    assert_eq!(other, Receipt::Conflict);
    s.nothing_is_due().await;
}

/// A replay that fails is retried as a replay, and what was done stays done.
pub async fn a_replay_that_fails_is_still_a_replay(s: Subject) {
    s.processed(&["m"]).await;
    s.operate(REPLAY, &["m"]).await;
    let job = s.claim_one().await;
    s.finish(&job, retry_after(std::time::Duration::ZERO)).await;
    let again = s.claim_one().await;
    assert!(again.replay);
    assert_eq!((again.attempt, again.generation), (2, 1));
    s.finish(&again, terminal()).await;
    s.is("m", State::FailedTerminal).await;
    assert_eq!(s.outcome("m").await, "done m");
    let more = s.receive_one(s.message("m")).await;
    assert!(matches!(more, Receipt::Duplicate { .. }), "{more:?}");
    s.operate(Action::Retry { new_key: false }, &["m"]).await;
    let last = s.claim_one().await;
    assert!(last.replay);
    assert_eq!((last.attempt, last.generation), (1, 2));
}

/// A message may be replayed as often as people like.
pub async fn a_message_can_be_replayed_again(s: Subject) {
    s.processed(&["m"]).await;
    for generation in 1..=3 {
        assert_eq!(s.operate(REPLAY, &["m"]).await.changed, 1);
        assert_eq!(s.operate(REPLAY, &["m"]).await.changed, 0);
        let job = s.claim_one().await;
        assert_eq!(job.generation, generation);
        s.complete(&job).await;
    }
}

/// What was passed over can be replayed too.
pub async fn a_skipped_message_can_be_replayed(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    let cause = semel_core::inbox::Cause::Handler;
    s.finish(&job, Disposition::Skip { cause }).await;
    assert_eq!(s.operate(REPLAY, &["m"]).await.changed, 1);
    let again = s.claim_one().await;
    assert!(again.replay);
    assert_eq!(s.complete(&again).await, Finished::Done);
    s.nothing_is_due().await;
}

/// A replay of a stretch of time takes what was received in it.
pub async fn a_stretch_of_time_can_be_replayed(s: Subject) {
    let mut received = Vec::new();
    for id in ["a", "b", "c"] {
        s.processed(&[id]).await;
        received.push(s.entry(id).await.received_at);
        s.pass(std::time::Duration::from_millis(20)).await;
    }
    let select = Selection {
        from: Some(received[1]),
        until: Some(received[2]),
        ..Selection::default()
    };
    assert_eq!(s.operate_as(s.operation(REPLAY, select)).await.changed, 1);
    assert_eq!(s.claim_ids().await, ["b"]);
}

/// Without a rebuild versions that were applied are older than what there is.
pub async fn a_replay_of_applied_versions_skips_them(s: Subject) {
    let s = by_version(&s);
    history(&s).await;
    let told = s.dry_run(REPLAY, &["a-1", "a-2", "a-3"]).await;
    let done = s.operate(REPLAY, &["a-1", "a-2", "a-3"]).await;
    for report in [told, done] {
        assert_eq!((report.matched, report.changed, report.skipped), (3, 0, 3));
    }
    s.nothing_is_due().await;
}

/// A rebuild sets the lane back to just before the lowest version, and all run again in their order.
pub async fn a_rebuild_applies_versions_again_in_order(s: Subject) {
    let s = by_version(&s);
    history(&s).await;
    let told = s.dry_run(REBUILD, &["a-2", "a-3"]).await;
    s.nothing_is_due().await;
    let done = s.operate(REBUILD, &["a-3", "a-2"]).await;
    assert_eq!((told.changed, done.changed), (2, 2));
    let job = s.claim_one().await;
    assert!(job.replay);
    s.nothing_is_due().await;
    s.complete(&job).await;
    assert_eq!(job.message.sequence(), Some(2));
    assert_eq!(s.process_all().await, ["a-3"]);
    s.stored(vec![s.version("a", 4)]).await;
    assert_eq!(s.process_all().await, ["a-4"]);
}

/// A rebuild of a whole consumer takes all of its lanes back, and new versions wait for their turn.
pub async fn a_rebuild_of_everything_takes_new_versions_along(s: Subject) {
    let s = by_version(&s);
    history(&s).await;
    s.stored(vec![s.version("b", 1)]).await;
    s.process_all().await;
    let everything = s.operation(REBUILD, Selection::default());
    assert_eq!(s.operate_as(everything).await.changed, 4);
    s.stored(vec![s.version("a", 4)]).await;
    let order = s.process_all().await;
    let place = |id: &str| order.iter().position(|found| found == id);
    assert_eq!(order.len(), 5);
    assert!(place("a-1") < place("a-2") && place("a-2") < place("a-3"));
    assert!(place("a-3") < place("a-4"), "{order:?}");
    assert!(place("b-1").is_some());
}

/// In order of arrival, replayed messages keep the order among themselves.
pub async fn replayed_messages_of_a_lane_run_in_their_order(s: Subject) {
    let on_terminal = OnTerminal::Park;
    let s = s.ordered(Order::Arrival { on_terminal });
    let ids = ["a", "b", "c"];
    s.stored(ids.iter().map(|id| s.in_lane("lane", id)).collect())
        .await;
    s.process_all().await;
    assert_eq!(s.operate(REPLAY, &ids).await.changed, 3);
    let head = only(s.claim().await);
    assert!(head.replay);
    s.nothing_is_due().await;
    s.complete(&head).await;
    assert_eq!(s.process_all().await, ["b", "c"]);
}

/// A replay is in the audit under its own name.
pub async fn a_replay_is_in_the_audit(s: Subject) {
    let s = by_version(&s);
    history(&s).await;
    s.dry_run(REBUILD, &["a-1"]).await;
    s.operate(REBUILD, &["a-1"]).await;
    let line = only(s.audit().await);
    assert_eq!((line.action.as_str(), line.changed), ("rebuild", 1));
}
