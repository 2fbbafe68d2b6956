//! What machines ask: is it alive, is it ready, how is it doing.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::IntoResponse;

use crate::health::{Names, Readiness};
use crate::metrics;
use crate::router::Shared;

/// How old counts may be before a scrape asks for others.
const COUNTS_AGE: Duration = Duration::from_secs(1);

/// The process is alive.
#[utoipa::path(get, path = "/healthz", tag = "health", security(()),
    responses((status = 200, description = "The process is alive", body = String, content_type = "text/plain")))]
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// The process can do its work; if not, the failing part is named.
#[utoipa::path(get, path = "/readyz", tag = "health", security(()),
    responses(
        (status = 200, description = "All parts can do their work", body = Readiness),
        (status = 503, description = "A part cannot; its name and why", body = Readiness),
    ))]
pub(crate) async fn readyz(State(app): State<Shared>, parts: Parts) -> impl IntoResponse {
    let names = match app.may_read(&parts) {
        true => Names::Shown,
        false => Names::Hidden,
    };
    let readiness = app.parts.health.readiness(&app.probed, names).await;
    let status = match readiness.ready {
        true => StatusCode::OK,
        false => StatusCode::SERVICE_UNAVAILABLE,
    };
    (status, Json(readiness))
}

/// Numbers for a metrics server.
#[utoipa::path(get, path = "/metrics", tag = "health",
    responses((status = 200, description = "All series, in the OpenMetrics text form", body = String,
        content_type = "application/openmetrics-text")))]
pub(crate) async fn metrics(State(app): State<Shared>) -> impl IntoResponse {
    let store = &app.parts.store;
    let (metrics, clock) = (store.metrics(), &app.parts.clock);
    app.probed.begun().await;
    metrics.stats(store.inner(), clock, COUNTS_AGE).await;
    if let Some(part) = &app.parts.inbox {
        metrics.inbox_counts(part, clock, COUNTS_AGE).await;
    }
    ([(CONTENT_TYPE, metrics::MEDIA_TYPE)], metrics.text())
}
