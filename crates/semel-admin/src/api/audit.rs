//! What was done by hand, to records and to messages.

use axum::Json;
use axum::extract::State;
use semel_core::Store;
use semel_core::store::PAGE_MAX;
use serde::Deserialize;
use utoipa::IntoParams;

use super::problem::Problem;
use crate::input::{Params, refuse_field};
use crate::refused::{Refused, ask};
use crate::router::Shared;
use crate::view;

/// How much of the audit.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct AuditParams {
    /// At most this many lines: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl AuditParams {
    fn limit(&self) -> Result<usize, Refused> {
        match self.limit.unwrap_or(100) {
            limit if (1..=PAGE_MAX).contains(&limit) => Ok(limit),
            limit => {
                let why = format!("a page has 1 to {PAGE_MAX} lines, found {limit}");
                Err(refuse_field("limit", &why))
            }
        }
    }
}

/// What was done by hand to records and messages, the newest first.
#[utoipa::path(get, path = "/api/v1/audit", tag = "records", operation_id = "audit", params(AuditParams),
    responses(
        (status = 200, description = "The lines of the audit", body = view::Audit),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn audit(
    State(app): State<Shared>,
    Params(params): Params<AuditParams>,
) -> Result<Json<view::Audit>, Refused> {
    let lines = ask(app.parts.store.audit(params.limit()?)).await?;
    Ok(Json(view::Audit::of(&lines)))
}

/// The same at its earlier address.
#[utoipa::path(get, path = "/api/v1/inbox/audit", tag = "inbox", operation_id = "inbox_audit", params(AuditParams),
    responses(
        (status = 200, description = "The lines of the audit, those about records among them", body = view::Audit),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn inbox_audit(
    state: State<Shared>,
    params: Params<AuditParams>,
) -> Result<Json<view::Audit>, Refused> {
    audit(state, params).await
}
