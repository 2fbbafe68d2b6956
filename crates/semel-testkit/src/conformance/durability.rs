//! What a store knows after it was closed and opened again.

use std::time::Duration;

use semel_core::store::{
    ClaimAnswer, ClaimRequest, MarkAnswer, ReleaseAnswer, Resolution, ResolveAnswer, SettleAnswer,
    StateFilter, Takeover,
};
use semel_core::{Event, Fence, Retention};

use super::operators;
use super::subject::{
    PAST_LEASE, PAST_RETENTION, Subject, granted, long_lease, replayed, short_retention,
};

/// Nothing about a record of any state is only in memory.
pub async fn every_record_survives_reopening_as_it_was(s: Subject) {
    operators::fill(&s).await;
    let keys = ["running", "unknown", "ended", "ok-0", "failed", "absent"];
    let mut before = Vec::new();
    for key in keys {
        before.push((s.look_up(key).await, s.history(key).await));
    }
    let listed = s.listed(None).await;
    let s = s.reopened().await;
    for (key, before) in keys.into_iter().zip(before) {
        let after = (s.look_up(key).await, s.history(key).await);
        assert_eq!(after, before, "{key}");
    }
    assert_eq!(s.listed(None).await, listed);
    assert_eq!(replayed(&s.claim("ok-0").await), b"done");
}

/// Rule 1: the claim of a process that is gone keeps everybody else from running, for its lease.
pub async fn a_running_claim_survives_reopening_and_its_lease_still_ends(s: Subject) {
    let long = s.granted_for_long("long").await.claim.fence;
    let short = s.granted("short").await.claim.fence;
    let s = s.reopened().await;
    s.pass(PAST_LEASE).await;
    let answer = s.take_over("long").await;
    assert!(matches!(answer, ClaimAnswer::Running { fence, .. } if fence == long));
    let answer = s.claim("short").await;
    assert!(matches!(answer, ClaimAnswer::Unknown { fence, .. } if fence == short));
    let next = granted(s.take_over("short").await);
    assert!(next.claim.fence > short);
    assert_eq!(next.attempt, 2);
}

/// An owner that only lost its connection still owns what it claimed.
pub async fn a_claim_is_settled_after_reopening(s: Subject) {
    let claim = s.granted_for_long("k").await.claim;
    let s = s.reopened().await;
    assert_eq!(s.settle(&claim, "done").await, SettleAnswer::Settled);
    let s = s.reopened().await;
    assert_eq!(s.settle(&claim, "done").await, SettleAnswer::Settled);
    assert_eq!(replayed(&s.claim("k").await), b"done");
    assert!(s.history("k").await.is_empty());
}

/// What was given back stays given back, and is known to be the same if it is given back again.
pub async fn a_release_survives_reopening(s: Subject) {
    let claim = s.granted_for_long("k").await.claim;
    assert_eq!(s.release(&claim).await, ReleaseAnswer::Released);
    let s = s.reopened().await;
    assert_eq!(s.state("k").await, "absent");
    assert_eq!(s.release(&claim).await, ReleaseAnswer::Released);
    assert_eq!(s.event_names("k").await, ["released"]);
    let next = s.granted("k").await;
    assert!(next.claim.fence > claim.fence);
    assert_eq!(next.attempt, 1);
}

/// Rule 5: an unknown outcome waits for a decision, however often the store is opened.
pub async fn an_unknown_outcome_survives_reopening(s: Subject) {
    let claim = s.granted_for_long("k").await.claim;
    assert_eq!(s.mark(&claim).await, MarkAnswer::Marked);
    let before = s.claim("k").await;
    assert!(matches!(before, ClaimAnswer::Unknown { .. }));
    let s = s.reopened().await;
    assert_eq!(s.claim("k").await, before);
    assert_eq!(s.settle(&claim, "after all").await, SettleAnswer::Late);
    let answer = s.resolve(&claim, Resolution::Release).await;
    assert_eq!(answer, ResolveAnswer::Resolved);
    let s = s.reopened().await;
    let names = s.event_names("k").await;
    assert_eq!(names, ["became-unknown", "late-outcome", "resolved"]);
    assert_eq!(s.state("k").await, "absent");
}

/// Rule 3: what an old owner brought is still there for the audit.
pub async fn a_late_outcome_survives_reopening(s: Subject) {
    let old = s.granted("k").await.claim;
    s.pass(PAST_LEASE).await;
    let takeover = ClaimRequest {
        takeover: Takeover::Allowed,
        lease: long_lease(),
        ..s.request("k")
    };
    let new = granted(s.ask(takeover).await).claim;
    assert_eq!(s.settle(&old, "old").await, SettleAnswer::Late);
    let before: Vec<Event> = s.history("k").await;
    let s = s.reopened().await;
    assert_eq!(s.history("k").await, before);
    assert_eq!(s.settle(&new, "new").await, SettleAnswer::Settled);
    assert_eq!(s.settle(&old, "old").await, SettleAnswer::Late);
    assert_eq!(replayed(&s.claim("k").await), b"new");
}

/// Rule 4: retention is counted from the settle, not from the opening.
pub async fn retention_and_archive_survive_reopening(s: Subject) {
    let archive = Retention::archive_after(Duration::from_millis(400)).expect("valid");
    let claim = s.granted("archived").await.claim;
    s.settle_for(&claim, "old", archive).await;
    let claim = s.granted("deleted").await.claim;
    s.settle_for(&claim, "old", short_retention()).await;
    let s = s.reopened().await;
    s.pass(PAST_RETENTION).await;
    assert_eq!(s.state("archived").await, "absent");
    assert_eq!(s.state("deleted").await, "absent");
    s.sweep_all().await;
    let s = s.reopened().await;
    assert_eq!(s.listed_keys(StateFilter::Archived).await, ["archived"]);
}

/// The fence of an identity is never reset, whatever made its record go before the store was closed.
pub async fn fences_grow_over_reopening(mut s: Subject) {
    let mut fences: Vec<Fence> = Vec::new();
    for end in ["release", "erase", "sweep", "keep"] {
        let claim = s.granted("k").await.claim;
        fences.push(claim.fence);
        match end {
            "release" => assert_eq!(s.release(&claim).await, ReleaseAnswer::Released),
            "erase" => {
                s.settle(&claim, "done").await;
                let answer = s.resolve(&claim, Resolution::Erase).await;
                assert_eq!(answer, ResolveAnswer::Resolved);
            }
            _ => {
                s.settle_for(&claim, "done", short_retention()).await;
                s.pass(PAST_RETENTION).await;
                if end == "sweep" {
                    s.sweep_all().await;
                }
            }
        }
        s = s.reopened().await;
        assert_eq!(s.state("k").await, "absent", "after {end}");
    }
    fences.push(s.granted("k").await.claim.fence);
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
}
