//! Many items per call: a batch answers as its items would one after another.

use semel_core::Kind;
use semel_core::inbox::{
    BATCH_MAX, Disposition, Finish, Finished, Message, OnTerminal, Order, State,
};
use tokio::task::JoinSet;

use super::seen::{duplicate, stored};
use super::subject::Subject;
use super::values::{
    AWHILE, LONG, completed, finish_of, lease, only, parked, retry_after, terminal,
};

/// Receipts, over messages in every state.
pub async fn a_batch_of_arrivals_answers_like_single_calls(s: Subject) {
    s.processed(&["done"]).await;
    for (id, disposition) in [("failed", terminal()), ("parked", parked())] {
        s.received(&[id]).await;
        let job = s.claim_one().await;
        s.finish(&job, disposition).await;
    }
    s.received(&["running"]).await;
    s.claim_one().await;
    let batch = vec![
        s.message("new"),
        s.message("running"),
        s.message("failed"),
        s.message_of("failed", "another payload"),
        s.message("parked"),
        s.message("done"),
        s.message("newer"),
    ];
    let expected = [
        stored(State::Received),
        duplicate(State::InProgress),
        duplicate(State::FailedTerminal),
        semel_core::inbox::Receipt::Conflict,
        duplicate(State::Parked),
        duplicate(State::Completed),
        stored(State::Received),
    ];
    assert_eq!(s.receive(batch).await, expected);
    assert_eq!(s.process_all().await, ["new", "newer"]);
}

/// Finishes of every kind, among them one that is late.
pub async fn a_batch_of_finishes_answers_like_single_calls(s: Subject) {
    s.received(&["lost"]).await;
    let lost = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    s.claim_one().await;
    s.received(&["a", "b", "c", "d", "e", "f"]).await;
    let jobs = s.claim().await;
    let cause = semel_core::inbox::Cause::Handler;
    let mut items = vec![finish_of(&lost, completed("late"))];
    for (job, disposition) in jobs.iter().zip([
        completed("done"),
        retry_after(LONG),
        terminal(),
        parked(),
        Disposition::Skip { cause },
        Disposition::Return,
    ]) {
        items.push(finish_of(job, disposition));
    }
    let answers = s.finish_all(items).await;
    assert_eq!(answers[0], Finished::Lost);
    assert_eq!(answers[1..], [Finished::Done; 6]);
    for (id, state) in [
        ("a", State::Completed),
        ("b", State::FailedRetryable),
        ("c", State::FailedTerminal),
        ("d", State::Parked),
        ("e", State::SkippedDuplicate),
        ("f", State::Received),
        ("lost", State::InProgress),
    ] {
        s.is(id, state).await;
    }
}

/// One claim ends once, also if a batch says it twice.
pub async fn two_ends_of_one_claim_in_a_batch_have_one_winner(s: Subject) {
    s.received(&["a", "b"]).await;
    let jobs = s.claim().await;
    let items = vec![
        finish_of(&jobs[0], completed("the first")),
        finish_of(&jobs[1], completed("another")),
        finish_of(&jobs[0], terminal()),
    ];
    let (done, lost) = (Finished::Done, Finished::Lost);
    assert_eq!(s.finish_all(items).await, [done, done, lost]);
    assert_eq!(s.outcome("a").await, "the first");
    s.is("a", State::Completed).await;
}

/// Nothing asked, nothing answered.
pub async fn an_empty_batch_of_messages_has_no_answers(s: Subject) {
    assert_eq!(s.receive(Vec::new()).await, []);
    assert_eq!(s.finish_all(Vec::new()).await, []);
    let renewed = s.inbox().renew(Vec::new(), lease()).await;
    assert_eq!(renewed.expect("an answer"), []);
}

/// The limit is an error, not a cut.
pub async fn a_batch_of_messages_above_the_limit_is_refused_whole(s: Subject) {
    let messages: Vec<Message> = (0..=BATCH_MAX)
        .map(|n| s.message(&format!("m-{n}")))
        .collect();
    let refused = s.inbox().receive(s.arrivals(messages.clone())).await;
    assert_eq!(refused.expect_err("too many").kind(), Kind::Limit);
    assert!(s.detail("m-0").await.is_none());
    s.stored(messages[..BATCH_MAX].to_vec()).await;
    let jobs = s.claim_as(s.ask(BATCH_MAX)).await.jobs;
    assert_eq!(jobs.len(), BATCH_MAX);
    let end = |n: usize| finish_of(&jobs[n % BATCH_MAX], completed("done"));
    let items: Vec<Finish> = (0..=BATCH_MAX).map(end).collect();
    let refused = s.inbox().finish(s.plan().clone(), items.clone()).await;
    assert_eq!(refused.expect_err("too many").kind(), Kind::Limit);
    let claims = items.iter().map(|item| item.claim.clone()).collect();
    let refused = s.inbox().renew(claims, lease()).await;
    assert_eq!(refused.expect_err("too many").kind(), Kind::Limit);
    let answers = s.finish_all(items[..BATCH_MAX].to_vec()).await;
    assert!(answers.iter().all(|answer| *answer == Finished::Done));
}

/// Batches that touch the same messages in different orders neither deadlock nor store one twice.
pub async fn concurrent_arrivals_in_opposite_orders_all_answer(s: Subject) {
    const MESSAGES: usize = 40;
    let mut batches = JoinSet::new();
    for n in 0..8 {
        let s = s.clone();
        batches.spawn(async move {
            let mut ids: Vec<usize> = (0..MESSAGES).collect();
            if n % 2 == 0 {
                ids.reverse();
            }
            let messages = ids.iter().map(|id| s.message(&format!("m-{id}")));
            s.receive(messages.collect()).await
        });
    }
    let receipts = batches.join_all().await.concat();
    let new = receipts.iter().filter(|r| **r == stored(State::Received));
    assert_eq!(new.count(), MESSAGES);
    assert_eq!(s.process_all().await.len(), MESSAGES);
}

/// Batches that touch the same lanes in different orders neither deadlock nor lose a place.
pub async fn concurrent_batches_on_the_same_lanes_all_answer(s: Subject) {
    const LANES: usize = 8;
    let on_terminal = OnTerminal::Park;
    let s = s.ordered(Order::Arrival { on_terminal });
    let mut batches = JoinSet::new();
    for n in 0..6 {
        let s = s.clone();
        batches.spawn(async move {
            let mut lanes: Vec<usize> = (0..LANES).collect();
            if n % 2 == 0 {
                lanes.reverse();
            }
            let messages = lanes
                .iter()
                .map(|lane| s.in_lane(&format!("lane-{lane}"), &format!("{lane}-{n}")));
            s.receive(messages.collect()).await;
            let jobs = s.claim_as(s.ask(LANES)).await.jobs;
            let ends = jobs.iter().map(|job| finish_of(job, completed("done")));
            let finished = s.finish_all(ends.collect()).await;
            finished.len()
        });
    }
    let early: usize = batches.join_all().await.into_iter().sum();
    assert_eq!(early + s.process_all().await.len(), 6 * LANES);
}
