//! Leases, takeover and fencing.

use std::time::Duration;

use semel_core::record::{Claim, EventKind, Fence};
use semel_core::store::{
    ClaimAnswer, ReleaseAnswer, RenewAnswer, RenewRequest, Resolution, SettleAnswer, StoreExt,
};
use semel_core::{LeaseTerm, Outcome, State};

use super::subject::{
    PAST_LEASE, PAST_RETENTION, Subject, at_once, body, granted, grants, replayed, short_retention,
};

/// A renewed lease is alive after its first end.
pub async fn a_renewed_lease_lasts(s: Subject) {
    let lease = s.granted("k").await;
    s.pass(Duration::from_millis(900)).await;
    let RenewAnswer::Renewed(until) = s.renew(&lease.claim).await else {
        panic!("expected a renewal");
    };
    assert!(until > lease.until);
    s.pass(Duration::from_millis(900)).await;
    assert!(matches!(
        s.take_over("k").await,
        ClaimAnswer::Running { .. }
    ));
    assert_eq!(s.settle(&lease.claim, "done").await, SettleAnswer::Settled);
}

/// A renewal by a shorter term takes no time away.
pub async fn a_renewal_never_shortens_a_lease(s: Subject) {
    let lease = s.granted("k").await;
    let short = LeaseTerm::new(Duration::from_millis(1)).expect("a valid term");
    let request = RenewRequest {
        claim: lease.claim.clone(),
        lease: short,
    };
    let renewed = s
        .store()
        .renew_one(request)
        .await
        .expect("the store answers");
    assert_eq!(renewed, RenewAnswer::Renewed(lease.until));
}

/// What a dead owner left is taken over, once its lease has ended.
pub async fn an_expired_lease_is_claimable_with_a_higher_fence(s: Subject) {
    let first = s.granted("k").await;
    s.pass(PAST_LEASE).await;
    let second = granted(s.take_over("k").await);
    assert!(second.claim.fence > first.claim.fence);
    assert_eq!(second.attempt, 2);
    let events = s.history("k").await;
    let last = events.last().expect("an event");
    assert_eq!(
        last.kind,
        EventKind::TookOver {
            from: first.claim.fence
        }
    );
    assert_eq!(last.fence, second.claim.fence);
}

/// Rule 2, for those who may take over.
pub async fn a_live_lease_is_never_taken_over(s: Subject) {
    let lease = s.granted("k").await;
    assert!(matches!(
        s.take_over("k").await,
        ClaimAnswer::Running { .. }
    ));
    assert_eq!(s.settle(&lease.claim, "mine").await, SettleAnswer::Settled);
}

/// Two nodes that find the same dead owner do not both win.
pub async fn a_takeover_storm_has_exactly_one_winner(s: Subject) {
    s.granted("k").await;
    s.pass(PAST_LEASE).await;
    let answers = at_once(100, |_| {
        let s = s.clone();
        async move { s.take_over("k").await }
    });
    assert_eq!(grants(&answers.await), 1);
}

/// Rule 3: the old owner can no longer settle, and what it brings is neither lost nor served.
pub async fn a_late_settle_is_kept_and_never_served(s: Subject) {
    let old = s.granted("k").await;
    s.pass(PAST_LEASE).await;
    let new = granted(s.take_over("k").await);
    assert_eq!(s.settle(&old.claim, "old").await, SettleAnswer::Late);
    assert_eq!(s.state("k").await, "running");
    assert_eq!(s.settle(&new.claim, "new").await, SettleAnswer::Settled);
    assert_eq!(s.settle(&old.claim, "older").await, SettleAnswer::Late);
    assert_eq!(replayed(&s.claim("k").await), b"new");
    let late: Vec<_> = s
        .history("k")
        .await
        .into_iter()
        .filter_map(late_body)
        .collect();
    assert_eq!(
        late,
        [
            (old.claim.fence, "old".into()),
            (old.claim.fence, "older".into())
        ]
    );
}

fn late_body(event: semel_core::Event) -> Option<(Fence, String)> {
    match event.kind {
        EventKind::LateOutcome(outcome) => {
            let bytes = outcome.body.kept().expect("a kept body").to_vec();
            Some((event.fence, String::from_utf8(bytes).expect("text")))
        }
        _ => None,
    }
}

/// The lease decides, not whether somebody else has noticed its end.
pub async fn a_late_settle_without_a_successor_is_kept_and_never_served(s: Subject) {
    let lease = s.granted("k").await;
    s.pass(PAST_LEASE).await;
    assert_eq!(s.settle(&lease.claim, "late").await, SettleAnswer::Late);
    assert_eq!(s.state("k").await, "unknown");
    assert!(matches!(s.claim("k").await, ClaimAnswer::Unknown { .. }));
    assert_eq!(s.event_names("k").await, ["became-unknown", "late-outcome"]);
}

/// A timed-out run that fails late must not delete the new owner's record.
pub async fn a_late_release_changes_nothing(s: Subject) {
    let old = s.granted("k").await;
    s.pass(PAST_LEASE).await;
    let lost = s.release(&old.claim).await;
    assert_eq!(lost, ReleaseAnswer::Lost);
    assert_eq!(s.state("k").await, "unknown");
    let new = granted(s.take_over("k").await);
    let lost = s.release(&old.claim).await;
    assert_eq!(lost, ReleaseAnswer::Lost);
    let record = s.look_up("k").await.expect("a record");
    assert_eq!(record.fence, new.claim.fence);
}

/// A lease that has ended stays ended.
pub async fn a_late_renewal_changes_nothing(s: Subject) {
    let old = s.granted("k").await;
    s.pass(PAST_LEASE).await;
    assert_eq!(s.renew(&old.claim).await, RenewAnswer::Lost);
    assert_eq!(s.state("k").await, "unknown");
    let new = granted(s.take_over("k").await);
    assert_eq!(s.renew(&old.claim).await, RenewAnswer::Lost);
    let record = s.look_up("k").await.expect("a record");
    assert_eq!(
        record.state,
        State::Running {
            lease_until: new.until
        }
    );
}

/// The answer to a settle may be lost; sending it again is no late outcome.
pub async fn a_settle_sent_again_is_settled(s: Subject) {
    let claim = s.settled("k", "done").await;
    assert_eq!(s.settle(&claim, "done").await, SettleAnswer::Settled);
    assert!(s.history("k").await.is_empty());
}

/// The answer to a release may be lost; sending it again takes nothing from the next owner.
pub async fn a_release_sent_again_is_released(s: Subject) {
    let first = s.granted("k").await.claim;
    for _ in 0..2 {
        assert_eq!(s.release(&first).await, ReleaseAnswer::Released);
    }
    s.granted("k").await;
    assert_eq!(s.release(&first).await, ReleaseAnswer::Lost);
    assert_eq!(s.state("k").await, "running");
    assert_eq!(s.event_names("k").await, ["released"]);
}

/// Rule 4: not even its own claim changes a settled record.
pub async fn a_settled_record_does_not_change(s: Subject) {
    let claim = s.settled("k", "first").await;
    let before = s.look_up("k").await;
    assert_eq!(s.settle(&claim, "second").await, SettleAnswer::Late);
    assert_eq!(s.renew(&claim).await, RenewAnswer::Lost);
    assert_eq!(s.release(&claim).await, ReleaseAnswer::Lost);
    assert_eq!(s.mark(&claim).await, semel_core::store::MarkAnswer::Lost);
    assert_eq!(s.look_up("k").await, before);
    assert_eq!(body(&before.expect("a record")), b"first");
}

/// Whoever gave a claim back cannot settle it any more.
pub async fn a_settle_after_release_is_late(s: Subject) {
    let lease = s.granted("k").await;
    s.release(&lease.claim).await;
    assert_eq!(s.settle(&lease.claim, "ghost").await, SettleAnswer::Late);
    assert_eq!(s.state("k").await, "absent");
    assert_eq!(s.event_names("k").await, ["released", "late-outcome"]);
}

/// The fence is never reset, whatever made the record go.
pub async fn fences_grow_over_release_takeover_erasure_and_sweep(s: Subject) {
    let mut fences = Vec::new();
    let released = s.granted("k").await;
    fences.push(released.claim.fence);
    s.release(&released.claim).await;

    let abandoned = s.granted("k").await;
    fences.push(abandoned.claim.fence);
    s.pass(PAST_LEASE).await;
    let taken = granted(s.take_over("k").await);
    fences.push(taken.claim.fence);
    s.settle(&taken.claim, "done").await;
    s.resolve(&taken.claim, Resolution::Erase).await;

    let swept = s.granted("k").await;
    fences.push(swept.claim.fence);
    s.settle_for(&swept.claim, "done", short_retention()).await;
    s.pass(PAST_RETENTION).await;
    s.sweep_all().await;
    assert_eq!(s.state("k").await, "absent");

    let last = s.granted("k").await;
    fences.push(last.claim.fence);
    assert!(fences.is_sorted_by(|a, b| a < b), "{fences:?}");
    assert_eq!(s.settle(&swept.claim, "ghost").await, SettleAnswer::Late);
}

/// A fence is good for its own identity only.
pub async fn a_foreign_identity_with_a_valid_fence_changes_nothing(s: Subject) {
    let mine = s.granted("mine").await;
    s.granted("theirs").await;
    let forged = Claim {
        identity: s.identity("theirs"),
        fence: mine.claim.fence,
    };
    // Fences are compared per identity only: it may be below or above the one of the other.
    assert_ne!(s.settle(&forged, "forged").await, SettleAnswer::Settled);
    assert_eq!(s.renew(&forged).await, RenewAnswer::Lost);
    assert_eq!(s.state("theirs").await, "running");
    assert_eq!(s.state("mine").await, "running");
    let resolution = Resolution::Settle {
        outcome: Outcome::succeeded("forged"),
        retention: short_retention(),
    };
    s.resolve(&forged, resolution).await;
    assert_eq!(s.state("theirs").await, "running");
}

/// Whoever makes up a fence fills no history.
pub async fn a_settle_that_was_never_granted_is_refused(s: Subject) {
    let running = s.granted("running").await.claim;
    let settled = s.settled("settled", "done").await;
    let made_up = |key: &str, fence: u64| Claim {
        identity: s.identity(key),
        fence: Fence::new(fence),
    };
    for claim in [
        made_up("running", running.fence.get() + 1),
        made_up("settled", settled.fence.get() + 1),
        made_up("absent", u64::MAX),
    ] {
        let answer = s.settle(&claim, "made up").await;
        assert_eq!(answer, SettleAnswer::NeverGranted, "{claim:?}");
        let key = claim.identity.key().as_str();
        assert!(s.history(key).await.is_empty(), "{claim:?}");
    }
    assert_eq!(s.state("running").await, "running");
    assert_eq!(replayed(&s.claim("settled").await), b"done");
    assert_eq!(s.state("absent").await, "absent");
    assert_eq!(s.settle(&running, "mine").await, SettleAnswer::Settled);
}
