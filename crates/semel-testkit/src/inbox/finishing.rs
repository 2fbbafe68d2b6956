//! How attempts end, and what is kept of them.

use std::time::Duration;

use semel_core::Outcome;
use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Attempt, Cause, Claim, Disposition, Finished, Renewal, State};

use super::subject::Subject;
use super::values::{
    AWHILE, LONG, SHORTLY, TOOK, completed, finish_of_claim, id, only, parked, retry_after,
    terminal,
};

/// The record is what suppresses duplicates at every door, so it says all that a record says.
pub async fn a_completed_message_settles_its_record(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    assert!(s.record("m").await.is_none());
    assert_eq!(s.complete(&job).await, Finished::Done);
    let record = s.record("m").await.expect("a record");
    assert_eq!(record.identity, s.identity("m"));
    assert_eq!(record.fingerprint, s.message("m").fingerprint());
    assert_eq!(record.fence, job.claim.fence);
    let semel_core::State::Settled(settled) = &record.state else {
        panic!("expected a settled record, found {:?}", record.state);
    };
    assert_eq!(settled.outcome, Outcome::succeeded("done m"));
    assert_eq!(settled.took, TOOK);
    let keep = s.plan().retention.keep();
    assert_eq!(settled.expires_at, settled.at.after(keep));
    let detail = s.detail("m").await.expect("known");
    assert_eq!(detail.settled.as_ref(), Some(settled));
    assert_eq!(detail.entry.state, State::Completed);
}

/// Done is done.
pub async fn a_completed_message_is_never_claimed_again(s: Subject) {
    s.received(&["m"]).await;
    let mut ask = s.ask(10);
    ask.lease = super::values::short_lease();
    let job = only(s.claim_as(ask).await.jobs);
    s.complete(&job).await;
    s.pass(AWHILE).await;
    s.nothing_is_due().await;
    s.is("m", State::Completed).await;
}

/// The connection may die after the commit and before the answer: asked again, the fence tells.
pub async fn a_completion_sent_again_is_done(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    for _ in 0..2 {
        assert_eq!(s.complete(&job).await, Finished::Done);
    }
    assert_eq!(s.outcome("m").await, "done m");
    let attempts = s.detail("m").await.expect("known").attempts;
    assert_eq!(attempts, []);
}

/// A retry waits for its time and then runs as the next attempt.
pub async fn a_retry_is_due_when_its_time_comes(s: Subject) {
    s.received(&["soon", "late"]).await;
    let jobs = s.claim().await;
    s.finish(&jobs[0], retry_after(SHORTLY)).await;
    s.finish(&jobs[1], retry_after(LONG)).await;
    s.pass(AWHILE).await;
    let job = s.claim_one().await;
    assert_eq!((id(&job).as_str(), job.attempt), ("soon", 2));
    assert!(job.claim.fence > jobs[0].claim.fence);
    let entry = s.entry("late").await;
    assert_eq!(entry.state, State::FailedRetryable);
    assert_eq!(entry.cause, Some(Cause::Retryable));
    let waits = entry.due_at.expect("due").since(entry.changed_at);
    assert_eq!(waits, LONG);
}

/// Trying again at once is trying again.
pub async fn a_retry_without_a_wait_is_due_at_once(s: Subject) {
    s.received(&["m"]).await;
    for attempt in 1..=3 {
        let job = s.claim_one().await;
        assert_eq!(job.attempt, attempt);
        s.finish(&job, retry_after(Duration::ZERO)).await;
    }
}

/// Every attempt that failed is there for whoever asks why.
pub async fn failed_attempts_are_kept_with_their_errors(s: Subject) {
    s.received(&["m"]).await;
    let mut fences = Vec::new();
    for (n, cause) in [(1, Cause::Retryable), (2, Cause::DeadlineExceeded)] {
        let job = s.claim_one().await;
        fences.push(job.claim.fence);
        let disposition = Disposition::Retry {
            after: Duration::ZERO,
            cause,
            error: ErrorText::new(format!("error {n}")),
        };
        s.finish(&job, disposition).await;
    }
    let job = s.claim_one().await;
    fences.push(job.claim.fence);
    s.finish(&job, terminal()).await;
    let detail = s.detail("m").await.expect("known");
    let kept: Vec<_> = detail.attempts.iter().map(in_short).collect();
    let (retry, failed) = (State::FailedRetryable, State::FailedTerminal);
    let expected = [
        (1, retry, Some(Cause::Retryable), "error 1"),
        (2, retry, Some(Cause::DeadlineExceeded), "error 2"),
        (3, failed, Some(Cause::Terminal), "the account is closed"),
    ];
    assert_eq!(kept, expected);
    let kept: Vec<_> = detail.attempts.iter().map(|a| a.fence).collect();
    assert_eq!(kept, fences);
    assert!(detail.attempts.iter().all(|a| a.generation == 0 && !a.late));
    let workers = detail.attempts.iter().map(|a| a.worker.as_deref());
    assert!(workers.eq([Some("the suite"); 3]));
    assert_eq!(detail.entry.error.as_deref(), Some("the account is closed"));
    assert_eq!(detail.entry.attempts, 3);
}

fn in_short(attempt: &Attempt) -> (u32, State, Option<Cause>, &str) {
    let error = attempt.error.as_deref().unwrap_or_default();
    (attempt.number, attempt.state, attempt.cause, error)
}

/// A failure is no outcome: nothing is settled, and the message stays where a person finds it.
pub async fn a_failure_leaves_no_record_and_stays_as_work(s: Subject) {
    for (id, disposition, state, cause) in [
        ("failed", terminal(), State::FailedTerminal, Cause::Terminal),
        ("parked", parked(), State::Parked, Cause::Handler),
    ] {
        s.received(&[id]).await;
        let job = s.claim_one().await;
        assert_eq!(s.finish(&job, disposition).await, Finished::Done);
        assert_eq!(s.state(id).await, (state, Some(cause)));
        assert!(s.record(id).await.is_none());
        assert!(s.detail(id).await.expect("known").message.is_some());
    }
}

/// A handler that finds nothing to do has dealt with the message.
pub async fn a_skipped_message_settles_its_record(s: Subject) {
    s.received(&["m"]).await;
    let job = s.claim_one().await;
    let cause = Cause::OlderVersion;
    assert_eq!(
        s.finish(&job, Disposition::Skip { cause }).await,
        Finished::Done
    );
    assert_eq!(s.state("m").await, (State::SkippedDuplicate, Some(cause)));
    let record = s.record("m").await.expect("a record");
    assert!(matches!(record.state, semel_core::State::Settled(_)));
}

/// What a worker gives back unstarted is due at once, and nothing was tried.
pub async fn a_returned_message_counts_no_attempt(s: Subject) {
    s.received(&["m", "n"]).await;
    let jobs = s.claim().await;
    assert_eq!(
        s.finish(&jobs[0], Disposition::Return).await,
        Finished::Done
    );
    s.is("m", State::Received).await;
    assert_eq!(s.entry("m").await.attempts, 0);
    let again = s.claim_one().await;
    assert_eq!((id(&again).as_str(), again.attempt), ("m", 1));
    assert!(again.claim.fence > jobs[0].claim.fence);
    assert_eq!(s.complete(&jobs[0]).await, Finished::Lost);
    assert_eq!(s.complete(&again).await, Finished::Done);
}

/// A claim is good for one end: what it says after that is late.
pub async fn a_claim_ends_with_its_attempt(s: Subject) {
    for (id, disposition) in [
        ("later", retry_after(LONG)),
        ("failed", terminal()),
        ("parked", parked()),
    ] {
        s.received(&[id]).await;
        let job = s.claim_one().await;
        s.finish(&job, disposition).await;
        let state = s.state(id).await;
        assert_eq!(s.finish(&job, completed("late")).await, Finished::Lost);
        assert_eq!(s.renew(&job).await, Renewal::Lost);
        assert_eq!(s.state(id).await, state);
        assert!(s.record(id).await.is_none());
    }
}

/// A fence is checked together with the message that it was drawn for.
pub async fn a_foreign_claim_changes_nothing(s: Subject) {
    s.received(&["a", "b"]).await;
    let jobs = s.claim().await;
    let crossed = Claim {
        identity: s.identity("b"),
        fence: jobs[0].claim.fence,
    };
    let unknown = Claim {
        identity: s.identity("nobody"),
        fence: jobs[0].claim.fence,
    };
    let items = [&crossed, &unknown].map(|claim| finish_of_claim(claim, completed("foreign")));
    let lost = Finished::Lost;
    assert_eq!(s.finish_all(items.to_vec()).await, [lost, lost]);
    s.is("b", State::InProgress).await;
    assert!(s.record("nobody").await.is_none());
    assert_eq!(s.complete(&jobs[1]).await, Finished::Done);
}
