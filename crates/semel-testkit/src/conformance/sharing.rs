//! Two handles on the same data, as two processes have them.

use semel_core::record::EventKind;
use semel_core::store::{
    ClaimAnswer, ClaimRequest, MarkAnswer, ReleaseAnswer, RenewAnswer, SettleAnswer, StateFilter,
};

use super::subject::{
    PAST_LEASE, PAST_RETENTION, Subject, at_once, granted, grants, print, replayed, short_retention,
};

/// A duplicate may come to any process.
pub async fn what_one_handle_settled_the_other_replays(s: Subject) {
    let other = s.second().await;
    s.settled("k", "done").await;
    assert_eq!(replayed(&other.claim("k").await), b"done");
    assert_eq!(other.look_up("k").await, s.look_up("k").await);
    let mistaken = ClaimRequest {
        fingerprint: print(2),
        ..other.request("k")
    };
    assert_eq!(other.ask(mistaken).await, ClaimAnswer::Mismatch);
    assert_eq!(s.event_names("k").await, ["mismatch"]);
}

/// Rule 2 holds over all processes.
pub async fn a_claim_through_one_handle_is_running_for_the_other(s: Subject) {
    let other = s.second().await;
    let lease = s.granted("k").await;
    for answer in [other.claim("k").await, other.take_over("k").await] {
        let ClaimAnswer::Running { fence, .. } = answer else {
            panic!("expected running, found {answer:?}");
        };
        assert_eq!(fence, lease.claim.fence);
    }
    assert_eq!(other.look_up("k").await, s.look_up("k").await);
}

/// Whatever ends a claim is seen by the other handle, which may be the one to end it.
pub async fn a_claim_through_one_handle_is_ended_through_the_other(s: Subject) {
    let other = s.second().await;
    let [settled, released, marked] = ["settled", "released", "marked"];
    let claim = s.granted(settled).await.claim;
    assert!(matches!(other.renew(&claim).await, RenewAnswer::Renewed(_)));
    assert_eq!(other.settle(&claim, "done").await, SettleAnswer::Settled);
    assert_eq!(replayed(&s.claim(settled).await), b"done");
    let claim = s.granted(released).await.claim;
    assert_eq!(other.release(&claim).await, ReleaseAnswer::Released);
    assert_eq!(s.state(released).await, "absent");
    let claim = s.granted(marked).await.claim;
    assert_eq!(other.mark(&claim).await, MarkAnswer::Marked);
    assert!(matches!(s.claim(marked).await, ClaimAnswer::Unknown { .. }));
}

/// Two processes and one identity have one winner.
pub async fn a_storm_through_two_handles_has_exactly_one_winner(s: Subject) {
    let other = s.second().await;
    let handles = [&s, &other];
    let claim = |n: usize| handles[n % 2].clone().claim_owned("k".to_owned());
    assert_eq!(grants(&at_once(100, claim).await), 1);
}

/// No handle draws fences of its own.
pub async fn fences_grow_across_handles(s: Subject) {
    let other = s.second().await;
    let mut fences = Vec::new();
    for n in 0..8 {
        let handle = if n % 2 == 0 { &s } else { &other };
        let claim = handle.granted("k").await.claim;
        fences.push(claim.fence);
        assert_eq!(handle.release(&claim).await, ReleaseAnswer::Released);
    }
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
}

/// Rule 3 holds over all processes: the old owner's outcome is late wherever it comes from.
pub async fn a_takeover_through_one_handle_fences_off_the_other(s: Subject) {
    let other = s.second().await;
    let old = s.granted("k").await;
    s.pass(PAST_LEASE).await;
    let new = granted(other.take_over("k").await);
    assert!(new.claim.fence > old.claim.fence);
    assert_eq!(s.renew(&old.claim).await, RenewAnswer::Lost);
    assert_eq!(s.settle(&old.claim, "old").await, SettleAnswer::Late);
    assert_eq!(other.settle(&new.claim, "new").await, SettleAnswer::Settled);
    assert_eq!(replayed(&s.claim("k").await), b"new");
    let events = other.history("k").await;
    let last = events.last().map(|event| &event.kind);
    assert!(
        matches!(last, Some(EventKind::LateOutcome(_))),
        "{events:?}"
    );
    assert_eq!(s.history("k").await, events);
}

/// An operator sees the same through every handle.
pub async fn lists_and_counts_are_those_of_all_handles(s: Subject) {
    let other = s.second().await;
    s.settled("mine", "done").await;
    other.settled("theirs", "done").await;
    let before = s.store().stats().await.expect("the store answers");
    s.granted("running").await;
    let after = other.store().stats().await.expect("the store answers");
    assert!(after.running > before.running, "{after:?}");
    for handle in [&s, &other] {
        let mut keys = handle.listed_keys(StateFilter::Succeeded).await;
        keys.sort_unstable();
        assert_eq!(keys, ["mine", "theirs"]);
    }
}

/// What one process sweeps was past its retention for the other too.
pub async fn a_sweep_through_one_handle_takes_only_what_is_past(s: Subject) {
    let other = s.second().await;
    let old = s.granted("old").await.claim;
    s.settle_for(&old, "old", short_retention()).await;
    s.settled("kept", "kept").await;
    s.pass(PAST_RETENTION).await;
    s.granted("running").await;
    other.sweep_all().await;
    assert_eq!(s.state("old").await, "absent");
    assert_eq!(s.state("kept").await, "succeeded");
    assert_eq!(s.state("running").await, "running");
    assert!(s.granted("old").await.claim.fence > old.fence);
}
