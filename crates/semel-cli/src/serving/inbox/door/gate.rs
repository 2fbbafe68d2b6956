//! What passes the door: so many messages at once. How long a body may take is the webhook's own limit.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;
use semel_admin::Current;
use semel_http::problem::{Problem, Type};
use tokio::sync::Semaphore;

#[derive(Clone)]
struct Gate {
    turns: Arc<Semaphore>,
}

/// The routes of the moment behind a gate. Each request goes to those that hold when it comes, also on a connection that was open
/// before.
pub(super) fn around(router: Current<Router>, in_flight_max: usize) -> Router {
    let gate = Gate {
        turns: Arc::new(Semaphore::new(in_flight_max.min(Semaphore::MAX_PERMITS))),
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
        return refused(Problem::new(Type::Overloaded, detail));
    };
    next.run(request).await
}

fn refused(problem: Problem) -> Response {
    problem.into_response().map(Body::new).into_response()
}
