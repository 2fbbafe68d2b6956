//! Passes a request through as it comes, without claiming anything.

use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::Either;
use hyper::body::Incoming;
use semel_http::{Body, Failure, Problem, Type};

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

impl Visit {
    /// Forwards a request while its body is still arriving.
    pub(super) async fn pass(
        &mut self,
        pool: &Arc<Pool>,
        mut request: Request<Either<Incoming, Body>>,
    ) -> Passed {
        let protocol = match pool.allows_tunnels() {
            true => hygiene::upgrade(&request),
            false => None,
        };
        let upgrading = protocol.is_some().then(|| hyper::upgrade::on(&mut request));
        let (mut parts, body) = request.into_parts();
        let Ok(path) = pool.target().path(&parts.uri) else {
            return Passed::Failed(Problem::new(Type::BadRequest, "the path is too long"));
        };
        let (origin, manners) = (&self.client.origin, &self.snapshot.manners);
        hygiene::outbound(&mut parts, origin, manners, pool.target(), protocol);
        let need = match upgrading {
            Some(_) => Need::Tunnel,
            None => Need::Any,
        };
        let timeouts = &self.snapshot.timeouts;
        let (body, progress) = outgoing(body, timeouts.body_idle);
        let sending = pool.send(Request::from_parts(parts, body), path, need);
        let response = tokio::select! {
            biased;
            response = sending => response,
            failure = overdue(progress.as_deref(), timeouts.response_head) => Err(failure),
        };
        match response {
            Ok(response) if response.status() == StatusCode::SWITCHING_PROTOCOLS => {
                tunnel::begin(self, response, upgrading)
            }
            Ok(response) => Passed::Through(through(response)),
            Err(failure) => Passed::Failed(problem(pool, &failure, progress.as_deref())),
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
async fn overdue(progress: Option<&Progress>, limit: Duration) -> Failure {
    if let Some(progress) = progress {
        progress.ended().await;
    }
    tokio::time::sleep(limit).await;
    Failure::TimedOut(format!("no response within {limit:?}"))
}

fn through(response: Response<Received>) -> Response<Content> {
    let (mut parts, body) = response.into_parts();
    hygiene::inbound(&mut parts);
    hygiene::unguarded(&mut parts.headers);
    Response::from_parts(parts, Content::Passing(body))
}

fn problem(pool: &Pool, failure: &Failure, progress: Option<&Progress>) -> Problem {
    if progress.is_some_and(Progress::timed_out) {
        return Problem::new(Type::BodyTimeout, "the request body stopped arriving");
    }
    if progress.is_some_and(Progress::is_broken) {
        return Problem::new(Type::BodyBroken, "the request body broke off");
    }
    tracing::warn!(upstream = %pool.target().authority(), %failure, "a request got no response");
    let kind = match failure {
        Failure::NotReached(_) => Type::UpstreamUnreachable,
        Failure::Broken(_) => Type::UpstreamFailed,
        Failure::TimedOut(_) => Type::UpstreamTimeout,
    };
    Problem::new(kind, failure.to_string())
}
