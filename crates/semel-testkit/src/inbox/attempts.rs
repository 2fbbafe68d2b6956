//! What counts as an attempt, and what is kept of one.

use bytes::Bytes;
use semel_core::inbox::work::{ANSWER_BYTES_MAX, ErrorText};
use semel_core::inbox::{Action, Cause, Disposition, State};

use super::subject::Subject;
use super::values::{AWHILE, SHORTLY, only, parked, retry_after, terminal};

fn not_reached() -> Disposition {
    Disposition::NotReached {
        after: SHORTLY,
        error: ErrorText::new("connection refused"),
    }
}

/// An outage uses up no attempts.
pub async fn what_never_reached_its_handler_counts_no_attempt(s: Subject) {
    s.received(&["m"]).await;
    for _ in 0..3 {
        let job = s.claim_one().await;
        assert_eq!(job.attempt, 1);
        assert_eq!(job.first_tried_at, job.claimed_at);
        s.finish(&job, not_reached()).await;
        let waiting = (State::FailedRetryable, Some(Cause::NotReached));
        assert_eq!(s.state("m").await, waiting);
        s.nothing_is_due().await;
        s.pass(AWHILE).await;
    }
    assert_eq!(s.process_all().await, ["m"]);
}

/// The age of a provider's key counts from the first attempt that may have used it.
pub async fn a_message_knows_when_it_was_first_tried(s: Subject) {
    s.received(&["m"]).await;
    let returned = s.claim_one().await;
    s.finish(&returned, Disposition::Return).await;
    s.pass(AWHILE).await;
    let first = s.claim_one().await;
    assert_eq!(first.first_tried_at, first.claimed_at);
    s.finish(&first, retry_after(std::time::Duration::ZERO))
        .await;
    s.pass(AWHILE).await;
    let again = s.claim_one().await;
    assert_eq!(again.first_tried_at, first.claimed_at);
    s.finish(&again, terminal()).await;
    s.operate(Action::Retry { new_key: false }, &["m"]).await;
    let by_hand = s.claim_one().await;
    assert_eq!(by_hand.first_tried_at, first.claimed_at);
    assert_eq!(by_hand.key_generation, 0);
}

/// With a new key its provider sees it for the first time.
pub async fn a_retry_with_a_new_key_begins_anew(s: Subject) {
    s.received(&["m"]).await;
    let first = s.claim_one().await;
    s.finish(&first, terminal()).await;
    s.pass(AWHILE).await;
    let report = s.operate(Action::Retry { new_key: true }, &["m"]).await;
    assert_eq!(report.changed, 1);
    let again = s.claim_one().await;
    assert_eq!((again.generation, again.key_generation), (1, 1));
    assert_eq!(again.first_tried_at, again.claimed_at);
    let line = only(s.audit().await);
    assert_eq!(line.action, "retry-with-new-key");
}

/// What a handler answered when it failed is kept with the attempt, bounded.
pub async fn the_answer_of_a_failed_attempt_is_kept(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    let body = Bytes::from(vec![b'x'; ANSWER_BYTES_MAX + 1]);
    let error = ErrorText::new("the handler answered 400").with_answer(&body);
    s.finish(&job, Disposition::Terminal { error }).await;
    let attempt = only(s.detail("m").await.expect("known").attempts);
    assert_eq!(attempt.answer, Some(body.slice(..ANSWER_BYTES_MAX)));
    assert_eq!(attempt.error.as_deref(), Some("the handler answered 400"));
}

/// A message whose attempts were used up runs once more when a person unparks it.
pub async fn an_unparked_message_gets_its_last_attempt_back(s: Subject) {
    s.received(&["m"]).await;
    let exhausted = || Disposition::Park {
        cause: Cause::AttemptsExhausted,
        error: ErrorText::new("busy"),
    };
    let job = s.claim_one().await;
    s.finish(&job, exhausted()).await;
    assert_eq!(s.operate(Action::Unpark, &["m"]).await.changed, 1);
    let again = s.claim_one().await;
    assert_eq!((again.attempt, again.generation), (1, 0));
    s.finish(&again, parked()).await;
}

/// One claim brings no more bytes than asked for, but at least one message.
pub async fn a_claim_is_bounded_in_bytes(s: Subject) {
    let large = |id: &str| s.message_of(id, &"x".repeat(1_000));
    s.stored(vec![large("a"), large("b"), large("c")]).await;
    let mut ask = s.ask(10);
    ask.bytes_max = 2_500;
    assert_eq!(s.claim_as(ask.clone()).await.jobs.len(), 2);
    ask.bytes_max = 1;
    assert_eq!(s.claim_as(ask).await.jobs.len(), 1);
}

/// A replay goes out under the key that the message was done with, whose age is counted from its arrival at the latest.
pub async fn a_replay_keeps_the_key_that_it_was_done_with(s: Subject) {
    s.received(&["m"]).await;
    let first = s.claim_one().await;
    s.finish(&first, terminal()).await;
    s.operate(Action::Retry { new_key: true }, &["m"]).await;
    assert_eq!(s.process_all().await, ["m"]);
    s.pass(AWHILE).await;
    s.operate(Action::Replay { rebuild: false }, &["m"]).await;
    let again = s.claim_one().await;
    assert_eq!((again.generation, again.key_generation), (2, 1));
    assert_eq!(again.first_tried_at, again.received_at);
}
