//! One attempt: runs the handler within its deadline, as long as its claim holds.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use semel_core::inbox::retry::Failure;
use semel_core::inbox::watch::End;
use semel_core::inbox::{Cause, Consumer, Finish, Job, Message, State, Verdict};
use tokio::time::timeout;

use super::flights::Lost;
use super::post::Post;
use crate::handler::{Ctx, Done, How};
use crate::pause;

/// How an attempt ended.
pub(super) enum Ended {
    /// It is to be finished.
    Finish(Ending),
    /// The handler has finished it in its own transaction.
    Already(Ending),
    /// The claim was lost, and with it the right to say anything.
    Lost,
}

/// The end of an attempt and the message it is about.
pub(super) struct Ending {
    pub(super) message: Arc<Message>,
    pub(super) finish: Finish,
}

impl Ending {
    /// The end, for whoever measures it.
    pub(super) fn end(&self, late: bool) -> End {
        End {
            state: self.finish.verdict.state(),
            cause: cause(&self.finish.verdict),
            took: self.finish.took,
            late,
        }
    }
}

/// Runs one attempt.
pub(super) async fn run(post: &Post, job: Job, lost: Lost) -> Ended {
    let message = job.message.clone();
    if job.attempt > post.consumer.retry.attempts_max() {
        return Ended::Finish(worn_out(post, job));
    }
    let ctx = post.ctx(job);
    let result = tokio::select! {
        biased;
        // A sender that is gone means that the claim has ended in another way, which cannot happen before this.
        Ok(()) = lost => {
            post.note(message.identity(), "the claim of a message was lost, its handler is cancelled");
            return Ended::Lost;
        }
        result = handled(post, &ctx) => result,
    };
    let finish = |verdict| Finish {
        ticket: ctx.ticket().clone(),
        took: ctx.took(),
        verdict,
    };
    let (verdict, is_finished) = match judged(&post.consumer, &ctx, result) {
        Judged::Verdict(verdict) => (verdict, false),
        Judged::InTransaction(verdict) => (verdict, true),
    };
    if verdict.state() == State::Completed && ctx.suppressed() > 0 {
        post.shared.watch.suppressed(&message, ctx.suppressed());
    }
    let finish = finish(verdict);
    let ending = Ending { message, finish };
    match is_finished {
        true => Ended::Already(ending),
        false => Ended::Finish(ending),
    }
}

/// What the handler made of it, within the deadline. A panic is a failure that may pass.
async fn handled(post: &Post, ctx: &Ctx) -> Result<Done, Failure> {
    // Calling the handler is inside, because it may panic before it returns its future.
    let handling =
        AssertUnwindSafe(async { post.handler.handle(ctx.clone()).await }).catch_unwind();
    let limit = post.consumer.deadline;
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
    Verdict(Verdict),
    InTransaction(Verdict),
}

fn judged(consumer: &Consumer, ctx: &Ctx, result: Result<Done, Failure>) -> Judged {
    let failed = |failure| Judged::Verdict(decided(consumer, ctx.attempt(), failure));
    match result.map(|done| done.0) {
        Err(failure) => failed(failure),
        Ok(How::Skipped) => Judged::Verdict(Verdict::Skip {
            cause: Cause::Handler,
        }),
        Ok(How::InTransaction) => Judged::InTransaction(Verdict::Completed {
            outcome: semel_core::Outcome::succeeded(""),
            intents: Vec::new(),
        }),
        Ok(How::Completed(outcome)) => match ctx.intents() {
            Ok(intents) => Judged::Verdict(Verdict::Completed { outcome, intents }),
            Err(failure) => failed(failure),
        },
    }
}

/// What becomes of a message whose attempt failed.
fn decided(consumer: &Consumer, attempt: u32, failure: Failure) -> Verdict {
    match consumer.retry.decide(attempt, failure, pause::dice()) {
        Verdict::Park {
            cause: Cause::AttemptsExhausted,
            error,
        } if !consumer.parking => Verdict::Terminal { error },
        verdict => verdict,
    }
}

/// A message whose attempts were used up by workers that were lost is not given to another one.
fn worn_out(post: &Post, job: Job) -> Ending {
    let failure = Failure::retryable(format!(
        "its workers were lost {} times, and no attempt is left",
        job.attempt - 1
    ));
    Ending {
        finish: Finish {
            took: Duration::ZERO,
            verdict: decided(&post.consumer, job.attempt, failure),
            ticket: job.ticket,
        },
        message: job.message,
    }
}

/// Why a verdict leads to its state, where that is not plain.
pub(super) const fn cause(verdict: &Verdict) -> Option<Cause> {
    match verdict {
        Verdict::Completed { .. } => None,
        Verdict::Retry { cause, .. } | Verdict::Park { cause, .. } | Verdict::Skip { cause } => {
            Some(*cause)
        }
        Verdict::Terminal { .. } => Some(Cause::Terminal),
        Verdict::Return => Some(Cause::Returned),
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    text.or(owned).unwrap_or("without a text")
}
