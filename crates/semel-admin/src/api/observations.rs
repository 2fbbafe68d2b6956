//! What doors in observe mode have seen.

use axum::Json;
use axum::extract::State;
use semel_http::problem::{self, Type};

use super::problem::Problem;
use crate::input::{NoParams, Params};
use crate::refused::Refused;
use crate::router::Shared;
use crate::view;

/// What doors in observe mode have seen since the process began.
#[utoipa::path(get, path = "/api/v1/observations", tag = "records",
    responses(
        (status = 200, description = "Counts by route, client and finding", body = view::Observed),
        (status = 404, description = "No door of this process observes", body = Problem),
    ))]
pub(crate) async fn observations(
    State(app): State<Shared>,
    _: Params<NoParams>,
) -> Result<Json<view::Observed>, Refused> {
    match &app.parts.observations {
        Some(observations) => Ok(Json(observations())),
        None => {
            let detail = "no door of this process is in observe mode";
            Err(problem::Problem::new(Type::NotFound, detail).into())
        }
    }
}
