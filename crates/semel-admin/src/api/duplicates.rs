//! What came again, and what follows for the retention.

use axum::Json;
use axum::extract::State;

use crate::input::{NoParams, Params};
use crate::router::Shared;
use crate::view;

/// How late duplicates come, where they come from, and what they saved, since the process began.
///
/// The counts are in the memory of the process: other processes on the same store have their own.
#[utoipa::path(get, path = "/api/v1/duplicates", tag = "records",
    responses((status = 200, description = "Counts by scope and consumer", body = view::Duplicates)))]
pub(crate) async fn duplicates(
    State(app): State<Shared>,
    _: Params<NoParams>,
) -> Json<view::Duplicates> {
    Json(app.parts.store.metrics().duplicates())
}
