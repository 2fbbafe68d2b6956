//! Counts for operators.

use axum::Json;
use axum::extract::State;
use semel_core::Store;

use super::problem::Problem;
use crate::input::{NoParams, Params};
use crate::refused::{Refused, ask};
use crate::router::Shared;
use crate::view;

/// Counts for operators.
#[utoipa::path(get, path = "/api/v1/stats", tag = "records",
    responses(
        (status = 200, description = "How the store stands", body = view::Stats),
        (status = 503, description = "The store cannot answer", body = Problem),
    ))]
pub(crate) async fn stats(
    State(app): State<Shared>,
    _: Params<NoParams>,
) -> Result<Json<view::Stats>, Refused> {
    let stats = ask(app.parts.store.stats()).await?;
    let stats = view::Stats::of(&stats, app.now());
    Ok(Json(match &app.parts.inbox {
        Some(part) => stats.with_inbox(&ask(part.inbox.counts()).await?),
        None => stats,
    }))
}
