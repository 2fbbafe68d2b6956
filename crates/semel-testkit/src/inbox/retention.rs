//! How long what was dealt with is remembered, and that what waits is never forgotten.

use semel_core::inbox::{Action, Cause, OnTerminal, Order, Query, State};

use super::seen::{duplicate, stored};
use super::subject::Subject;
use super::values::{AWHILE, LONG, id, parked, retry_after, short_retention, terminal};

/// When its record's retention has ended, an id is new, whether or not the sweep has been by.
pub async fn after_retention_the_same_id_is_new(s: Subject) {
    let s = s.retaining(short_retention());
    s.processed(&["unswept", "swept"]).await;
    s.pass(AWHILE).await;
    assert_eq!(
        s.receive_one(s.message("unswept")).await,
        stored(State::Received)
    );
    s.sweep_all().await;
    let other = s.message_of("swept", "another payload");
    assert_eq!(s.receive_one(other).await, stored(State::Received));
    let jobs = s.claim().await;
    let ids: Vec<String> = jobs.iter().map(id).collect();
    assert_eq!(ids, ["unswept", "swept"]);
    assert_eq!(*jobs[1].message.payload(), "another payload");
    assert!(
        jobs.iter()
            .all(|job| (job.attempt, job.generation) == (1, 0))
    );
    assert!(jobs.iter().all(|job| !job.replay));
}

/// Retention starts when a message is dealt with: waiting and running do not eat into it.
pub async fn retention_starts_when_a_message_is_dealt_with(s: Subject) {
    let brief = s.clone().retaining(short_retention());
    brief.received(&["m"]).await;
    s.pass(AWHILE).await;
    let job = brief.claim_one().await;
    s.pass(AWHILE).await;
    // The retention of the finish counts: long, so that no test outlives it.
    s.complete(&job).await;
    s.pass(AWHILE).await;
    s.sweep_all().await;
    assert_eq!(
        s.receive_one(s.message("m")).await,
        duplicate(State::Completed)
    );
    let detail = s.detail("m").await.expect("known");
    assert_eq!(detail.message, Some(s.message("m")));
}

/// A message that waits is kept as long as it waits, whatever it waits for.
pub async fn what_waits_outlives_its_retention(s: Subject) {
    let s = s.retaining(short_retention());
    s.received(&["running"]).await;
    let running = s.claim_one().await;
    for (id, disposition) in [
        ("later", retry_after(LONG)),
        ("failed", terminal()),
        ("parked", parked()),
    ] {
        s.received(&[id]).await;
        let job = s.claim_one().await;
        s.finish(&job, disposition).await;
    }
    s.received(&["received"]).await;
    s.pass(AWHILE).await;
    s.sweep_all().await;
    let job = s.claim_one().await;
    assert_eq!(*job.message, s.message("received"));
    s.operate(
        Action::Retry { new_key: false },
        &["later", "failed", "parked"],
    )
    .await;
    let jobs = s.claim().await;
    let mut ids: Vec<String> = jobs.iter().map(id).collect();
    ids.sort_unstable();
    assert_eq!(ids, ["failed", "later", "parked"]);
    for job in jobs.iter().chain([&running, &job]) {
        assert_eq!(*job.message, s.message(&id(job)));
        s.complete(job).await;
    }
}

/// A duplicate of what waits is a duplicate, however long it waits.
pub async fn what_waits_suppresses_beyond_its_retention(s: Subject) {
    let s = s.retaining(short_retention());
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    s.finish(&job, terminal()).await;
    s.pass(AWHILE).await;
    s.sweep_all().await;
    let again = s.receive_one(s.message("m")).await;
    assert_eq!(again, duplicate(State::FailedTerminal));
}

/// What was dealt with goes when its time is over, from every list.
pub async fn a_sweep_forgets_what_is_past_retention(s: Subject) {
    let s = s.retaining(short_retention());
    s.processed(&["done"]).await;
    s.received(&["skipped"]).await;
    s.operate(Action::Skip, &["skipped"]).await;
    s.received(&["waiting"]).await;
    s.pass(AWHILE).await;
    s.sweep_all().await;
    assert!(s.detail("done").await.is_none());
    assert!(s.detail("skipped").await.is_none());
    let left = s.list(Query::default()).await;
    assert_eq!(left.len(), 1, "{left:?}");
    assert_eq!(s.counts().await.skipped, 0);
}

/// A lane remembers how far it was applied, also when its messages are gone.
pub async fn a_lane_outlives_its_messages(s: Subject) {
    let order = Order::Sequence {
        baseline: semel_core::inbox::Baseline::FirstSeen,
        on_gap: semel_core::inbox::OnGap::default(),
        on_terminal: OnTerminal::Park,
    };
    let s = s.ordered(order).retaining(short_retention());
    s.stored(vec![s.version("a", 7)]).await;
    s.process_all().await;
    s.pass(AWHILE).await;
    s.sweep_all().await;
    let receipts = s.receive(vec![s.version("a", 6), s.version("a", 8)]).await;
    let expected = [State::SkippedDuplicate, State::Received].map(stored);
    assert_eq!(receipts, expected);
    let cause = s.state("a-6").await.1;
    assert_eq!(cause, Some(Cause::OlderVersion));
}
