//! What happens to one request: refused, guarded, or passed through.
//!
//! - `guarded` forwards what a guard has claimed; `pass` forwards everything else.
//! - `cookies` makes one field of those that HTTP/2 cuts up.
//! - `tunnel` joins two connections that have changed their protocol.
//! - `reply` is the body that clients get; `detach` lets a run outlive its client.

mod cookies;
mod detach;
mod guarded;
mod pass;
mod reply;
mod tunnel;

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;

use http::header::CONNECTION;
use http::{HeaderValue, Request, Response, Version};
use http_body_util::Either;
use hyper::body::Incoming;
use semel_core::Permit;
use semel_core::trace::Span;
use semel_http::guard::no_outcome;
use semel_http::{Admission, Problem, trace};
use semel_listen::access::LoggedScope;

use crate::hygiene::{self, disarm, screen};
use crate::pool::Pool;
use crate::routes::{Guarded, Params, Table};
use crate::server::{Client, InFlight, Snapshot};
use pass::Departure;
use reply::{Content, Reply};

/// One request's visit: who brought it, and by which configuration it is served.
struct Visit {
    client: Arc<Client>,
    snapshot: Arc<Snapshot>,
    /// Whoever outlives the visit takes it along.
    in_flight: Option<InFlight>,
    /// Its place among the requests that pass through, or among the tunnels.
    place: Option<Permit>,
    /// Ends when its answer has been sent.
    span: Span,
    /// Only if there is an access log.
    scope: Option<LoggedScope>,
}

/// A visit at its end, and what it brought.
type Visited = (Visit, Response<Content>);

/// What is to be done with a request.
enum Next {
    /// It has its answer.
    Answered(Box<Visited>),
    /// It is on its way through.
    Passing(Visit, Departure),
    /// A guard decides. Boxed, so that requests that pass do not carry the room for it around.
    Guarding(Pin<Box<dyn Future<Output = Visited> + Send>>),
}

/// Answers one request.
///
/// Not an `async fn`: that would keep the request several times, and this future is moved around.
pub(crate) fn answer(
    client: &Arc<Client>,
    request: Request<Incoming>,
) -> impl Future<Output = Result<Response<Reply>, Infallible>> + Send + use<> {
    let snapshot = client.shared.snapshot();
    let idle = snapshot.timeouts.body_idle;
    let visit = Visit {
        in_flight: Some(InFlight::enter(&client.pulse)),
        place: None,
        span: trace::server(&snapshot.tracer, &request),
        client: client.clone(),
        snapshot,
        scope: None,
    };
    let next = visit.begin(request);
    async move {
        let (visit, mut response) = match next {
            Next::Answered(visited) => *visited,
            Next::Passing(visit, departure) => {
                let (visit, passed) = visit.pass(departure).await;
                (visit, passed.content())
            }
            Next::Guarding(guarding) => guarding.await,
        };
        if let Some(scope) = visit.scope {
            response.extensions_mut().insert(scope);
        }
        trace::answered(&visit.span, response.status());
        let held = (visit.in_flight, visit.place, visit.span);
        Ok(response.map(|content| Reply::new(content, idle, held)))
    }
}

impl Visit {
    fn begin(mut self, mut request: Request<Incoming>) -> Next {
        if let Err(problem) = screen(&request) {
            return self.answered(closing(ours(problem), request.version()));
        }
        trace::hand_on(&mut request, &self.span);
        let version = request.version();
        cookies::join(request.headers_mut(), version);
        let snapshot = &self.snapshot;
        disarm(request.headers_mut(), snapshot.routes.relied());
        if self.is_own(&request) {
            return Next::Guarding(Box::pin(self.own(request)));
        }
        match snapshot.routes.find(&request) {
            Ok(Some((route, params))) => {
                trace::routed(&self.span, request.method(), &route.path);
                if let Some(reading) = Table::usual_reading(route.guard.rules(), &request) {
                    request.extensions_mut().insert(reading);
                }
                if snapshot.is_logged {
                    let scope = route.guard.rules().scope.to_string();
                    self.scope = Some(LoggedScope(scope.into()));
                }
                return Next::Guarding(Box::pin(self.guard(route, params, request)));
            }
            Ok(None) => {
                if let Some(response) = snapshot.own.answer(&request) {
                    return self.answered(response.map(Content::Ours));
                }
                snapshot.routes.note_unguarded(&request);
            }
            Err(problem) => return self.answered(ours(problem)),
        }
        let pool = snapshot.pool.clone();
        let request = request.map(Either::Left);
        match self
            .enter(&pool, &request)
            .and_then(|()| self.depart(&pool, request))
        {
            Ok(departure) => Next::Passing(self, departure),
            Err(problem) => self.answered(ours(problem)),
        }
    }

    /// Whether a request is for an address of the gateway itself, in exactly its spelling; it is never forwarded.
    fn is_own(&self, request: &Request<Incoming>) -> bool {
        let outcomes = self.snapshot.outcomes.as_ref();
        outcomes.is_some_and(|outcomes| outcomes.are_at(request.uri().path()))
    }

    async fn own(self, request: Request<Incoming>) -> Visited {
        let (head, _) = request.into_parts();
        let response = match &self.snapshot.outcomes {
            Some(outcomes) => outcomes.answer(&head).await,
            None => no_outcome().into_response(),
        };
        (self, response.map(Content::Ours))
    }

    /// Takes a place for a request that is about to pass through.
    fn enter<B>(&mut self, pool: &Pool, request: &Request<B>) -> Result<(), Problem> {
        let is_tunnel = pool.allows_tunnels() && hygiene::upgrade(request).is_some();
        self.place = Some(self.client.shared.budgets.pass(is_tunnel)?);
        Ok(())
    }

    fn answered(self, response: Response<Content>) -> Next {
        Next::Answered(Box::new((self, response)))
    }

    async fn guard(
        self,
        route: Arc<Guarded>,
        params: Params,
        request: Request<Incoming>,
    ) -> Visited {
        match route.guard.admit(request, &params).await {
            Admission::Refused(response) => (self, response.map(Content::Ours)),
            Admission::Guarded(admitted) => match admitted.cached() {
                Some(response) => (self, response.map(Content::Ours)),
                None => self.run(&route.pool, admitted).await,
            },
            Admission::Pass(request) => {
                let (visit, passed) = self.forward(&route.pool, request).await;
                (visit, passed.content())
            }
            Admission::Observed(request, observation) => {
                let (visit, passed) = self.forward(&route.pool, request).await;
                observation.ended(passed.status());
                (visit, passed.content())
            }
        }
    }
}

fn ours(problem: Problem) -> Response<Content> {
    problem.into_response().map(Content::Ours)
}

/// Whoever sends what cannot be understood must not go on sending on the same connection.
fn closing(mut response: Response<Content>, version: Version) -> Response<Content> {
    if version < Version::HTTP_2 {
        let close = HeaderValue::from_static("close");
        response.headers_mut().insert(CONNECTION, close);
    }
    response
}
