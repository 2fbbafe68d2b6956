//! What is wrong with many messages, in groups.

use axum::Json;
use axum::extract::State;
use semel_core::Scope;
use serde::Deserialize;
use utoipa::IntoParams;

use super::inbox;
use crate::api::fields;
use crate::api::problem::Problem;
use crate::input::Params;
use crate::refused::{Refused, ask};
use crate::router::Shared;
use crate::view::inbox as view;

/// Whose failures.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct FailuresParams {
    /// Only this consumer's: NAME or NAME@VERSION; no version means 1.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    consumer: Option<Scope>,
}

/// Failed and parked messages in groups of consumer, cause and error, where numbers, ids and quotations of errors do not count. Of the newest 10,000 of them.
#[utoipa::path(get, path = "/api/v1/inbox/failures", tag = "inbox", operation_id = "list_failures", params(FailuresParams),
    responses(
        (status = 200, description = "The groups, the largest first", body = view::Failures),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: the store has no inbox", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn failures(
    State(app): State<Shared>,
    Params(params): Params<FailuresParams>,
) -> Result<Json<view::Failures>, Refused> {
    let found = crate::messages::failures(inbox(&app)?, params.consumer.as_ref());
    Ok(Json(view::Failures::of(&ask(found).await?)))
}
