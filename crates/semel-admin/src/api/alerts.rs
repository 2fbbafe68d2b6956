//! How alerts stand.

use axum::Json;
use axum::extract::State;

use crate::input::{NoParams, Params};
use crate::refused::Refused;
use crate::router::Shared;
use crate::view;

/// The alerts that are pending or fire, and all there are.
#[utoipa::path(get, path = "/api/v1/alerts", tag = "health",
    responses((status = 200, description = "How alerts stand", body = view::Alerts)))]
pub(crate) async fn alerts(
    State(app): State<Shared>,
    _: Params<NoParams>,
) -> Result<Json<view::Alerts>, Refused> {
    Ok(Json(view::Alerts::of(
        &app.parts.alerts,
        app.parts.clock.now(),
    )))
}
