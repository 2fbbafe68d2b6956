//! Passes a request through as it comes, without claiming anything.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use semel_core::trace::Span;
use semel_http::problem::Ran;
use semel_http::{Body, Failure, Handover, Problem, Type, trace};

use super::reply::Content;
use super::{Visit, ours, tunnel};
use crate::hygiene;
use crate::pool::{Need, Outgoing, Pool, Progress, Received};

/// What came of it.
pub(super) enum Passed {
    /// The upstream answered.
    Through(Response<Content>),
    /// It did not; this is what the client hears.
    Failed(Problem),
}

impl Passed {
    /// The upstream's status, if it answered.
    pub(super) fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Through(response) => Some(response.status()),
            Self::Failed(_) => None,
        }
    }

    pub(super) fn content(self) -> Response<Content> {
        match self {
            Self::Through(response) => response,
            Self::Failed(problem) => ours(problem),
        }
    }
}

/// A request that is ready to go, and what is needed when it comes back.
pub(super) struct Departure {
    pool: Arc<Pool>,
    sending: Pin<Box<dyn Future<Output = Result<Response<Received>, Failure>> + Send>>,
    handover: Handover,
    progress: Option<Arc<Progress>>,
    upgrading: Option<OnUpgrade>,
    span: Span,
}

impl Visit {
    /// Makes a client's request ready to be forwarded while its body is still arriving.
    pub(super) fn depart(
        &self,
        pool: &Arc<Pool>,
        mut request: Request<Either<Incoming, Body>>,
    ) -> Result<Departure, Problem> {
        let protocol = match pool.allows_tunnels() {
            true => hygiene::upgrade(&request),
            false => None,
        };
        let upgrading = protocol.is_some().then(|| hyper::upgrade::on(&mut request));
        let (mut parts, body) = request.into_parts();
        let path = pool.target().path(&parts.uri);
        let path = path.map_err(|_| Problem::new(Type::BadRequest, "the path is too long"))?;
        let (origin, manners) = (&self.client.origin, &self.snapshot.manners);
        let target = pool.target();
        hygiene::outbound(&mut parts, origin, manners, target, protocol);
        let span = trace::client(&self.span, &parts.method, target.host(), target.port());
        trace::inject(&mut parts.headers, &span);
        let need = match upgrading {
            Some(_) => Need::Tunnel,
            None => Need::Any,
        };
        let (body, progress) = outgoing(body, self.snapshot.timeouts.body_idle);
        let request = Request::from_parts(parts, body);
        let handover = Handover::pending();
        let sending = pool.clone();
        Ok(Departure {
            sending: Box::pin(sending.send_marking(request, path, need, handover.clone())),
            pool: pool.clone(),
            handover,
            progress,
            upgrading,
            span,
        })
    }

    /// Sends a request, and waits for the head of its response.
    pub(super) async fn pass(mut self, departure: Departure) -> (Self, Passed) {
        let progress = departure.progress.as_deref();
        let limit = self.snapshot.timeouts.response_head;
        let response = tokio::select! {
            biased;
            response = departure.sending => response,
            failure = overdue(progress, limit, &departure.handover) => Err(failure),
        };
        match &response {
            Ok(response) => trace::answered(&departure.span, response.status()),
            Err(failure) => trace::failed(&departure.span, failure),
        }
        let passed = match response {
            Ok(response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                tunnel::begin(&mut self, response, departure.upgrading)
            }
            Ok(response) => Passed::Through(through(response)),
            Err(failure) => Passed::Failed(problem(&departure.pool, &failure, progress)),
        };
        (self, passed)
    }

    /// Both of it, once there is a place.
    pub(super) async fn forward(
        mut self,
        pool: &Arc<Pool>,
        request: Request<Either<Incoming, Body>>,
    ) -> (Self, Passed) {
        let departure = self.enter(pool, &request);
        match departure.and_then(|()| self.depart(pool, request)) {
            Ok(departure) => self.pass(departure).await,
            Err(problem) => (self, Passed::Failed(problem)),
        }
    }
}

/// The body to send, and how far it has come unless it is there already.
fn outgoing(body: Either<Incoming, Body>, idle: Duration) -> (Outgoing, Option<Arc<Progress>>) {
    match body {
        body if body.is_end_stream() => (Outgoing::Whole(Body::empty()), None),
        body => {
            let (body, progress) = Outgoing::passing(body, idle);
            (body, Some(progress))
        }
    }
}

/// Waits until a response is overdue. The time begins when the request has been sent: a long upload is
/// not the upstream's fault.
async fn overdue(progress: Option<&Progress>, limit: Duration, handover: &Handover) -> Failure {
    if let Some(progress) = progress {
        progress.ended().await;
    }
    tokio::time::sleep(limit).await;
    match handover.is_done() {
        true => Failure::TimedOut(format!("no response within {limit:?}")),
        false => Failure::NotReached(format!("no connection within {limit:?}")),
    }
}

fn through(response: Response<Received>) -> Response<Content> {
    let (mut parts, body) = response.into_parts();
    hygiene::inbound(&mut parts);
    hygiene::unguarded(&mut parts.headers);
    Response::from_parts(parts, Content::Passing(body))
}

/// What was sent of the body has reached the service.
fn streamed(kind: Type, detail: &str) -> Problem {
    Problem::new(kind, detail).ran(Ran::Maybe)
}

fn problem(pool: &Pool, failure: &Failure, progress: Option<&Progress>) -> Problem {
    if progress.is_some_and(Progress::timed_out) {
        return streamed(Type::BodyTimeout, "the request body stopped arriving");
    }
    if progress.is_some_and(Progress::is_broken) {
        return streamed(Type::BodyBroken, "the request body broke off");
    }
    tracing::warn!(upstream = %pool.target().authority(), %failure, "a request got no response");
    let kind = match failure {
        Failure::NotReached(_) => Type::UpstreamUnreachable,
        Failure::Broken(_) | Failure::Unreadable(_) => Type::UpstreamFailed,
        Failure::TimedOut(_) => Type::UpstreamTimeout,
    };
    Problem::new(kind, failure.to_string())
}
