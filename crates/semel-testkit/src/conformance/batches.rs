//! Many items per call: a batch answers as its items would one after another.

use std::time::Duration;

use semel_core::outcome::{BODY_BYTES_MAX, Body};
use semel_core::record::{Claim, UnknownCause};
use semel_core::store::{
    BATCH_MAX, Batch, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, ReleaseAnswer,
    RenewAnswer, RenewRequest, SettleAnswer, SettleRequest, Store, StoreExt, all,
};
use semel_core::{Kind, Outcome};

use super::subject::{Subject, at_once, granted, grants, lease, print, retention};

fn settle_request(claim: &Claim) -> SettleRequest {
    SettleRequest {
        claim: claim.clone(),
        outcome: Outcome::succeeded("batched"),
        took: Duration::ZERO,
        retention: retention(),
    }
}

/// Claims, over items in every state.
pub async fn a_batch_of_claims_answers_like_single_calls(s: Subject) {
    s.settled("settled", "done").await;
    s.settled("mismatch", "done").await;
    s.granted("running").await;
    let marked = s.granted("unknown").await.claim;
    s.mark(&marked).await;
    let keys = ["settled", "running", "unknown", "new", "mismatch"];
    let mut requests: Vec<ClaimRequest> = keys.iter().map(|key| s.request(key)).collect();
    requests[4].fingerprint = print(2);
    let answers = all(s.store().claim(requests.into()).await).expect("an answer");
    assert!(matches!(answers[0], ClaimAnswer::Settled(_)));
    assert!(matches!(answers[1], ClaimAnswer::Running { .. }));
    assert!(matches!(answers[2], ClaimAnswer::Unknown { .. }));
    assert!(matches!(answers[3], ClaimAnswer::Granted(_)));
    assert_eq!(answers[4], ClaimAnswer::Mismatch);
    let identities = ["settled", "absent", "running"].map(|key| s.identity(key));
    let found = s.store().look_up(identities.into_iter().collect()).await;
    let found = all(found).expect("an answer").into_iter();
    let states: Vec<_> = found.map(|r| r.map(|r| r.state.name())).collect();
    assert_eq!(states, [Some("succeeded"), None, Some("running")]);
}

/// Renewals and settles, of a live claim, of a lost one, and of one twice.
pub async fn a_batch_of_settles_answers_like_single_calls(s: Subject) {
    let live = s.granted("live").await.claim;
    let lost = s.granted("lost").await.claim;
    s.mark(&lost).await;
    let renews = [&live, &lost].map(|claim| RenewRequest {
        claim: claim.clone(),
        lease: lease(),
    });
    let renewed = s.store().renew(renews.into_iter().collect()).await;
    let renewed = all(renewed).expect("an answer");
    assert!(matches!(renewed[0], RenewAnswer::Renewed(_)));
    assert_eq!(renewed[1], RenewAnswer::Lost);
    let settles = [&live, &lost, &live].map(settle_request);
    let settled = s.store().settle(settles.into_iter().collect()).await;
    let settled = all(settled).expect("an answer");
    let (done, late) = (SettleAnswer::Settled, SettleAnswer::Late);
    assert_eq!(settled, [done, late, done]);
}

/// Marks and releases, of a live claim, of a settled one, and of one twice.
pub async fn a_batch_of_releases_answers_like_single_calls(s: Subject) {
    let live = s.granted("live").await.claim;
    let settled = s.settled("settled", "done").await;
    let cause = UnknownCause::RunUndecided;
    let marks = [&live, &settled].map(|claim| MarkRequest {
        claim: claim.clone(),
        cause,
        evidence: None,
    });
    let marked = s.store().mark_unknown(marks.into_iter().collect()).await;
    let marked = all(marked).expect("an answer");
    assert_eq!(marked, [MarkAnswer::Marked, MarkAnswer::Lost]);
    let fresh = s.granted("fresh").await.claim;
    let items = vec![fresh.clone(), live, fresh];
    let answers = all(s.store().release(items.into()).await).expect("an answer");
    let (released, lost) = (ReleaseAnswer::Released, ReleaseAnswer::Lost);
    assert_eq!(answers, [released, lost, released]);
}

/// Two callers with one identity may land in the same batch.
pub async fn two_claims_of_one_identity_in_a_batch_have_one_winner(s: Subject) {
    let requests = vec![s.request("k"), s.request("other"), s.request("k")];
    let answers = all(s.store().claim(requests.into()).await).expect("the store answers");
    let first = granted(answers[0].clone());
    granted(answers[1].clone());
    let fence = first.claim.fence;
    assert!(matches!(answers[2], ClaimAnswer::Running { fence: found, .. } if found == fence));
}

/// Nothing asked, nothing answered.
pub async fn an_empty_batch_has_no_answers(s: Subject) {
    assert!(s.store().claim(Batch::new()).await.is_empty());
    assert!(s.store().settle(Batch::new()).await.is_empty());
    assert!(s.store().look_up(Batch::new()).await.is_empty());
}

/// The limit is an error of every item, not a cut.
pub async fn a_batch_above_the_limit_is_refused_whole(s: Subject) {
    let requests: Vec<_> = (0..=BATCH_MAX)
        .map(|n| s.request(&format!("k-{n}")))
        .collect();
    let answers = s.store().claim(requests.clone().into()).await;
    assert_eq!(answers.len(), requests.len());
    for answer in answers {
        assert_eq!(answer.expect_err("too many items").kind(), Kind::Limit);
    }
    assert_eq!(s.state("k-0").await, "absent");
    let answers = s.store().claim(requests[..BATCH_MAX].to_vec().into()).await;
    let answers = all(answers).expect("an answer");
    assert_eq!(grants(&answers), BATCH_MAX);
}

/// A body above what the store states is refused for its item alone; one at the limit is kept.
pub async fn an_item_that_the_store_cannot_keep_costs_the_others_nothing(s: Subject) {
    let bytes_max = s.store().limits().body_bytes_max;
    assert!(bytes_max <= BODY_BYTES_MAX);
    let claims = [
        s.granted("small").await.claim,
        s.granted("large").await.claim,
        s.granted("after").await.claim,
    ];
    let mut settles = claims.each_ref().map(settle_request);
    let large = vec![b'x'; bytes_max + 1];
    settles[1].outcome.body = Body::Kept(large.into());
    let answers = s
        .store()
        .settle(settles.clone().into_iter().collect())
        .await;
    assert!(matches!(answers[0], Ok(SettleAnswer::Settled)));
    let error = answers[1].as_ref().expect_err("a body above the limit");
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    assert!(matches!(answers[2], Ok(SettleAnswer::Settled)));
    assert_eq!(s.state("large").await, "running");
    let capped = SettleRequest {
        outcome: settles[1].outcome.clone().capped(bytes_max),
        ..settles[1].clone()
    };
    let answer = s.store().settle_one(capped).await.expect("an answer");
    assert_eq!(answer, SettleAnswer::Settled);
}

/// Batches that lock the same rows in different orders neither deadlock nor share a grant.
pub async fn concurrent_batches_in_opposite_orders_all_answer(s: Subject) {
    const KEYS: usize = 50;
    let answers = at_once(8, |n| {
        let s = s.clone();
        async move {
            let mut keys: Vec<usize> = (0..KEYS).collect();
            if n % 2 == 0 {
                keys.reverse();
            }
            let requests = keys
                .iter()
                .map(|key| s.request(&format!("k-{key}")))
                .collect();
            let answers = Store::claim(s.store().as_ref(), requests).await;
            all(answers).expect("the store answers")
        }
    });
    assert_eq!(grants(&answers.await.concat()), KEYS);
}
