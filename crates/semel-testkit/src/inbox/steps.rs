//! Steps of a handler: what is done is not done again.

use semel_core::inbox::work::STEPS_MAX;
use semel_core::inbox::{Action, Job, Renewal, Step};

use super::subject::Subject;
use super::values::{AWHILE, only, retry_after, terminal};

fn names(job: &Job) -> Vec<&str> {
    job.steps.iter().map(|step| step.name.as_ref()).collect()
}

async fn failed_after(s: &Subject, steps: &[&str]) {
    let job = s.claim_one().await;
    for step in steps {
        assert_eq!(s.step(&job, step).await, Renewal::Held);
    }
    s.finish(&job, terminal()).await;
}

/// The next attempt begins at the first step that is not done.
pub async fn steps_come_with_the_next_attempt_in_their_order(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    for step in ["reserve", "charge", "announce"] {
        assert_eq!(s.step(&job, step).await, Renewal::Held);
    }
    let detail = s.detail("m").await.expect("known");
    s.finish(&job, retry_after(std::time::Duration::ZERO)).await;
    let next = s.claim_one().await;
    assert_eq!(names(&next), ["reserve", "charge", "announce"]);
    assert_eq!(next.steps[1].result, "result of charge");
    assert_eq!(detail.steps, next.steps);
}

/// A worker that is lost takes none of its steps with it.
pub async fn steps_of_a_lost_worker_are_kept(s: Subject) {
    s.received(&["m"]).await;
    let job = only(s.claim_briefly().await);
    assert_eq!(s.step(&job, "charge").await, Renewal::Held);
    s.pass(AWHILE).await;
    assert_eq!(names(&s.claim_one().await), ["charge"]);
}

/// A step is done once: its first result stays.
pub async fn a_step_that_is_remembered_again_stays_as_it_is(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    s.step(&job, "charge").await;
    let other = Step::new("charge", "another result").expect("valid");
    let again = s.inbox().remember_step(job.claim.clone(), other).await;
    assert_eq!(again.expect("an answer"), Renewal::Held);
    let detail = s.detail("m").await.expect("known");
    assert_eq!(only(detail.steps).result, "result of charge");
}

/// An owner that was replaced remembers nothing for its successor.
pub async fn a_step_of_an_old_owner_is_not_remembered(s: Subject) {
    s.received(&["m"]).await;
    let old = only(s.claim_briefly().await);
    s.pass(AWHILE).await;
    let new = s.claim_one().await;
    assert_eq!(s.step(&old, "charge").await, Renewal::Lost);
    assert!(s.detail("m").await.expect("known").steps.is_empty());
    s.complete(&new).await;
    assert_eq!(s.step(&new, "charge").await, Renewal::Lost);
}

/// Two messages of one handler have the same steps and not the same results.
pub async fn steps_belong_to_their_message(s: Subject) {
    s.received(&["a", "b"]).await;
    let jobs = s.claim().await;
    s.step(&jobs[0], "charge").await;
    s.finish(&jobs[0], terminal()).await;
    s.finish(&jobs[1], terminal()).await;
    s.operate(Action::Retry { new_key: false }, &["a", "b"])
        .await;
    let again = s.claim().await;
    let done: Vec<_> = again
        .iter()
        .map(|job| (super::values::id(job), names(job)))
        .collect();
    let expected = [("a".to_owned(), vec!["charge"]), ("b".to_owned(), vec![])];
    assert_eq!(done, expected);
}

/// Tried again by hand, a message goes on where it stopped.
pub async fn steps_stay_done_after_an_operators_retry(s: Subject) {
    s.received(&["m"]).await;
    failed_after(&s, &["charge"]).await;
    s.operate(Action::Retry { new_key: false }, &["m"]).await;
    assert_eq!(names(&s.claim_one().await), ["charge"]);
}

/// A replay does all of it again.
pub async fn steps_are_forgotten_on_replay(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    s.step(&job, "charge").await;
    s.complete(&job).await;
    s.operate(Action::Replay { rebuild: false }, &["m"]).await;
    let again = s.claim_one().await;
    assert_eq!(names(&again), Vec::<&str>::new());
    assert_eq!(s.step(&again, "charge").await, Renewal::Held);
}

/// The limit is an error, not a silence.
pub async fn steps_have_a_limit(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    for n in 0..STEPS_MAX {
        let step = format!("step-{n}");
        assert_eq!(s.step(&job, &step).await, Renewal::Held);
    }
    let one_more = Step::new("one more", "").expect("valid");
    let refused = s.inbox().remember_step(job.claim.clone(), one_more).await;
    let error = refused.expect_err("one step too many");
    assert_eq!(error.kind(), semel_core::Kind::Limit);
    // One that is there already takes no more room.
    assert_eq!(s.step(&job, "step-0").await, Renewal::Held);
}
