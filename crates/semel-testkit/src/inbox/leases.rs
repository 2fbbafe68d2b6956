//! Workers that are lost, slow, or believed to be.

use std::collections::BTreeSet;
use std::time::Duration;

use semel_core::LeaseTerm;
use semel_core::inbox::{Action, Cause, ClaimBatch, Finished, Renewal, State, UnknownPolicy};
use tokio::task::JoinSet;

use super::subject::Subject;
use super::values::{AWHILE, completed, id, lease, only, parked, short_lease, terminal};

/// A worker that is gone holds nothing up.
pub async fn a_lease_that_ended_is_claimable_with_a_higher_fence(s: Subject) {
    s.received(&["m"]).await;
    let old = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    let new = s.claim_one().await;
    assert_eq!(id(&new), "m");
    assert!(new.claim.fence > old.claim.fence);
    assert_eq!((new.attempt, new.generation, new.replay), (2, 0, false));
    assert!(new.reclaimed && !old.reclaimed);
    let attempts = s.detail("m").await.expect("known").attempts;
    let lost = only(attempts);
    assert_eq!((lost.number, lost.fence), (1, old.claim.fence));
    assert_eq!((lost.cause, lost.late), (Some(Cause::LeaseEnded), false));
}

/// What the old owner brings is kept for the audit and changes nothing, whatever it is.
pub async fn what_an_old_owner_brings_is_late_and_kept(s: Subject) {
    for (id, disposition) in [
        ("completed", completed("old")),
        ("failed", terminal()),
        ("parked", parked()),
    ] {
        s.received(&[id]).await;
        let old = only(s.claim_briefly().await);
        s.pass(AWHILE).await;
        let new = s.claim_one().await;
        assert_eq!(s.finish(&old, disposition.clone()).await, Finished::Lost);
        s.is(id, State::InProgress).await;
        assert_eq!(s.complete(&new).await, Finished::Done);
        assert_eq!(s.outcome(id).await, format!("done {id}"));
        let attempts = s.detail(id).await.expect("known").attempts;
        let late = only(attempts.into_iter().filter(|a| a.late).collect());
        assert_eq!(
            (late.fence, late.state),
            (old.claim.fence, disposition.state())
        );
    }
}

/// An effect that happened is not made again only because its owner was slow.
pub async fn an_owner_that_nobody_replaced_may_finish(s: Subject) {
    s.received(&["m"]).await;
    let job = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    assert_eq!(s.counts().await.stale, 1);
    assert_eq!(s.complete(&job).await, Finished::Done);
    s.nothing_is_due().await;
    s.is("m", State::Completed).await;
    assert_eq!(s.outcome("m").await, "done m");
}

/// A worker that is alive keeps what it works on.
pub async fn a_renewed_lease_keeps_its_message(s: Subject) {
    s.received(&["m"]).await;
    let job = only(s.claim_briefly().await);
    assert_eq!(s.renew(&job).await, Renewal::Held);
    s.pass(AWHILE).await;
    s.nothing_is_due().await;
    assert_eq!(s.complete(&job).await, Finished::Done);
}

/// Nobody has claimed it since, so it is still the owner's.
pub async fn an_owner_that_nobody_replaced_may_renew(s: Subject) {
    s.received(&["m"]).await;
    let job = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    assert_eq!(s.renew(&job).await, Renewal::Held);
    s.nothing_is_due().await;
}

/// A renewal extends: asked for less, it takes nothing away.
pub async fn a_renewal_takes_no_time_from_a_message(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    let brief = LeaseTerm::new(Duration::from_millis(1)).expect("valid");
    let renewed = s.inbox().renew(vec![job.claim.clone()], brief).await;
    assert_eq!(renewed.expect("an answer"), [Renewal::Held]);
    s.pass(AWHILE).await;
    s.nothing_is_due().await;
}

/// Each claim of a renewal is judged by itself.
pub async fn a_renewal_tells_which_claims_are_lost(s: Subject) {
    s.received(&["taken"]).await;
    let taken = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    s.claim_one().await;
    s.received(&["done"]).await;
    let done = s.claim_one().await;
    s.complete(&done).await;
    s.received(&["held"]).await;
    let held = s.claim_one().await;
    let claims = [&taken, &held, &done].map(|job| job.claim.clone());
    let renewed = s.inbox().renew(claims.to_vec(), lease()).await;
    let (lost, kept) = (Renewal::Lost, Renewal::Held);
    assert_eq!(renewed.expect("an answer"), [lost, kept, lost]);
}

/// Time alone takes nothing from a worker whose lease lasts.
pub async fn a_live_lease_is_never_taken(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    s.pass(AWHILE).await;
    s.sweep_all().await;
    s.advance_lanes().await;
    s.nothing_is_due().await;
    assert_eq!(s.complete(&job).await, Finished::Done);
}

/// Many workers find the same lost message.
pub async fn a_storm_on_lost_messages_has_one_winner_each(s: Subject) {
    const MESSAGES: usize = 20;
    let ids: Vec<String> = (0..MESSAGES).map(|n| format!("m-{n}")).collect();
    s.stored(ids.iter().map(|id| s.message(id)).collect()).await;
    assert_eq!(s.claim_briefly().await.len(), MESSAGES);
    s.pass(AWHILE).await;
    let mut claimers = JoinSet::new();
    for _ in 0..8 {
        let s = s.clone();
        claimers.spawn(async move { s.claim_as(s.ask(5)).await.jobs });
    }
    let mut jobs = claimers.join_all().await.concat();
    jobs.extend(s.claim().await);
    let distinct: BTreeSet<String> = jobs.iter().map(id).collect();
    assert_eq!((jobs.len(), distinct.len()), (MESSAGES, MESSAGES));
}

/// Where an effect must not be repeated, a lost worker's message waits for a person.
pub async fn under_hold_a_lost_message_is_parked_as_unknown(s: Subject) {
    s.received(&["m", "n"]).await;
    let hold = |max| ClaimBatch {
        lease: short_lease(),
        on_unknown: UnknownPolicy::Hold,
        ..s.ask(max)
    };
    only(s.claim_as(hold(1)).await.jobs);
    s.pass(AWHILE).await;
    let other = only(s.claim_as(hold(10)).await.jobs);
    assert_eq!(id(&other), "n");
    s.complete(&other).await;
    s.is_parked("m", Cause::Unknown).await;
    assert!(s.record("m").await.is_none());
    assert_eq!(
        s.operate(Action::Retry { new_key: false }, &["m"])
            .await
            .changed,
        1
    );
    assert_eq!(id(&only(s.claim_as(hold(1)).await.jobs)), "m");
}

/// An operator's retry counts attempts anew; the fence goes on, so a worker of before it stays locked out.
pub async fn an_old_worker_is_late_also_after_an_operators_retry(s: Subject) {
    s.received(&["m"]).await;
    let mut asked = s.ask(1);
    (asked.lease, asked.on_unknown) = (short_lease(), UnknownPolicy::Hold);
    let old = only(s.claim_as(asked.clone()).await.jobs);
    s.pass(AWHILE).await;
    assert!(s.claim_as(asked).await.jobs.is_empty());
    s.operate(Action::Retry { new_key: false }, &["m"]).await;
    let new = s.claim_one().await;
    assert_eq!(new.attempt, old.attempt);
    assert!(new.claim.fence > old.claim.fence);
    assert_eq!(s.complete(&old).await, Finished::Lost);
    assert_eq!(s.complete(&new).await, Finished::Done);
}
