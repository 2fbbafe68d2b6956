//! Unknown outcomes and who decides about them.

use std::time::Duration;

use semel_core::record::UnknownCause;
use semel_core::store::{
    ClaimAnswer, ClaimRequest, MarkAnswer, Resolution, ResolveAnswer, SettleAnswer, Takeover,
};
use semel_core::{Outcome, State};

use super::subject::{PAST_LEASE, Subject, at_once, granted, grants, replayed, retention};

fn happened(body: &str) -> Resolution {
    Resolution::Settle {
        outcome: Outcome::succeeded(body.to_owned()),
        retention: retention(),
    }
}

/// Readers judge by the clock; nobody has to write anything down first.
pub async fn an_ended_lease_is_unknown_to_readers(s: Subject) {
    let lease = s.granted("k").await;
    s.pass(PAST_LEASE).await;
    let record = s.look_up("k").await.expect("a record");
    let cause = UnknownCause::LeaseEnded;
    assert_eq!(
        record.state,
        State::Unknown {
            since: lease.until,
            cause,
            evidence: None,
        }
    );
}

/// The effect may have happened, so nobody runs it again without being told to.
pub async fn under_hold_nobody_runs_again(s: Subject) {
    let lease = s.granted("k").await;
    s.pass(PAST_LEASE).await;
    for _ in 0..3 {
        let ClaimAnswer::Unknown {
            fence,
            since,
            cause,
        } = s.claim("k").await
        else {
            panic!("expected unknown");
        };
        assert_eq!(fence, lease.claim.fence);
        assert_eq!((since, cause), (lease.until, UnknownCause::LeaseEnded));
    }
    assert_eq!(s.event_names("k").await, ["became-unknown"]);
}

/// An owner that cannot tell says so; it need not wait for its lease to end.
pub async fn a_marked_claim_is_unknown_at_once(s: Subject) {
    let lease = s.granted("k").await;
    assert_eq!(s.mark(&lease.claim).await, MarkAnswer::Marked);
    let answer = s.claim("k").await;
    let cause = UnknownCause::RunUndecided;
    assert!(matches!(answer, ClaimAnswer::Unknown { cause: found, .. } if found == cause));
    assert_eq!(
        s.settle(&lease.claim, "after all").await,
        SettleAnswer::Late
    );
    let next = granted(s.take_over("k").await);
    assert_eq!(next.attempt, 2);
}

/// The answer to a mark may be lost.
pub async fn a_mark_sent_again_is_marked(s: Subject) {
    let lease = s.granted("k").await;
    s.mark(&lease.claim).await;
    assert_eq!(s.mark(&lease.claim).await, MarkAnswer::Marked);
    assert_eq!(s.event_names("k").await, ["became-unknown"]);
    granted(s.take_over("k").await);
    assert_eq!(s.mark(&lease.claim).await, MarkAnswer::Lost);
    assert_eq!(s.state("k").await, "running");
}

/// "It did not happen" was said about one claim and holds for that claim only.
pub async fn a_takeover_of_another_claim_is_refused(s: Subject) {
    let first = s.granted("k").await;
    s.mark(&first.claim).await;
    let of_first = ClaimRequest {
        takeover: Takeover::Of(first.claim.fence),
        ..s.request("k")
    };
    let second = granted(s.ask(of_first.clone()).await);
    s.mark(&second.claim).await;
    let answer = s.ask(of_first).await;
    let fence = second.claim.fence;
    assert!(matches!(answer, ClaimAnswer::Unknown { fence: found, .. } if found == fence));
}

/// A person or the provider says that it happened.
pub async fn resolving_as_happened_settles(s: Subject) {
    let lease = s.granted("k").await;
    s.pass(PAST_LEASE).await;
    let answer = s
        .resolve(&lease.claim, happened("found at the provider"))
        .await;
    assert_eq!(answer, ResolveAnswer::Resolved);
    assert_eq!(replayed(&s.claim("k").await), b"found at the provider");
    assert_eq!(s.settle(&lease.claim, "late").await, SettleAnswer::Late);
    let names = s.event_names("k").await;
    assert_eq!(names, ["became-unknown", "resolved", "late-outcome"]);
}

/// A person or the provider says that it did not happen.
pub async fn resolving_as_not_happened_releases(s: Subject) {
    let lease = s.granted("k").await;
    s.mark(&lease.claim).await;
    let answer = s.resolve(&lease.claim, Resolution::Release).await;
    assert_eq!(answer, ResolveAnswer::Resolved);
    assert_eq!(s.state("k").await, "absent");
    assert!(s.granted("k").await.claim.fence > lease.claim.fence);
    assert_eq!(s.event_names("k").await, ["became-unknown", "resolved"]);
}

/// A decision is about one claim in one state; anything else is left alone.
pub async fn resolving_what_is_not_unknown_is_refused(s: Subject) {
    let running = s.granted("running").await.claim;
    let settled = s.settled("settled", "done").await;
    let marked = s.granted("unknown").await.claim;
    s.mark(&marked).await;
    let stale = s.granted("taken").await.claim;
    s.mark(&stale).await;
    granted(s.take_over("taken").await);
    for (claim, resolution) in [
        (&running, happened("x")),
        (&running, Resolution::Release),
        (&running, Resolution::Erase),
        (&settled, happened("x")),
        (&settled, Resolution::Release),
        (&marked, Resolution::Erase),
        (&stale, happened("x")),
        (&stale, Resolution::Release),
    ] {
        let key = claim.identity.key().as_str();
        let before = s.look_up(key).await;
        let answer = s.resolve(claim, resolution.clone()).await;
        assert_eq!(answer, ResolveAnswer::Refused, "{key} {resolution:?}");
        assert_eq!(s.look_up(key).await, before, "{key} {resolution:?}");
    }
}

/// Both ask, both hear "it did not happen", one runs.
pub async fn two_reconcilers_have_one_winner(s: Subject) {
    let lease = s.granted("k").await;
    s.mark(&lease.claim).await;
    let request = ClaimRequest {
        takeover: Takeover::Of(lease.claim.fence),
        ..s.request("k")
    };
    let answers = at_once(20, |_| {
        let (s, request) = (s.clone(), request.clone());
        async move { s.ask(request).await }
    });
    assert_eq!(grants(&answers.await), 1);
}

/// Rule 5, for unknown records.
pub async fn unknown_records_never_disappear(s: Subject) {
    let lease = s.granted("k").await;
    s.mark(&lease.claim).await;
    s.granted("ended").await;
    s.pass(PAST_LEASE).await;
    s.pass(Duration::from_millis(300)).await;
    s.sweep_all().await;
    assert_eq!(s.state("k").await, "unknown");
    assert_eq!(s.state("ended").await, "unknown");
    assert_eq!(s.event_names("ended").await, ["became-unknown"]);
}
