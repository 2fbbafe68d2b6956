//! What messages do: a step, a call to a provider, and an intent that is written with the outcome.

use std::sync::Arc;
use std::time::Duration;

use semel_core::Outcome;
use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Disposition, Finish, Intent, Job, Renewal, Step};

use super::Point;
use super::job::{Kind, kind_of, payload_of};
use super::worker::{Worker, patiently};
use crate::killing::say;
use crate::ledger::Effect;

const STEP: &str = "reserve";
/// How long a message whose first attempt failed waits for the next.
const WAIT: Duration = Duration::from_millis(5);

/// Runs one message to the end of its attempt.
pub(super) async fn handle(worker: Arc<Worker>, job: Job) {
    let id = job.claim.identity.key().as_str().to_owned();
    assert_eq!(*job.message.payload(), payload_of(&id));
    let at = |point| worker.stops.reach(&id, point);
    at(Point::AfterClaim).await;
    if job.attempt > 1 {
        at(Point::DuringRetry).await;
    }
    let is_first = job.attempt == 1 && job.generation == 0;
    if kind_of(&id) == Kind::Retry && is_first {
        let disposition = Disposition::Retry {
            after: WAIT,
            cause: Cause::Retryable,
            error: ErrorText::new("the provider is away"),
        };
        worker
            .finish(&worker.job.orders(), end(&job, disposition))
            .await;
        return;
    }
    if !take_step(&worker, &job).await {
        return;
    }
    at(Point::AfterStep).await;
    if job.replay {
        at(Point::DuringReplay).await;
    }
    // The provider knows its callers' keys: it does each message once, and refuses an old owner.
    let called = worker.ledger.effect_checked(&id, job.claim.fence.get());
    if called.expect("the ledger can be written") == Effect::Refused {
        return;
    }
    at(Point::AfterCall).await;
    complete(&worker, &job, &id).await;
}

/// Remembers the step unless an earlier attempt has; whether the message is still ours.
async fn take_step(worker: &Worker, job: &Job) -> bool {
    if job.steps.iter().any(|step| &*step.name == STEP) {
        return true;
    }
    let step = Step::new(STEP, "reserved").expect("a small step");
    let claim = &job.claim;
    let remember = || worker.inbox.remember_step(claim.clone(), step.clone());
    patiently(remember).await == Renewal::Held
}

/// Writes the outcome and, with it or not at all, the effect in the database: an intent of this run.
async fn complete(worker: &Worker, job: &Job, id: &str) {
    let intent = Intent {
        plan: Arc::new(worker.job.mails()),
        message: worker.job.mail(id, job.claim.fence.get()),
    };
    let disposition = Disposition::Completed {
        outcome: Outcome::succeeded(format!("receipt of {id}")),
        // What a replay would send was sent.
        intents: if job.replay { Vec::new() } else { vec![intent] },
    };
    if worker
        .finish(&worker.job.orders(), end(job, disposition))
        .await
    {
        worker.stops.reach(id, Point::AfterWrite).await;
        worker.ack(id).await;
        say(&format!("done {id}"));
    }
}

/// Sends one intent to its provider.
pub(super) async fn send(worker: Arc<Worker>, job: Job) {
    let id = String::from_utf8(job.message.payload().to_vec()).expect("intents name their message");
    let mail = mail_of(&id);
    let sent = worker.ledger.effect_checked(&mail, job.claim.fence.get());
    if sent.expect("the ledger can be written") == Effect::Refused {
        return;
    }
    worker.stops.reach(&id, Point::AfterSend).await;
    let disposition = Disposition::Completed {
        outcome: Outcome::succeeded(format!("receipt of {mail}")),
        intents: Vec::new(),
    };
    worker
        .finish(&worker.job.mails(), end(&job, disposition))
        .await;
}

/// What the provider calls the mail about a message.
pub(super) fn mail_of(id: &str) -> String {
    format!("mail-{id}")
}

fn end(job: &Job, disposition: Disposition) -> Finish {
    Finish {
        claim: job.claim.clone(),
        took: Duration::ZERO,
        disposition,
    }
}
