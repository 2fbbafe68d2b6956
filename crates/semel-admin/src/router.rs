//! Every address of the admin side, in one table.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, Uri};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{self, MethodRouter};
use semel_core::Timestamp;
use semel_http::problem::{Problem, Type};
use tokio::sync::Semaphore;

use crate::admin::Parts;
use crate::api::{audit, claims, inbox, observations, records, stats};
use crate::gate::{Gate, only_json};
use crate::health::Probed;
use crate::input::LARGE_BODIES_MAX;
use crate::refused::Refused;
use crate::{openapi, page, probes};

/// What handlers share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) parts: Parts,
    /// What the store beneath the measured one said last: probes are not traffic.
    pub(crate) probed: Probed,
    /// Turns to read a large body.
    pub(crate) large_bodies: Arc<Semaphore>,
}

impl App {
    pub(crate) fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }
}

/// What handlers share, cheap to clone.
pub(crate) type Shared = Arc<App>;

/// One address with one method.
pub(crate) struct Route {
    #[cfg_attr(not(test), expect(dead_code, reason = "the router knows it already"))]
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    handler: MethodRouter<Shared>,
}

fn get<T: 'static>(path: &'static str, handler: impl Handler<T, Shared>) -> Route {
    Route {
        method: Method::GET,
        path,
        handler: routing::get(handler),
    }
}

fn post<T: 'static>(path: &'static str, handler: impl Handler<T, Shared>) -> Route {
    Route {
        method: Method::POST,
        path,
        handler: routing::post(handler).route_layer(middleware::from_fn(only_json)),
    }
}

/// The table.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        get("/", page::status),
        get("/healthz", probes::healthz),
        get("/readyz", probes::readyz),
        get("/metrics", probes::metrics),
        get("/api/v1/openapi.json", openapi::document),
        post("/api/v1/claims", claims::claim),
        get("/api/v1/claims", claims::look_up),
        post("/api/v1/claims/renew", claims::renew),
        post("/api/v1/claims/settle", claims::settle),
        post("/api/v1/claims/release", claims::release),
        post("/api/v1/claims/unknown", claims::mark_unknown),
        get("/api/v1/records", records::list),
        get("/api/v1/records/one", records::one),
        post("/api/v1/records/resolve", records::resolve),
        post("/api/v1/records/resolve-many", records::resolve_many),
        get("/api/v1/audit", audit::audit),
        get("/api/v1/stats", stats::stats),
        get("/api/v1/observations", observations::observations),
        get("/api/v1/inbox", inbox::list),
        get("/api/v1/inbox/one", inbox::one),
        get("/api/v1/inbox/counts", inbox::counts),
        get("/api/v1/inbox/gaps", inbox::gaps),
        get("/api/v1/inbox/audit", audit::inbox_audit),
        post("/api/v1/inbox/retry", inbox::retry),
        post("/api/v1/inbox/park", inbox::park),
        post("/api/v1/inbox/unpark", inbox::unpark),
        post("/api/v1/inbox/skip", inbox::skip),
        post("/api/v1/inbox/replay", inbox::replay),
        post("/api/v1/inbox/pause", inbox::pause),
        post("/api/v1/inbox/resume", inbox::resume),
    ]
}

/// The routes behind the gate.
pub(crate) fn router(parts: Parts, probed: Probed, gate: Gate) -> Router {
    let app = Arc::new(App {
        parts,
        probed,
        large_bodies: Arc::new(Semaphore::new(LARGE_BODIES_MAX)),
    });
    let routes = routes().into_iter();
    routes
        .fold(Router::new(), |router, route| {
            router.route(route.path, route.handler)
        })
        .fallback(no_such_address)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(gate, enter))
        .with_state(app)
}

/// Every request passes here first; every answer says that it is neither to be kept nor guessed at.
async fn enter(State(gate): State<Gate>, request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    let mut response = match gate.check(&parts) {
        Ok(()) => next.run(Request::from_parts(parts, body)).await,
        Err(problem) => Refused::from(problem).into_response(),
    };
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn no_such_address(uri: Uri) -> Refused {
    let detail = format!("nothing is at {}", uri.path());
    Problem::new(Type::NotFound, detail).into()
}

async fn no_such_method(method: Method, uri: Uri) -> Refused {
    let detail = format!("{} does not take {method}", uri.path());
    Problem::new(Type::MethodNotAllowed, detail).into()
}
