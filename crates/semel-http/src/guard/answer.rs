//! Runs an admitted request, and turns what the core says about it into a response.

use std::any::Any;
use std::fmt;

use http::request::Parts;
use http::{Method, Request, Response};
use semel_core::duplicate::{Duplicate, Origin};
use semel_core::once::{Operation, Recorded, Refusal, Reply};
use semel_core::record::UnknownCause;
use semel_core::{Clock, Fence, Fingerprint, Identity, Record, State, SystemClock, Timestamp};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::exchange::{Ended, Exchange};
use super::spool::Read;
use super::{Begun, Echo, Failure, Guard, Upstream};
use crate::body::Body;
use crate::event::What;
use crate::mcp;
use crate::memory::Full;
use crate::problem::{Problem, Ran, Type};
use crate::quota::Ticket;
use crate::replay;
use crate::rules::BusyStatus;
use crate::trace;

/// A request that is to take effect once.
#[derive(Debug)]
pub struct Admitted {
    pub(super) guard: Guard,
    pub(super) operation: Operation,
    pub(super) asked: Asked,
    pub(super) fingerprint: Fingerprint,
    pub(super) echo: Echo,
    pub(super) began: Begun,
    /// Dropped when the run has ended, whoever waits for it.
    pub(super) kept: Kept,
    /// The right to use the key, if it is new.
    pub(super) ticket: Ticket,
}

/// Something that lives as long as a run.
#[derive(Default)]
pub(super) struct Kept {
    _value: Option<Box<dyn Any + Send>>,
}

impl fmt::Debug for Kept {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Kept")
    }
}

/// What was asked: the request with all of its body.
#[derive(Debug)]
pub(super) struct Asked {
    method: Method,
    request: Request<Body>,
}

impl Asked {
    pub(super) fn new(parts: Parts, body: Read) -> Self {
        Self {
            method: parts.method.clone(),
            request: Request::from_parts(parts, body.into()),
        }
    }
}

impl Admitted {
    /// Which operation it is.
    pub const fn identity(&self) -> &Identity {
        self.operation.identity()
    }

    /// Keeps `value` until the run has ended, even if its response is still on its way or its client
    /// has left: for doors that count what is in flight.
    #[must_use]
    pub fn keeping(mut self, value: impl Any + Send) -> Self {
        self.kept._value = Some(Box::new(value));
        self
    }

    /// The answer to a duplicate, if it can be told at once. Doors ask this first: most of what comes
    /// soon after its original needs nothing of what [`Admitted::run`] prepares.
    pub fn cached(&self) -> Option<Response<Body>> {
        let record = self.operation.cached()?;
        Some(self.answering().replayed(&record))
    }

    fn answering(&self) -> Answering {
        Answering {
            identity: self.operation.identity().clone(),
            guard: self.guard.clone(),
            fingerprint: self.fingerprint,
            method: self.asked.method.clone(),
            echo: self.echo.clone(),
            began: self.began.clone(),
        }
    }

    /// Claims, runs and settles; or replays; or refuses. The run goes on if this future is dropped.
    pub async fn run<U: Upstream>(self, upstream: U) -> Response<Body> {
        let answering = self.answering();
        let (early, mut streamed) = oneshot::channel();
        let operation = match self.ticket.giver_back() {
            // A duplicate that waits holds no right to a new key.
            Some(give_back) => self.operation.when_not_granted(give_back),
            None => self.operation,
        };
        // Boxed, because on its way to the claim it is handed on many times.
        let exchange = Box::new(Exchange {
            guard: self.guard,
            request: self.asked.request,
            call: self.echo.call,
            ticket: self.ticket,
            upstream,
            early,
        });
        let mut run = Box::pin(operation.run_raw(move |run| exchange.perform(run)));
        let ended = tokio::select! {
            ended = &mut run => ended,
            Ok(mut response) = &mut streamed => {
                answering.echo(&mut response);
                // The response is on its way; somebody must see to its end.
                tokio::spawn(async move {
                    answering.answer(run.await).await;
                    drop(self.kept);
                });
                return response;
            }
        };
        match streamed.try_recv() {
            // A response that was on its way ended before anybody looked.
            Ok(mut response) => {
                answering.echo(&mut response);
                tokio::spawn(async move {
                    answering.answer(ended).await;
                    drop(self.kept);
                });
                response
            }
            Err(_) => answering.answer(ended).await,
        }
    }
}

/// All that is needed to answer once the run has ended.
pub(super) struct Answering {
    pub(super) guard: Guard,
    pub(super) identity: Identity,
    pub(super) fingerprint: Fingerprint,
    pub(super) method: Method,
    pub(super) echo: Echo,
    pub(super) began: Begun,
}

impl Answering {
    async fn answer(self, ended: Result<Reply<Ended>, Refusal>) -> Response<Body> {
        match ended {
            Ok(Reply::Replayed(record)) => self.replayed(&record),
            Ok(Reply::Ran {
                value, recorded, ..
            }) => self.ran(value, recorded).await,
            Err(refusal) => {
                self.count_refused(&refusal);
                self.refused(self.refusal(&refusal))
            }
        }
    }

    async fn ran(self, ended: Ended, recorded: Recorded) -> Response<Body> {
        self.look_for_another_key();
        if recorded == Recorded::Late {
            return self.refused(late());
        }
        match ended {
            Ended::Failed(failure) => self.refused(failure_problem(&failure)),
            Ended::Response(response) => self.dressed(response, What::Ran(recorded)),
            Ended::Streamed(rest) => {
                let mut seen = Response::new(Body::empty());
                *seen.status_mut() = rest.status;
                rest.send().await;
                self.dressed(seen, What::Ran(recorded))
            }
        }
    }

    /// A duplicate that is refused was suppressed as well; when its first began is not known here.
    fn count_refused(&self, refusal: &Refusal) {
        let origin = match refusal {
            Refusal::InProgress { .. } | Refusal::TooManyWaiting => Origin::ConcurrentRetry,
            Refusal::Unknown { .. } => Origin::ClientRetry,
            _ => return,
        };
        let scope = self.identity.scope();
        let found = Duplicate::of(scope, origin);
        self.guard.0.watch.saw_duplicate(&found);
    }

    /// Tells whether the same request came moments ago under another key; then both have run.
    fn look_for_another_key(&self) {
        let (identity, inner) = (&self.identity, &self.guard.0);
        let Some(age) = inner.recent.see(identity, self.fingerprint, Instant::now()) else {
            return;
        };
        let found = Duplicate {
            age: Some(age),
            ..Duplicate::of(identity.scope(), Origin::NewKey)
        };
        inner.watch.saw_duplicate(&found);
    }

    fn refusal(&self, refusal: &Refusal) -> Problem {
        let problem = refusal_problem(refusal, &self.guard);
        let status = self.guard.rules().in_progress.status;
        match refusal {
            Refusal::InProgress { .. } if status == BusyStatus::Accepted => self.located(problem),
            _ => problem,
        }
    }

    pub(super) fn replayed(&self, record: &Record) -> Response<Body> {
        let State::Settled(settled) = &record.state else {
            unreachable!("only settled records are replayed");
        };
        trace::replayed(&self.began.span, &settled.outcome.headers);
        let now = self.guard.0.once.store().now();
        let found = Duplicate::answered(record, now, self.began.at.elapsed());
        self.guard.0.watch.saw_duplicate(&found);
        let response = replay::response(self.guard.rules(), &self.method, settled);
        let response = match &self.echo.call {
            Some(id) => mcp::replayed(response, settled, id),
            None => response,
        };
        let (head, body) = response.into_parts();
        match body.counted(&self.guard.0.budgets.memory) {
            Ok(body) => self.dressed(Response::from_parts(head, body), What::Replayed),
            Err(Full) => self.refused(no_room_to_answer().ran(Ran::Yes)),
        }
    }

    /// Adds what the route promises to say with every answer.
    fn dressed(&self, mut response: Response<Body>, what: What) -> Response<Body> {
        let rules = self.guard.rules();
        self.echo(&mut response);
        if rules.tell_expiry && what == What::Ran(Recorded::Settled) {
            let expires = SystemClock::new().now().after(rules.retention.keep());
            let expires = replay::expiry(expires);
            response.headers_mut().insert(replay::EXPIRES, expires);
        }
        let status = response.status().as_u16();
        self.guard
            .0
            .saw(Some(&self.identity), what, status, &self.began);
        response
    }

    fn echo(&self, response: &mut Response<Body>) {
        let guard = &self.guard.0;
        guard.echo(Some(&self.identity), &self.echo, response);
    }

    pub(super) fn refused(&self, problem: Problem) -> Response<Body> {
        self.guard
            .0
            .refuse(problem, Some(&self.identity), &self.began, &self.echo)
    }
}

fn refusal_problem(refusal: &Refusal, guard: &Guard) -> Problem {
    match refusal {
        Refusal::InProgress { retry_after } => {
            let status = guard.rules().in_progress.status.status();
            let detail = "the first request with this key has no outcome yet, ask again later";
            Problem::new(Type::InProgress, detail)
                .status(status)
                .retry_after(*retry_after)
        }
        Refusal::KeyReused => Problem::new(
            Type::KeyReused,
            "this key was first used with another request; a new operation needs a new key, nothing ran",
        ),
        Refusal::Unknown {
            fence,
            since,
            cause,
        } => unknown_of(*fence, *since, *cause),
        Refusal::Panicked => unknown(UnknownCause::RunPanicked)
            .status(http::StatusCode::INTERNAL_SERVER_ERROR)
            .with("cause", UnknownCause::RunPanicked.name()),
        Refusal::TooManyRuns | Refusal::TooManyWaiting => too_many(refusal),
        Refusal::Invalid(error) => Problem::new(Type::KeyInvalid, error.to_string()),
        // Refusals that the core may add later are for want of an answer from the store, too.
        _ => store_away(),
    }
}

pub(super) fn store_away() -> Problem {
    Problem::new(
        Type::StoreUnavailable,
        "the store did not answer, nothing ran; the same request may be sent again with the same key",
    )
}

/// What is known about an outcome that is not.
pub(super) fn unknown_of(fence: Fence, since: Timestamp, cause: UnknownCause) -> Problem {
    unknown(cause)
        .with("fence", fence.get())
        .with("since", since.to_string())
        .with("cause", cause.name())
}

/// Clients do not read their answers, and nothing more may wait for them.
pub(super) fn no_room_to_answer() -> Problem {
    let detail = "the memory for answers is used up, this request ran nothing";
    Problem::new(Type::Overloaded, detail).with("budget", "response_bytes")
}

/// As many operations run, or duplicates wait, as may. This request ran nothing; another one with its key may have.
fn too_many(refusal: &Refusal) -> Problem {
    let budget = match refusal {
        Refusal::TooManyWaiting => "waiting",
        _ => "runs",
    };
    Problem::new(
        Type::Overloaded,
        format!("{refusal}; the same request may be sent again"),
    )
    .with("budget", budget)
    .ran(Ran::Maybe)
}

fn unknown(cause: UnknownCause) -> Problem {
    let what = match cause {
        UnknownCause::RunPanicked => "the service failed without an answer",
        _ => "an earlier attempt ended without a known outcome",
    };
    Problem::new(
        Type::OutcomeUnknown,
        format!("{what}: it may have taken effect, so it is not run again until that is decided"),
    )
}

fn late() -> Problem {
    Problem::new(
        Type::OutcomeUnknown,
        "the claim was lost while the service worked; its answer is kept for the audit, and asking \
         again tells what counts",
    )
}

fn failure_problem(failure: &Failure) -> Problem {
    match failure {
        Failure::NotReached(_) => Problem::new(
            Type::UpstreamUnreachable,
            "the service could not be reached, nothing ran; the same request may be sent again with the same key",
        ),
        Failure::Broken(_) => Problem::new(
            Type::UpstreamFailed,
            "the service broke off after it may have begun; whether it took effect is not known",
        ),
        Failure::TimedOut(_) => Problem::new(
            Type::UpstreamTimeout,
            "the service did not answer in time; whether it took effect is not known",
        ),
        Failure::Unreadable(why) => Problem::new(
            Type::UpstreamFailed,
            format!(
                "the service's answer cannot be used ({why}); whether it took effect is not known"
            ),
        ),
    }
}
