//! Clocks that are set back or forward; for stores whose clock a test can set.

use std::time::Duration;

use semel_core::Timestamp;
use semel_core::inbox::Finished;

use super::subject::Subject;
use super::values::{AWHILE, id, only};

const HOUR: i64 = 3_600_000;

fn an_hour_before(now: Timestamp) -> Timestamp {
    Timestamp::from_millis(now.as_millis() - HOUR)
}

/// A message whose owner was replaced is not the old owner's again because the clock went back.
pub async fn a_step_back_revives_no_claim(s: Subject) {
    s.received(&["m"]).await;
    let old = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    let new = s.claim_one().await;
    s.step_to(an_hour_before(old.claimed_at));
    assert_eq!(s.complete(&old).await, Finished::Lost);
    assert_eq!(s.complete(&new).await, Finished::Done);
}

/// After a step back a lease still ends after its term, not an hour later.
pub async fn a_step_back_stops_no_claim_from_ending(s: Subject) {
    s.received(&["m"]).await;
    let job = only(s.claim_briefly().await);
    s.step_to(an_hour_before(job.claimed_at));
    s.nothing_is_due().await;
    s.pass(AWHILE).await;
    assert_eq!(s.claim_one().await.attempt, 2);
}

/// After a step back what arrives is due at once all the same.
pub async fn a_step_back_makes_no_message_wait(s: Subject) {
    s.received(&["before"]).await;
    let job = s.claim_one().await;
    s.step_to(an_hour_before(job.claimed_at));
    s.received(&["after"]).await;
    assert_eq!(s.claim_ids().await, ["after"]);
}

/// A step forward ends leases early; the old owner is fenced off and nothing is done twice.
pub async fn a_step_forward_ends_claims_and_fencing_holds(s: Subject) {
    s.received(&["m"]).await;
    let old = s.claim_one().await;
    s.pass(Duration::from_secs(24 * 3_600)).await;
    let new = s.claim_one().await;
    assert_eq!(id(&new), "m");
    assert_eq!(s.complete(&old).await, Finished::Lost);
    assert_eq!(s.complete(&new).await, Finished::Done);
}
