//! What passes the door: so many messages at once, and none that arrives for ever.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::body::{Frame, SizeHint};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use semel_admin::Current;
use semel_http::problem::{Problem, Type};
use tokio::sync::Semaphore;
use tokio::time::{Sleep, sleep};

/// When it is worth sending again.
const RETRY_AFTER: Duration = Duration::from_secs(1);

#[derive(Clone)]
struct Gate {
    turns: Arc<Semaphore>,
    body: Duration,
}

/// The routes of the moment behind a gate. Each request goes to those that hold when it comes, also on a connection that was open
/// before.
pub(super) fn around(router: Current<Router>, in_flight_max: usize, body: Duration) -> Router {
    let gate = Gate {
        turns: Arc::new(Semaphore::new(in_flight_max.min(Semaphore::MAX_PERMITS))),
        body,
    };
    Router::new()
        .fallback(route)
        .with_state(router)
        .layer(middleware::from_fn_with_state(gate, pass))
}

async fn route(State(router): State<Current<Router>>, request: Request) -> Response {
    let router = TowerToHyperService::new(router.get());
    match router.call(request).await {
        Ok(response) => response,
        Err(never) => match never {},
    }
}

pub(super) async fn nothing() -> Response {
    let detail = "messages are posted to /inbox/NAME, where NAME is a consumer";
    refused(Problem::new(Type::NotFound, detail))
}

async fn pass(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let Ok(_turn) = gate.turns.try_acquire() else {
        let detail = "too many messages are in flight; nothing was stored, send it again";
        let problem = Problem::new(Type::Overloaded, detail);
        return refused(problem.retry_after(RETRY_AFTER));
    };
    let timed = |body| {
        Body::new(Timed {
            body,
            end: Box::pin(sleep(gate.body)),
        })
    };
    next.run(request.map(timed)).await
}

fn refused(problem: Problem) -> Response {
    problem.into_response().map(Body::new).into_response()
}

/// A body that breaks off when its time is over.
struct Timed {
    body: Body,
    end: Pin<Box<Sleep>>,
}

impl HttpBody for Timed {
    type Data = Bytes;
    type Error = axum::BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::BoxError>>> {
        if self.end.as_mut().poll(cx).is_ready() {
            let late = "the message took too long to arrive";
            return Poll::Ready(Some(Err(late.into())));
        }
        let frame = Pin::new(&mut self.body).poll_frame(cx);
        frame.map_err(Into::into)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
