//! Clocks that are set back or forward; for stores whose clock a test can set.

use std::time::Duration;

use semel_core::Timestamp;
use semel_core::store::{ClaimAnswer, SettleAnswer};

use super::subject::{PAST_LEASE, Subject, granted, replayed};

const HOUR: Duration = Duration::from_secs(3_600);

async fn now(s: &Subject) -> Timestamp {
    let probe = s.granted("probe").await;
    let record = s.look_up("probe").await.expect("a record");
    assert_eq!(record.fence, probe.claim.fence);
    record.claimed_at
}

fn before(now: Timestamp, duration: Duration) -> Timestamp {
    let ms = i64::try_from(duration.as_millis()).expect("a short duration");
    Timestamp::from_millis(now.as_millis() - ms)
}

/// A lease that has ended is not alive again because the clock went back.
pub async fn a_step_back_revives_no_lease(s: Subject) {
    let start = now(&s).await;
    let lease = s.granted("k").await;
    s.pass(PAST_LEASE).await;
    assert!(matches!(s.claim("k").await, ClaimAnswer::Unknown { .. }));
    s.step_to(before(start, HOUR));
    assert!(matches!(s.claim("k").await, ClaimAnswer::Unknown { .. }));
    assert_eq!(s.settle(&lease.claim, "late").await, SettleAnswer::Late);
}

/// After a step back a lease still ends after its term, not an hour later.
pub async fn a_step_back_stops_no_lease_from_ending(s: Subject) {
    let start = now(&s).await;
    s.granted("k").await;
    s.step_to(before(start, HOUR));
    s.claim("k").await;
    s.pass(PAST_LEASE).await;
    let next = granted(s.take_over("k").await);
    assert_eq!(next.attempt, 2);
}

/// A step forward ends leases early; the old owner is fenced off and nothing is served twice.
pub async fn a_step_forward_ends_leases_and_fencing_holds(s: Subject) {
    let old = s.granted("k").await;
    s.pass(Duration::from_secs(600)).await;
    let new = granted(s.take_over("k").await);
    assert_eq!(s.settle(&old.claim, "old").await, SettleAnswer::Late);
    assert_eq!(s.settle(&new.claim, "new").await, SettleAnswer::Settled);
    assert_eq!(replayed(&s.claim("k").await), b"new");
}
