//! One attempt: runs the handler within its deadline, as long as its claim holds.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use crate::observer::AttemptEnd;
use crate::policy::Consumer;
use crate::policy::retry::Failure;
use futures_util::FutureExt;
use semel_core::inbox::{Cause, Disposition, Finish, Job, Message, State};
use tokio::time::timeout;

use super::active::ActiveConsumer;
use super::flights::Lost;
use crate::handler::{Ctx, Done, How};
use crate::pause;

/// How an attempt ended.
pub(super) enum Attempted {
    /// It is to be finished.
    Finish(FinishedAttempt),
    /// The handler has finished it in its own transaction.
    Already(FinishedAttempt),
    /// The claim was lost, and with it the right to say anything.
    Lost,
}

/// The end of an attempt and the message it is about.
pub(super) struct FinishedAttempt {
    pub(super) message: Arc<Message>,
    pub(super) finish: Finish,
}

impl FinishedAttempt {
    /// The end, for whoever measures it.
    pub(super) fn end(&self, late: bool) -> AttemptEnd {
        AttemptEnd {
            state: self.finish.disposition.state(),
            cause: cause(&self.finish.disposition),
            took: self.finish.took,
            late,
        }
    }
}

/// Runs one attempt.
pub(super) async fn run(active: &ActiveConsumer, job: Job, lost: Lost) -> Attempted {
    let message = job.message.clone();
    if job.attempt > active.policy.retry.attempts_max() {
        return Attempted::Finish(worn_out(active, job));
    }
    let ctx = active.ctx(job);
    let result = tokio::select! {
        biased;
        // A sender that is gone means that the claim has ended in another way, which cannot happen before this.
        Ok(()) = lost => {
            active.note(message.identity(), "the claim of a message was lost, its handler is cancelled");
            return Attempted::Lost;
        }
        result = handled(active, &ctx) => result,
    };
    let finish = |disposition| Finish {
        claim: ctx.claim().clone(),
        took: ctx.took(),
        disposition,
    };
    let (disposition, is_finished) = match judged(&active.policy, &ctx, result) {
        Judged::Disposition(disposition) => (disposition, false),
        Judged::InTransaction(disposition) => (disposition, true),
    };
    if disposition.state() == State::Completed && ctx.suppressed() > 0 {
        active.shared.watch.suppressed(&message, ctx.suppressed());
    }
    let finish = finish(disposition);
    let ending = FinishedAttempt { message, finish };
    match is_finished {
        true => Attempted::Already(ending),
        false => Attempted::Finish(ending),
    }
}

/// What the handler made of it, within the deadline. A panic is a failure that may pass.
async fn handled(active: &ActiveConsumer, ctx: &Ctx) -> Result<Done, Failure> {
    // Calling the handler is inside, because it may panic before it returns its future.
    let handling =
        AssertUnwindSafe(async { active.handler.handle(ctx.clone()).await }).catch_unwind();
    let limit = active.policy.deadline;
    match timeout(limit, handling).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => Err(Failure::retryable(format!(
            "the handler panicked: {}",
            panic_text(&*panic)
        ))),
        Err(_) => {
            let text = format!("the handler took longer than its deadline of {limit:?}");
            Err(Failure::retryable(text).because(Cause::DeadlineExceeded))
        }
    }
}

enum Judged {
    Disposition(Disposition),
    InTransaction(Disposition),
}

fn judged(consumer: &Consumer, ctx: &Ctx, result: Result<Done, Failure>) -> Judged {
    let failed = |failure| Judged::Disposition(decided(consumer, ctx.attempt(), failure));
    match result.map(|done| done.0) {
        Err(failure) => failed(failure),
        Ok(How::Skipped) => Judged::Disposition(Disposition::Skip {
            cause: Cause::Handler,
        }),
        Ok(How::InTransaction) => Judged::InTransaction(Disposition::Completed {
            outcome: semel_core::Outcome::succeeded(""),
            intents: Vec::new(),
        }),
        Ok(How::Completed(outcome)) => match ctx.intents() {
            Ok(intents) => Judged::Disposition(Disposition::Completed { outcome, intents }),
            Err(failure) => failed(failure),
        },
    }
}

/// What becomes of a message whose attempt failed.
fn decided(consumer: &Consumer, attempt: u32, failure: Failure) -> Disposition {
    match consumer.retry.decide(attempt, failure, pause::jitter()) {
        Disposition::Park {
            cause: Cause::AttemptsExhausted,
            error,
        } if !consumer.parking => Disposition::Terminal { error },
        disposition => disposition,
    }
}

/// A message whose attempts were used up by workers that were lost is not given to another one.
fn worn_out(active: &ActiveConsumer, job: Job) -> FinishedAttempt {
    let failure = Failure::retryable(format!(
        "its workers were lost {} times, and no attempt is left",
        job.attempt - 1
    ));
    FinishedAttempt {
        finish: Finish {
            took: Duration::ZERO,
            disposition: decided(&active.policy, job.attempt, failure),
            claim: job.claim,
        },
        message: job.message,
    }
}

/// Why a disposition leads to its state, where that is not plain.
pub(super) const fn cause(disposition: &Disposition) -> Option<Cause> {
    match disposition {
        Disposition::Completed { .. } => None,
        Disposition::Retry { cause, .. }
        | Disposition::Park { cause, .. }
        | Disposition::Skip { cause } => Some(*cause),
        Disposition::Terminal { .. } => Some(Cause::Terminal),
        Disposition::NotReached { .. } => Some(Cause::NotReached),
        Disposition::Return => Some(Cause::Returned),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    text.or(owned).unwrap_or("without a text")
}
