//! Records for operators: pages, one with its history, decisions about one and about many, and questions to providers.

mod erase;
mod inputs;
mod many;
mod reconcile;

pub(crate) use erase::*;
pub(crate) use many::*;
pub(crate) use reconcile::*;

use axum::Json;
use axum::extract::State;
use semel_core::store::{Query, ResolveAnswer, ResolveRequest};
use semel_core::{Store, StoreExt};
use semel_http::problem::{self, Type};
use serde::Serialize;
use utoipa::ToSchema;

use super::claims::not_found;
use super::problem::Problem;
use crate::input::{self, Params};
use crate::refused::{Refused, ask, change};
use crate::router::{App, Shared};
use crate::tokens::Caller;
use crate::view;
use inputs::{ListParams, OneParams, ResolveInput};

/// One page of records, the newest claim first.
#[utoipa::path(get, path = "/api/v1/records", tag = "records", params(ListParams),
    responses(
        (status = 200, description = "A page; ask again with `before` for the next", body = view::Page),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn list(
    State(app): State<Shared>,
    Params(params): Params<ListParams>,
) -> Result<Json<view::Page>, Refused> {
    let query: Query = params.query()?;
    let page = ask(app.parts.store.list(query)).await?;
    Ok(Json(view::Page::of(&page, app.now())))
}

/// One record with its outcome and its history. Header values and bodies only if asked for.
#[utoipa::path(get, path = "/api/v1/records/one", tag = "records", params(OneParams),
    responses(
        (status = 200, description = "The record; null with a history if the operation is absent now", body = view::Seen),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: neither a record nor a history", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn one(
    State(app): State<Shared>,
    Params(params): Params<OneParams>,
) -> Result<Json<view::Seen>, Refused> {
    let (identity, payload) = params.asked();
    let store = &app.parts.store;
    let record = ask(store.look_up_one(identity.clone())).await?;
    let history = ask(store.history(identity.clone())).await?;
    if record.is_none() && history.is_empty() {
        return Err(not_found(&identity));
    }
    let seen = view::Seen::of(record.as_deref(), &history, payload, app.now());
    Ok(Json(seen))
}

/// The decision is on record.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Resolved {
    /// `settled` or `absent`.
    state: &'static str,
}

/// Decides about an unknown record, corrects what such a decision put on record, or erases a settled one, by a person's word.
#[utoipa::path(post, path = "/api/v1/records/resolve", tag = "records", request_body = ResolveInput,
    responses(
        (status = 200, description = "Decided", body = Resolved),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 409, description = "`decision-refused`: the record is in another state, or of another claim; nothing changed", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn resolve(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<ResolveInput>,
) -> Result<Json<Resolved>, Refused> {
    caller.must(input.value.needs())?;
    let state = input.value.leads_to();
    let request = input.value.request(&caller)?;
    resolve_now(&app, request).await?;
    Ok(Json(Resolved { state }))
}

/// Carries out a decision about one record.
pub(crate) async fn resolve_now(app: &App, request: ResolveRequest) -> Result<(), Refused> {
    let (store, claim) = (app.parts.store.clone(), request.claim.clone());
    match change(async move { store.resolve_one(request).await }).await? {
        ResolveAnswer::Resolved => Ok(()),
        ResolveAnswer::Refused => Err(refused(app, claim).await?),
    }
}

/// Says how the record stands, so that whoever decides can look again.
async fn refused(app: &App, claim: semel_core::Claim) -> Result<Refused, Refused> {
    let found = ask(app.parts.store.look_up_one(claim.identity)).await?;
    let state = found.as_ref().map_or("absent", |found| found.state.name());
    let detail = format!("the record is {state}, and nothing was changed; look at it again");
    let problem = problem::Problem::new(Type::DecisionRefused, detail).with("state", state);
    Ok(match found {
        Some(found) => problem.with("fence", found.fence.get()).into(),
        None => problem.into(),
    })
}
