//! What happens to one request: refused, guarded, or passed through.
//!
//! - `guarded` forwards what a guard has claimed; `pass` forwards everything else.
//! - `tunnel` joins two connections that have changed their protocol.
//! - `reply` is the body that clients get; `detach` lets a run outlive its client.

mod detach;
mod guarded;
mod pass;
mod reply;
mod tunnel;

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, Version};
use http_body_util::Either;
use hyper::body::Incoming;
use semel_http::{Admission, Problem, Type};

use crate::hygiene::{disarm, doubtful, screen};
use crate::server::{Client, InFlight, Snapshot};
use reply::{Content, Reply};

/// When to come back to an overloaded gateway.
const OVERLOADED_RETRY: Duration = Duration::from_secs(1);

/// One request's visit: who brought it, and by which configuration it is served.
struct Visit {
    client: Arc<Client>,
    snapshot: Arc<Snapshot>,
    /// Taken by whoever outlives this function.
    in_flight: Option<InFlight>,
}

/// Answers one request.
pub(crate) async fn answer(
    client: Arc<Client>,
    mut request: Request<Incoming>,
) -> Result<Response<Reply>, Infallible> {
    let snapshot = client.shared.snapshot();
    let Some(in_flight) = InFlight::enter(&client.pulse, snapshot.limits.in_flight_max) else {
        return Ok(overloaded().map(|content| Reply::new(content, Duration::ZERO, None)));
    };
    let idle = snapshot.timeouts.body_idle;
    let mut visit = Visit {
        client,
        snapshot,
        in_flight: Some(in_flight),
    };
    let version = request.version();
    let screened = match visit.client.pulse.is_doubtful() {
        true => Err(doubtful()),
        false => screen(&request),
    };
    let response = match screened {
        Ok(()) => {
            disarm(&mut request);
            visit.serve(request).await
        }
        Err(problem) => closing(ours(problem), version),
    };
    Ok(response.map(|content| Reply::new(content, idle, visit.in_flight)))
}

impl Visit {
    async fn serve(&mut self, request: Request<Incoming>) -> Response<Content> {
        let snapshot = self.snapshot.clone();
        let found = snapshot.routes.find(request.method(), request.uri().path());
        let Some((route, params)) = found else {
            return self
                .pass(&snapshot.pool, request.map(Either::Left))
                .await
                .content();
        };
        // Boxed, so that requests that pass do not carry the room for it around.
        match Box::pin(route.guard.admit(request, &params)).await {
            Admission::Refused(response) => response.map(Content::Ours),
            Admission::Pass(request) => self.pass(&route.pool, request).await.content(),
            Admission::Observed(request, observation) => {
                let passed = self.pass(&route.pool, request).await;
                observation.ended(passed.status());
                passed.content()
            }
            Admission::Guarded(admitted) => self.run(&route.pool, admitted).await,
        }
    }
}

fn ours(problem: Problem) -> Response<Content> {
    problem.into_response().map(Content::Ours)
}

fn overloaded() -> Response<Content> {
    let problem = Problem::new(
        Type::Overloaded,
        "too many requests are in flight, nothing ran",
    );
    ours(problem.retry_after(OVERLOADED_RETRY))
}

/// Whoever sends what cannot be understood must not go on sending on the same connection.
fn closing(mut response: Response<Content>, version: Version) -> Response<Content> {
    if version < Version::HTTP_2 {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}
