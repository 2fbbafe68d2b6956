//! Retention, sweeping, archiving and erasing.

use std::time::Duration;

use semel_core::Retention;
use semel_core::store::{ClaimAnswer, Resolution, ResolveAnswer, SettleAnswer, StateFilter};

use super::subject::{PAST_RETENTION, Subject, replayed, retention, short_retention};

/// Rule 4: a slow run does not eat into the retention of its outcome.
pub async fn retention_starts_when_settled(s: Subject) {
    let lease = s.granted("k").await;
    s.pass(PAST_RETENTION).await;
    s.settle_for(&lease.claim, "slow", short_retention()).await;
    assert_eq!(replayed(&s.claim("k").await), b"slow");
    s.pass(PAST_RETENTION).await;
    assert_eq!(s.state("k").await, "absent");
}

/// What a reader sees does not depend on when the sweep comes by.
pub async fn an_expired_record_is_absent_before_it_is_swept(s: Subject) {
    let lease = s.granted("k").await;
    s.settle_for(&lease.claim, "old", short_retention()).await;
    s.pass(PAST_RETENTION).await;
    assert_eq!(s.state("k").await, "absent");
    let again = s.granted("k").await;
    assert_eq!(again.attempt, 1);
    assert!(again.claim.fence > lease.claim.fence);
    s.settle(&again.claim, "new").await;
    s.sweep_all().await;
    assert_eq!(replayed(&s.claim("k").await), b"new");
}

/// Rule 5, for running records: only their owner or its lease ends them.
pub async fn running_records_never_disappear(s: Subject) {
    let lease = s.granted("k").await;
    for _ in 0..3 {
        s.pass(Duration::from_millis(600)).await;
        s.renew(&lease.claim).await;
        s.sweep_all().await;
        assert_eq!(s.state("k").await, "running");
    }
    assert_eq!(s.settle(&lease.claim, "done").await, SettleAnswer::Settled);
}

/// One step touches no more than it was told to.
pub async fn a_sweep_takes_bounded_steps(s: Subject) {
    for n in 0..10 {
        let lease = s.granted(&format!("k-{n}")).await;
        s.settle_for(&lease.claim, "old", short_retention()).await;
    }
    s.settled("kept", "kept").await;
    s.pass(PAST_RETENTION).await;
    let mut gone = 0;
    loop {
        let swept = s.store().sweep(3).await.expect("the store answers");
        assert!(swept.deleted <= 3, "{swept:?}");
        gone += swept.deleted;
        if !swept.more {
            break;
        }
    }
    assert!(gone >= 10, "{gone}");
    assert_eq!(s.state("kept").await, "succeeded");
    assert_eq!(s.state("k-3").await, "absent");
}

/// Sweeping while others claim and settle takes nothing of theirs.
pub async fn a_sweep_under_load_loses_nothing(s: Subject) {
    for n in 0..50 {
        let lease = s.granted(&format!("old-{n}")).await;
        s.settle_for(&lease.claim, "old", short_retention()).await;
    }
    s.pass(PAST_RETENTION).await;
    let load = {
        let s = s.clone();
        tokio::spawn(async move {
            for n in 0..100 {
                s.settled(&format!("new-{n}"), "new").await;
                // Half of the old keys come back while the sweep is looking for them.
                if n < 25 {
                    s.settled(&format!("old-{n}"), "again").await;
                }
            }
        })
    };
    while !load.is_finished() {
        s.store().sweep(5).await.expect("the store answers");
    }
    load.await.expect("the load ends well");
    s.sweep_all().await;
    for n in 0..100 {
        assert_eq!(s.state(&format!("new-{n}")).await, "succeeded", "new-{n}");
    }
    for n in 0..50 {
        let expected = if n < 25 { "succeeded" } else { "absent" };
        assert_eq!(s.state(&format!("old-{n}")).await, expected, "old-{n}");
    }
}

/// An archived record no longer answers, and is not lost.
pub async fn archived_records_are_kept_apart(s: Subject) {
    let archive = Retention::archive_after(Duration::from_millis(400)).expect("valid");
    for key in ["swept", "replaced"] {
        let lease = s.granted(key).await;
        s.settle_for(&lease.claim, key, archive).await;
    }
    s.pass(PAST_RETENTION).await;
    s.settled("replaced", "new").await;
    s.sweep_all().await;
    assert_eq!(s.state("swept").await, "absent");
    let mut keys = s.listed_keys(StateFilter::Archived).await;
    keys.sort_unstable();
    assert_eq!(keys, ["replaced", "swept"]);
    assert!(matches!(s.claim("swept").await, ClaimAnswer::Granted(_)));
}

/// Erased means gone, also where the end of retention would have meant the archive.
pub async fn an_erased_record_is_not_archived(s: Subject) {
    let archive = Retention::archive_after(Duration::from_millis(400)).expect("valid");
    let lease = s.granted("k").await;
    s.settle_for(&lease.claim, "private", archive).await;
    s.resolve(&lease.claim, Resolution::Erase).await;
    s.pass(PAST_RETENTION).await;
    s.sweep_all().await;
    assert!(s.listed_keys(StateFilter::Archived).await.is_empty());
}

/// A person may have a settled record forgotten; the history says who.
pub async fn an_erased_record_can_run_again(s: Subject) {
    let claim = s.settled("k", "done").await;
    assert_eq!(
        s.resolve(&claim, Resolution::Erase).await,
        ResolveAnswer::Resolved
    );
    assert_eq!(s.state("k").await, "absent");
    assert_eq!(
        s.resolve(&claim, Resolution::Erase).await,
        ResolveAnswer::Refused
    );
    let again = s.granted("k").await;
    assert!(again.claim.fence > claim.fence);
    s.settle_for(&again.claim, "again", retention()).await;
    assert_eq!(replayed(&s.claim("k").await), b"again");
    assert_eq!(s.event_names("k").await, ["erased"]);
}
