//! One attempt: runs the handler within its deadline, as long as its claim holds.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use crate::observer::AttemptEnd;
use crate::policy::retry::{Class, Failure};
use crate::policy::{Consumer, Signal};
use futures_util::FutureExt;
use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Disposition, Finish, Job, Message, State};
use semel_core::trace::SpanHandle;
use tokio::time::timeout;

use super::active::ActiveConsumer;
use super::circuit::Pass;
use super::flights::Lost;
use crate::handler::{Ctx, Done, Handler, How};
use crate::pause;
use crate::trace;

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
    pub(super) attempt: u32,
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

    /// Tells the log why an attempt failed; never what the handler answered.
    pub(super) fn log_failure(&self) {
        let Some(error) = error(&self.finish.disposition) else {
            return;
        };
        let identity = self.message.identity();
        let (consumer, message) = (identity.scope(), identity.key());
        let (attempt, state) = (self.attempt, self.finish.disposition.state());
        let (error, state_name) = (error.as_str(), state.name());
        let cause = cause(&self.finish.disposition).map(Cause::name);
        match state {
            State::FailedRetryable => {
                tracing::info!(%consumer, %message, attempt, state = state_name, cause, error, "attempt failed, it is tried again");
            }
            _ => {
                tracing::warn!(%consumer, %message, attempt, state = state_name, cause, error, "attempt failed");
            }
        }
    }
}

/// Runs one attempt, and reports to the circuit how it ended.
pub(super) async fn run(active: &ActiveConsumer, job: Job, lost: Lost, pass: Pass) -> Attempted {
    let (message, attempt) = (job.message.clone(), job.attempt);
    if attempt > active.policy.retry.attempts_max() {
        active.breaker.unused(pass);
        return Attempted::Finish(worn_out(active, job));
    }
    let span = trace::attempt(&active.shared.tracer, active.policy.name(), &job);
    let ctx = active.ctx(job, span.handle());
    let result = tokio::select! {
        biased;
        // A sender that is gone means that the claim has ended in another way, which cannot happen before this.
        Ok(()) = lost => {
            active.note(message.identity(), "claim lost: another worker has claimed the message, and its handler is cancelled");
            active.breaker.unused(pass);
            trace::lost(&span);
            return Attempted::Lost;
        }
        result = handled(&active.policy, &*active.handler, &ctx) => result,
    };
    let result = seen_by_circuit(active, pass, result);
    let finish = |disposition| Finish {
        claim: ctx.claim().clone(),
        took: ctx.took(),
        disposition,
    };
    let (disposition, is_finished) = match judged(&active.policy, &ctx, result) {
        Judged::Disposition(disposition) => (disposition, false),
        Judged::InTransaction(disposition) => (disposition, true),
    };
    traced(&span, &disposition);
    if disposition.state() == State::Completed && ctx.suppressed() > 0 {
        active.shared.watch.suppressed(&message, ctx.suppressed());
    }
    let finish = finish(disposition);
    let ending = FinishedAttempt {
        message,
        attempt,
        finish,
    };
    match is_finished {
        true => Attempted::Already(ending),
        false => Attempted::Finish(ending),
    }
}

/// Tells the circuit how an attempt ended. As long as it is open for our credentials, refusing them says nothing about the message.
fn seen_by_circuit(
    active: &ActiveConsumer,
    pass: Pass,
    result: Result<Done, Failure>,
) -> Result<Done, Failure> {
    let failure = match result {
        Ok(done) => {
            active.breaker.ended(pass, Signal::Success, None);
            return Ok(done);
        }
        Err(failure) => failure,
    };
    let (signal, reason) = (failure.signal, failure.error.as_str());
    let forgives = active.breaker.ended(pass, signal, Some(reason));
    Err(match (signal, forgives) {
        (Signal::Denied, true) => Failure {
            class: Class::NotReached,
            cause: Cause::NotReached,
            ..failure
        },
        _ => failure,
    })
}

/// What the handler made of it, within the deadline. After a panic or a deadline it is not known whether the effect happened.
pub(super) async fn handled(
    policy: &Consumer,
    handler: &dyn Handler,
    ctx: &Ctx,
) -> Result<Done, Failure> {
    // Calling the handler is inside, because it may panic before it returns its future.
    let handling = AssertUnwindSafe(async { handler.handle(ctx.clone()).await }).catch_unwind();
    let limit = policy.deadline;
    match timeout(limit, handling).await {
        Ok(Ok(result)) => result,
        Ok(Err(panic)) => {
            let text = panic_text(&*panic);
            Err(Failure::unknown(format!("the handler panicked: {text}")))
        }
        Err(_) => {
            let text = format!("the handler took longer than its deadline of {limit:?}");
            Err(Failure::unknown(text).telling(Signal::Away))
        }
    }
}

pub(super) enum Judged {
    Disposition(Disposition),
    InTransaction(Disposition),
}

/// What the end of an attempt means for its message.
pub(super) fn judged(consumer: &Consumer, ctx: &Ctx, result: Result<Done, Failure>) -> Judged {
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
        Ok(How::Completed(mut outcome)) => match ctx.intents() {
            Ok(intents) => {
                semel_http::trace::remember(ctx.span(), &mut outcome);
                Judged::Disposition(Disposition::Completed { outcome, intents })
            }
            Err(failure) => failed(failure),
        },
    }
}

/// What becomes of a message whose attempt failed.
fn decided(consumer: &Consumer, attempt: u32, failure: Failure) -> Disposition {
    let on_unknown = consumer.on_unknown;
    let jitter = pause::jitter();
    match consumer.retry.decide(attempt, failure, on_unknown, jitter) {
        Disposition::Park {
            cause: Cause::AttemptsExhausted,
            error,
        } if !consumer.parking => Disposition::Terminal { error },
        disposition => disposition,
    }
}

/// A message whose attempts are used up, by workers that were lost or because fewer are allowed now, is not given to another one.
fn worn_out(active: &ActiveConsumer, job: Job) -> FinishedAttempt {
    let failure = Failure::retryable(format!(
        "no attempt is left: {} were made, {} are allowed",
        job.attempt - 1,
        active.policy.retry.attempts_max()
    ));
    FinishedAttempt {
        finish: Finish {
            took: Duration::ZERO,
            disposition: decided(&active.policy, job.attempt, failure),
            claim: job.claim,
        },
        attempt: job.attempt,
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

/// Tells the trace how an attempt ended.
pub(super) fn traced(span: &SpanHandle, disposition: &Disposition) {
    let error = error(disposition).map(ErrorText::as_str);
    trace::attempted(span, disposition, cause(disposition), error);
}

/// What went wrong, if anything did.
const fn error(disposition: &Disposition) -> Option<&ErrorText> {
    match disposition {
        Disposition::Retry { error, .. }
        | Disposition::Terminal { error }
        | Disposition::Park { error, .. }
        | Disposition::NotReached { error, .. } => Some(error),
        Disposition::Completed { .. } | Disposition::Skip { .. } | Disposition::Return => None,
    }
}

fn panic_text(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    text.or(owned).unwrap_or("without a text")
}
