//! Who gets which messages.

use std::collections::BTreeSet;
use std::time::Duration;

use semel_core::inbox::{State, UnknownPolicy};
use tokio::task::JoinSet;

use super::subject::Subject;
use super::values::{LONG, completed, id, lease, only, parked, retry_after, terminal};

/// Rule 2, for one message.
pub async fn a_message_is_claimed_once_however_many_claimers_race(s: Subject) {
    s.received(&["m"]).await;
    let mut claimers = JoinSet::new();
    for _ in 0..16 {
        let s = s.clone();
        claimers.spawn(async move { s.claim().await });
    }
    let jobs = claimers.join_all().await.concat();
    assert_eq!(jobs.iter().map(id).collect::<Vec<_>>(), ["m"]);
}

/// Rule 2, for many: several workers share an inbox, and together they get everything.
pub async fn a_storm_of_claimers_shares_the_messages_out(s: Subject) {
    const MESSAGES: usize = 200;
    let ids: Vec<String> = (0..MESSAGES).map(|n| format!("m-{n}")).collect();
    s.stored(ids.iter().map(|id| s.message(id)).collect()).await;
    let mut claimers = JoinSet::new();
    for _ in 0..8 {
        let s = s.clone();
        claimers.spawn(async move {
            let mut own = Vec::new();
            loop {
                match s.claim_as(s.ask(7)).await.jobs {
                    jobs if jobs.is_empty() => return own,
                    jobs => {
                        assert!(jobs.len() <= 7, "more than asked for: {}", jobs.len());
                        own.extend(jobs);
                    }
                }
            }
        });
    }
    // A claimer may leave early because what was due stood under another's lock; what it left, others got.
    let mut jobs = claimers.join_all().await.concat();
    jobs.extend(s.claim_as(s.ask(MESSAGES)).await.jobs);
    let distinct: BTreeSet<String> = jobs.iter().map(id).collect();
    assert_eq!((jobs.len(), distinct.len()), (MESSAGES, MESSAGES));
    let fences: BTreeSet<u64> = jobs.iter().map(|job| job.claim.fence.get()).collect();
    assert_eq!(fences.len(), MESSAGES);
}

/// The oldest come first, and nobody gets more than was asked for.
pub async fn a_claim_takes_the_oldest_first_and_no_more_than_asked(s: Subject) {
    let ids = ["e", "d", "c", "b", "a"];
    for id in ids {
        s.received(&[id]).await;
        s.pass(Duration::from_millis(2)).await;
    }
    for expected in [&ids[..2], &ids[2..4], &ids[4..]] {
        let claimed = s.claim_as(s.ask(2)).await;
        let found: Vec<String> = claimed.jobs.iter().map(id).collect();
        assert_eq!(found, expected);
    }
}

/// Messages that arrived together run in the order they had.
pub async fn a_batch_is_claimed_in_its_order(s: Subject) {
    let ids = ["c", "a", "d", "b"];
    s.received(&ids).await;
    assert_eq!(s.claim_ids().await, ids);
}

/// A consumer and its versions have an inbox each.
pub async fn a_claim_takes_only_its_own_consumers_messages(s: Subject) {
    let (other, newer) = (s.beside("-other", 1), s.beside("", 2));
    s.received(&["own"]).await;
    other.received(&["other"]).await;
    newer.received(&["newer"]).await;
    assert_eq!(s.claim_ids().await, ["own"]);
    assert_eq!(other.claim_ids().await, ["other"]);
    assert_eq!(newer.claim_ids().await, ["newer"]);
}

/// Tenants share a consumer's workers.
pub async fn a_claim_takes_messages_of_all_tenants(s: Subject) {
    let other = s.clone().of_tenant("another");
    s.received(&["a"]).await;
    other.received(&["b"]).await;
    assert_eq!(s.claim_ids().await, ["a", "b"]);
}

/// A handler knows which attempt it is, and since when.
pub async fn a_claimed_message_says_what_its_handler_needs(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    assert_eq!((job.attempt, job.generation, job.replay), (1, 0, false));
    assert_eq!(job.claim.identity, s.identity("m"));
    assert_eq!(*job.message, s.message("m"));
    assert_eq!(job.lease_until, job.claimed_at.after(lease().get()));
    assert!(job.received_at <= job.claimed_at);
    assert!(job.steps.is_empty());
    let entry = s.entry("m").await;
    assert_eq!(entry.state, State::InProgress);
    assert_eq!(entry.worker.as_deref(), Some("the suite"));
    assert_eq!(entry.due_at, Some(job.lease_until));
    assert_eq!((entry.attempts, entry.received_at), (1, job.received_at));
}

/// A worker that finds nothing knows how long it may sleep.
pub async fn a_claim_says_when_the_next_message_will_be_due(s: Subject) {
    let claimed = s.claim_as(s.ask(10)).await;
    assert!(claimed.jobs.is_empty());
    assert_eq!(claimed.next_due, None);
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    let ends = s.claim_as(s.ask(10)).await.next_due;
    assert!(ends.is_some_and(|due| due <= lease().get()), "{ends:?}");
    s.finish(&job, retry_after(LONG / 2)).await;
    let due = s.claim_as(s.ask(10)).await.next_due;
    assert!(
        due.is_some_and(|due| due <= LONG / 2 && due > LONG / 4),
        "{due:?}"
    );
}

/// What failed for good, is parked, or was passed over waits for a person.
pub async fn what_waits_for_a_person_is_never_claimed(s: Subject) {
    let skip = semel_core::inbox::Disposition::Skip {
        cause: semel_core::inbox::Cause::Handler,
    };
    for (id, disposition) in [
        ("terminal", terminal()),
        ("parked", parked()),
        ("skipped", skip),
        ("done", completed("done")),
    ] {
        s.received(&[id]).await;
        let job = s.claim_one().await;
        s.finish(&job, disposition).await;
    }
    s.pass(super::values::AWHILE).await;
    let mut ask = s.ask(10);
    for on_unknown in [UnknownPolicy::Rerun, UnknownPolicy::Hold] {
        ask.on_unknown = on_unknown;
        let claimed = s.claim_as(ask.clone()).await;
        assert!(claimed.jobs.is_empty(), "{claimed:?}");
        assert_eq!(claimed.next_due, None);
    }
}

/// A worker without room asks for nothing and gets nothing.
pub async fn a_claim_of_nothing_gets_nothing(s: Subject) {
    s.received(&["m"]).await;
    assert!(s.claim_as(s.ask(0)).await.jobs.is_empty());
    assert_eq!(s.claim_ids().await, ["m"]);
}

/// Whoever waits in the same process hears of new messages, of retries by hand, and of lanes that go on.
pub async fn a_wake_up_comes_when_something_becomes_due(s: Subject) {
    let mut wake_up = s.inbox().wake_up(s.consumer());
    s.received(&["m"]).await;
    woken(&mut wake_up).await;
    let job = only(s.claim().await);
    s.finish(&job, terminal()).await;
    let mut wake_up = s.inbox().wake_up(s.consumer());
    s.operate(semel_core::inbox::Action::Retry { new_key: false }, &["m"])
        .await;
    woken(&mut wake_up).await;
}

pub(super) async fn woken(wake_up: &mut semel_core::inbox::WakeUp) {
    // Much longer than any wake-up takes: it only keeps one that never comes from stopping the suite.
    let patience = Duration::from_secs(20);
    let heard = tokio::time::timeout(patience, wake_up.woken()).await;
    heard.expect("the wake_up rings");
}
