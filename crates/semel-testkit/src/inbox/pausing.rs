//! Consumers that people stop and let go on.

use semel_core::store::Actor;

use super::claiming::woken;
use super::subject::Subject;
use super::values::only;

async fn set(s: &Subject, paused: bool) -> bool {
    let by = Actor::new("the suite").expect("a short name");
    let reason = paused.then(|| "INC-7".to_owned());
    let set = s
        .inbox()
        .set_paused(s.consumer().clone(), paused, by, reason)
        .await;
    set.expect("the inbox answers")
}

/// Paused, a consumer takes messages in and runs none of them.
pub async fn a_paused_consumer_receives_and_does_not_run(s: Subject) {
    assert!(set(&s, true).await);
    assert!(!set(&s, true).await, "it is paused already");
    s.received(&["m"]).await;
    let claimed = s.claim_as(s.ask(10)).await;
    assert!(claimed.paused && claimed.jobs.is_empty());
    let paused = s.counts().await.paused.expect("it is paused");
    assert_eq!(
        (paused.by.as_str(), paused.reason.as_deref()),
        ("the suite", Some("INC-7"))
    );
    let mut wake_up = s.inbox().wake_up(s.consumer());
    assert!(set(&s, false).await);
    woken(&mut wake_up).await;
    assert_eq!(s.counts().await.paused, None);
    assert_eq!(s.process_all().await, ["m"]);
}

/// What runs when its consumer is paused may end.
pub async fn what_runs_may_end_while_its_consumer_is_paused(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    set(&s, true).await;
    assert_eq!(s.renew(&job).await, semel_core::inbox::Renewal::Held);
    assert_eq!(s.complete(&job).await, semel_core::inbox::Finished::Done);
}

/// Who paused it, and why, is in the audit.
pub async fn a_pause_leaves_a_line_in_the_audit(s: Subject) {
    set(&s, true).await;
    let line = only(s.audit().await);
    assert_eq!(
        (line.action.as_str(), line.by.as_str()),
        ("pause", "the suite")
    );
    assert_eq!(line.reason.as_deref(), Some("INC-7"));
}
