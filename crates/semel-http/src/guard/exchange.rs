//! What happens under a claim: the call to the service, and what its answer means for the record.

use std::time::Duration;

use http::{HeaderName, Request, Response, StatusCode, response};
use semel_core::Outcome;
use semel_core::once::{Finished, Run, Settlement};
use semel_core::trace::{Kind, Span};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use super::events::{self, Events};
use super::silence::{Heard, Silent};
use super::spool::Gathered;
use super::stream::{Rest, Streaming};
use super::{Failure, Guard, Handover, Upstream};
use crate::body::{Body, BoxError};
use crate::event::Answered;
use crate::mcp;
use crate::quota::{Ticket, bytes_of};
use crate::replay::{self, OUTCOME};
use crate::rules::{Class, Describe, Rules};
use crate::stored::{REDACTED, nothing_but_status};
use crate::trace;

const ATTEMPT: HeaderName = HeaderName::from_static("semel-attempt");
const FENCE: HeaderName = HeaderName::from_static("semel-fence");

/// How an exchange ended, for the caller that began it.
#[derive(Debug)]
pub(super) enum Ended {
    /// With this response.
    Response(Response<Body>),
    /// With a response that is on its way already; this is its end.
    Streamed(Rest),
    /// Without one.
    Failed(Failure),
}

/// A request on its way to the service.
pub(super) struct Exchange<U> {
    pub(super) guard: Guard,
    pub(super) request: Request<Body>,
    /// The id of the call that the request is.
    pub(super) call: Option<mcp::Id>,
    /// The right to use the key, which is new if the claim is granted.
    pub(super) ticket: Ticket,
    pub(super) upstream: U,
    /// Where a response goes whose body is too large to wait for.
    pub(super) early: oneshot::Sender<Response<Body>>,
}

impl<U: Upstream> Exchange<U> {
    pub(super) async fn perform(mut self: Box<Self>, run: Run) -> Finished<Ended> {
        let headers = self.request.headers_mut();
        headers.insert(ATTEMPT, run.attempt().into());
        headers.insert(FENCE, run.fence().get().into());
        let span = self.span(&run);
        let handover = self.upstream.handover();
        handover.only_while(move || run.may_begin());
        let describe = self.guard.rules().describe;
        let mut ticket = std::mem::take(&mut self.ticket);
        ticket.used();
        let guard = self.guard.clone();
        let ended = self.exchange(handover).await;
        let ended = ended.map(|finished| kept(guard.rules(), finished, &ticket));
        let mut finished = ended.unwrap_or_else(|failure| Finished {
            settlement: match failure {
                Failure::NotReached(_) => Settlement::Release,
                Failure::Broken(_) | Failure::TimedOut(_) | Failure::Unreadable(_) => {
                    Settlement::Unknown(Some(describe.failed(&failure)))
                }
            },
            value: Ended::Failed(failure),
        });
        trace::ran(&span, &mut finished.settlement);
        if let Ended::Failed(failure) = &finished.value {
            trace::failed(&span, failure);
        }
        finished
    }

    /// The span of this run, which the service hears of.
    fn span(&mut self, run: &Run) -> Span {
        let span = trace::of(self.request.extensions()).child(Kind::Internal, "run");
        span.record(|span| {
            span.set("semel.attempt", run.attempt());
            span.set("semel.fence", run.fence().get());
        });
        trace::hand_on(&mut self.request, &span);
        trace::inject(self.request.headers_mut(), &span);
        span
    }

    async fn exchange(self: Box<Self>, handover: Handover) -> Result<Finished<Ended>, Failure> {
        let Self {
            guard,
            request,
            call,
            ticket: _,
            upstream,
            early,
        } = *self;
        let limit = guard.rules().timeout;
        // Dropping the call closes the connection to the service; what it did until then is not known.
        let began = Instant::now();
        let called = timeout(limit, upstream.call(request)).await;
        let called = called.unwrap_or_else(|_| Err(overdue(&handover, limit)));
        guard.0.saw_upstream(answered(&called), began.elapsed());
        let response = called?;
        let (mut head, body) = response.into_parts();
        is_answer(head.status)?;
        let word = Word::take(&mut head);
        // From here on only the service's silence counts, not how long all of it takes: how fast the
        // client reads is not the service's doing.
        let mut body = Heard::new(body, limit);
        if let Some(call) = &call
            && events::is_stream(&head)
        {
            let events = Events {
                held: guard.0.budgets.memory.answer(),
                guard,
                call: call.clone(),
                head,
                word,
                body,
            };
            return Box::pin(events.hand_on(early)).await;
        }
        let mut gathered = Gathered::response(&guard.0.budgets);
        let max = guard.rules().response_bytes_max;
        if gathered.read(&mut body, max).await.map_err(broken)? {
            return Ok(whole(guard.rules(), call.as_ref(), (head, word), gathered));
        }
        let streaming = Streaming {
            guard,
            head,
            word,
            began: gathered,
            body,
        };
        Box::pin(streaming.hand_on(early)).await
    }
}

/// The end of an exchange with as much of its outcome as the route stores, which is charged to the tenant.
fn kept(rules: &Rules, finished: Finished<Ended>, ticket: &Ticket) -> Finished<Ended> {
    let Finished { settlement, value } = finished;
    let settlement = match settlement {
        Settlement::Settle(outcome) => {
            let outcome = rules.stored.of(outcome);
            ticket.stored(bytes_of(&outcome));
            Settlement::Settle(outcome)
        }
        other => other,
    };
    Finished { settlement, value }
}

fn answered<B>(called: &Result<Response<B>, Failure>) -> Answered {
    match called {
        Ok(response) => Answered::Status(response.status().as_u16()),
        Err(Failure::NotReached(_)) => Answered::Unreached,
        Err(Failure::Broken(_) | Failure::TimedOut(_) | Failure::Unreadable(_)) => Answered::Broken,
    }
}

/// No answer in time. A request that was never handed over has done nothing.
fn overdue(handover: &Handover, limit: Duration) -> Failure {
    match handover.is_done() {
        true => Failure::TimedOut(format!("no answer within {limit:?}")),
        false => Failure::NotReached(format!("the request was not handed over within {limit:?}")),
    }
}

/// Whether a status is an answer (RFC 9110 §15). A switch of protocols was not asked for on a guarded
/// request, and what lies outside of 200 to 599 says nothing about what happened.
fn is_answer(status: StatusCode) -> Result<(), Failure> {
    match status.as_u16() {
        200..=599 => Ok(()),
        101 => Err(Failure::Unreadable(
            "it changed the protocol without being asked".to_owned(),
        )),
        other => Err(Failure::Unreadable(format!(
            "expected a status of 200 to 599, found {other}"
        ))),
    }
}

/// The service's response with all of its body.
fn whole(
    rules: &Rules,
    call: Option<&mcp::Id>,
    (head, word): (response::Parts, Word),
    body: Gathered,
) -> Finished<Ended> {
    let read = body.finish();
    let meaning = match (call, &rules.mcp) {
        (Some(id), Some(mcp)) if head.status.is_success() => Some(mcp.meaning(id, &read.bytes)),
        _ => None,
    };
    let class = meaning.map_or_else(|| by_status(rules, &head), |meaning| meaning.class);
    let settlement = settlement((word, class), head.status, || {
        let kept = semel_core::Body::capped(read.bytes.clone(), rules.response_bytes_max);
        let mut outcome = replay::outcome(rules, &head, read.trailers.as_ref(), kept);
        outcome.verdict = meaning.map_or(outcome.verdict, |meaning| meaning.verdict);
        word.outcome(outcome)
    });
    let response = Response::from_parts(head, read.into());
    Finished {
        value: Ended::Response(response),
        settlement,
    }
}

/// What an answer means by its head.
pub(super) fn by_status(rules: &Rules, head: &response::Parts) -> Class {
    rules.class(head.status, &head.headers)
}

/// What becomes of the record: by the service's own word, otherwise by what its answer means.
pub(super) fn settlement(
    (word, class): (Word, Class),
    status: StatusCode,
    outcome: impl FnOnce() -> Outcome,
) -> Settlement {
    let class = match word {
        Word::Final | Word::NoStore => Class::Keep,
        Word::Retryable => Class::Release,
        Word::None => class,
    };
    match class {
        Class::Keep => Settlement::Settle(outcome()),
        Class::Release => Settlement::Release,
        Class::Unknown => Settlement::Unknown(Some(Describe::answered(status))),
    }
}

pub(super) fn broken(error: BoxError) -> Failure {
    let why = format!("in the middle of its response: {error}");
    match error.is::<Silent>() {
        true => Failure::TimedOut(why),
        false => Failure::Broken(why),
    }
}

/// The service's own word about its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// None: the status decides.
    None,
    /// It is final, whatever the status.
    Final,
    /// Nothing happened, whatever the status.
    Retryable,
    /// It is final, and its body and headers must not be kept.
    NoStore,
}

impl Word {
    /// What may be kept of an outcome.
    pub(super) fn outcome(self, outcome: Outcome) -> Outcome {
        match self {
            Self::None | Self::Final | Self::Retryable => outcome,
            Self::NoStore => nothing_but_status(outcome),
        }
    }

    /// Reads it and removes it: clients never see it.
    fn take(head: &mut response::Parts) -> Self {
        let word = match head.headers.remove(OUTCOME) {
            None => Self::None,
            // Of two words that differ the service cannot have meant both.
            Some(_) if head.headers.contains_key(OUTCOME) => Self::None,
            Some(value) => match value.as_bytes().trim_ascii() {
                b"final" => Self::Final,
                b"retryable" => Self::Retryable,
                b"no-store" => Self::NoStore,
                _ => Self::None,
            },
        };
        // Only an answer from the record carries the marker; the service's own would be believed.
        head.headers.remove(replay::REPLAYED);
        head.headers.remove(REDACTED);
        word
    }
}
