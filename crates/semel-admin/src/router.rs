//! Every address of the admin side, in one table.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::handler::Handler;
use axum::http::header::{CACHE_CONTROL, X_CONTENT_TYPE_OPTIONS};
use axum::http::{HeaderValue, Method, Uri, request};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{self, MethodRouter};
use semel_core::{Once, Timestamp};
use semel_http::problem::{Problem, Type};
use tokio::sync::Semaphore;
use tracing::{Instrument, Span};

use crate::admin::Parts;
use crate::api::{alerts, audit, claims, duplicates, inbox, observations, records, stats};
use crate::dashboard::Dashboard;
use crate::gate::{Gate, only_json};
use crate::health::Probed;
use crate::input::LARGE_BODIES_MAX;
use crate::refused::Refused;
use crate::tokens::{Caller, Needs, admit};
use crate::{dashboard, openapi, probes};

/// What handlers share.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) parts: Parts,
    /// What the store beneath the measured one said last: probes are not traffic.
    pub(crate) probed: Probed,
    /// Those who wait for operations that run.
    pub(crate) waiters: Once,
    /// Turns to read a large body.
    pub(crate) large_bodies: Arc<Semaphore>,
    /// Who is signed in, and what else pages need.
    pub(crate) dashboard: Dashboard,
    gate: Gate,
}

impl App {
    pub(crate) fn new(parts: Parts, probed: Probed, gate: Gate, dashboard: Dashboard) -> Self {
        Self {
            waiters: claims::waiters(&parts.store),
            parts,
            probed,
            large_bodies: Arc::new(Semaphore::new(LARGE_BODIES_MAX)),
            dashboard,
            gate,
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.parts.clock.now()
    }

    /// Whether the caller of an open address may look at everything, too.
    pub(crate) fn may_read(&self, parts: &request::Parts) -> bool {
        self.gate.may_read(parts)
    }
}

/// What handlers share, cheap to clone.
pub(crate) type Shared = Arc<App>;

/// One address with one method.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// The role of its callers. Without it there is no route.
    pub(crate) needs: Needs,
    handler: MethodRouter<Shared>,
}

fn get<T: 'static>(path: &'static str, needs: Needs, handler: impl Handler<T, Shared>) -> Route {
    Route {
        method: Method::GET,
        path,
        needs,
        handler: routing::get(handler),
    }
}

fn post<T: 'static>(path: &'static str, needs: Needs, handler: impl Handler<T, Shared>) -> Route {
    Route {
        method: Method::POST,
        path,
        needs,
        handler: routing::post(handler).route_layer(middleware::from_fn(only_json)),
    }
}

/// The table.
pub(crate) fn routes() -> Vec<Route> {
    vec![
        get("/healthz", Needs::Nothing, probes::healthz),
        get("/readyz", Needs::Nothing, probes::readyz),
        get("/metrics", Needs::Read, probes::metrics),
        get("/api/v1/openapi.json", Needs::AnyToken, openapi::document),
        post("/api/v1/claims", Needs::Claims, claims::claim),
        get("/api/v1/claims", Needs::LookUp, claims::look_up),
        post("/api/v1/claims/renew", Needs::Claims, claims::renew),
        post("/api/v1/claims/settle", Needs::Claims, claims::settle),
        post("/api/v1/claims/release", Needs::Claims, claims::release),
        post(
            "/api/v1/claims/unknown",
            Needs::Claims,
            claims::mark_unknown,
        ),
        get("/api/v1/records", Needs::Read, records::list),
        get("/api/v1/records/one", Needs::Read, records::one),
        post("/api/v1/records/resolve", Needs::Operate, records::resolve),
        post(
            "/api/v1/records/resolve-many",
            Needs::Operate,
            records::resolve_many,
        ),
        post(
            "/api/v1/records/reconcile",
            Needs::Operate,
            records::reconcile,
        ),
        post(
            "/api/v1/records/reconcile-many",
            Needs::Operate,
            records::reconcile_many,
        ),
        post("/api/v1/records/erase", Needs::Admin, records::erase),
        post(
            "/api/v1/records/erase-many",
            Needs::Admin,
            records::erase_many,
        ),
        get("/api/v1/audit", Needs::Read, audit::audit),
        get("/api/v1/alerts", Needs::Read, alerts::alerts),
        get("/api/v1/stats", Needs::Read, stats::stats),
        get(
            "/api/v1/observations",
            Needs::Read,
            observations::observations,
        ),
        get("/api/v1/duplicates", Needs::Read, duplicates::duplicates),
        get("/api/v1/inbox", Needs::Read, inbox::list),
        get("/api/v1/inbox/one", Needs::Read, inbox::one),
        get("/api/v1/inbox/counts", Needs::Read, inbox::counts),
        get("/api/v1/inbox/gaps", Needs::Read, inbox::gaps),
        get("/api/v1/inbox/failures", Needs::Read, inbox::failures),
        get("/api/v1/inbox/audit", Needs::Read, audit::inbox_audit),
        post("/api/v1/inbox/retry", Needs::Operate, inbox::retry),
        post("/api/v1/inbox/edit", Needs::Operate, inbox::edit),
        post("/api/v1/inbox/park", Needs::Operate, inbox::park),
        post("/api/v1/inbox/unpark", Needs::Operate, inbox::unpark),
        post("/api/v1/inbox/skip", Needs::Operate, inbox::skip),
        post("/api/v1/inbox/replay", Needs::Operate, inbox::replay),
        post("/api/v1/inbox/erase", Needs::Admin, inbox::erase),
        post("/api/v1/inbox/pause", Needs::Operate, inbox::pause),
        post("/api/v1/inbox/resume", Needs::Operate, inbox::resume),
    ]
}

/// The routes behind the gate.
pub(crate) fn router(app: Shared) -> Router {
    let routes = routes().into_iter();
    routes
        .fold(dashboard::routes(), |router, route| {
            let admit = middleware::from_fn_with_state(route.needs, admit);
            // The role comes before all that a route looks at.
            router.route(route.path, route.handler.route_layer(admit))
        })
        .fallback(no_such_address)
        .method_not_allowed_fallback(no_such_method)
        .layer(middleware::from_fn_with_state(app.clone(), enter))
        .with_state(app)
}

/// Every request passes here first; every answer says that it is neither to be kept nor guessed at.
async fn enter(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let mut response = match dashboard::owns(request.uri().path()) {
        true => dashboard::enter(&app, request, next).await,
        false => enter_api(&app.gate, request, next).await,
    };
    let headers = response.headers_mut();
    // Only assets, which have their version in their address, say otherwise.
    headers
        .entry(CACHE_CONTROL)
        .or_insert(HeaderValue::from_static("no-store"));
    headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

async fn enter_api(gate: &Gate, request: Request, next: Next) -> Response {
    let (mut parts, body) = request.into_parts();
    match gate.check(&parts) {
        Ok(caller) => {
            let span = span(caller.as_ref());
            if let Some(caller) = caller {
                parts.extensions.insert(caller);
            }
            let answered = next.run(Request::from_parts(parts, body));
            answered.instrument(span).await
        }
        Err(problem) => Refused::from(problem).into_response(),
    }
}

/// All that is logged on behalf of a token names it.
pub(crate) fn span(caller: Option<&Caller>) -> Span {
    match caller.and_then(Caller::name) {
        Some(token) => tracing::info_span!(target: "semel::admin", "admin", token),
        None => Span::none(),
    }
}

async fn no_such_address(uri: Uri) -> Refused {
    let detail = format!("nothing is at {}", uri.path());
    Problem::new(Type::NotFound, detail).into()
}

async fn no_such_method(method: Method, uri: Uri) -> Refused {
    let detail = format!("{} does not take {method}", uri.path());
    Problem::new(Type::MethodNotAllowed, detail).into()
}
