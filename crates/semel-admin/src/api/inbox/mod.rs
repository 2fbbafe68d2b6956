//! Messages for operators: pages, one with its history, counts, gaps, and changes by hand.

mod act;
mod asked;
mod edit;
mod failures;
mod pause;
mod wanted;

pub(crate) use act::*;
pub(crate) use edit::*;
pub(crate) use failures::*;
pub(crate) use pause::*;
pub(crate) use wanted::{ActInput, REASON_BYTES_MAX};

use axum::Json;
use axum::extract::State;
use semel_core::inbox::Inbox;
use semel_http::problem::{self, Type};

use super::problem::Problem;
use crate::inbox::InboxPart;
use crate::input::{NoParams, Params};
use crate::refused::{Refused, ask};
use crate::router::{App, Shared};
use crate::view::inbox as view;
use asked::{GapsParams, ListParams, OneParams};

/// The inbox of the process, or the refusal of a store that has none.
pub(crate) fn part(app: &App) -> Result<&InboxPart, Refused> {
    let none = || {
        let detail = "this process has no inbox: the inbox needs SQLite or PostgreSQL";
        Refused::from(problem::Problem::new(Type::NotFound, detail))
    };
    app.parts.inbox.as_ref().ok_or_else(none)
}

fn inbox(app: &App) -> Result<&dyn Inbox, Refused> {
    part(app).map(|part| part.inbox.as_ref())
}

/// One page of messages, the newest first. Neither payloads nor headers.
#[utoipa::path(get, path = "/api/v1/inbox", tag = "inbox", operation_id = "list_messages", params(ListParams),
    responses(
        (status = 200, description = "A page; ask again with `before` for the next", body = view::Page),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: the store has no inbox", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn list(
    State(app): State<Shared>,
    Params(params): Params<ListParams>,
) -> Result<Json<view::Page>, Refused> {
    let query = params.query(app.now())?;
    let page = ask(inbox(&app)?.list_messages(query)).await?;
    Ok(Json(view::Page::of(&page, app.now())))
}

/// One message with its timeline, attempts and steps. Its payload, header values and results, and what its handler answered, only if
/// asked for.
#[utoipa::path(get, path = "/api/v1/inbox/one", tag = "inbox", operation_id = "one_message", params(OneParams),
    responses(
        (status = 200, description = "The message", body = view::Detail),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: no such message, or the store has no inbox", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn one(
    State(app): State<Shared>,
    Params(params): Params<OneParams>,
) -> Result<Json<view::Detail>, Refused> {
    let (identity, payload, answers) = params.asked();
    let found = ask(inbox(&app)?.message(identity.clone())).await?;
    let detail = found.ok_or_else(|| {
        let detail = format!("there is no message {identity}");
        problem::Problem::new(Type::NotFound, detail)
    })?;
    Ok(Json(view::Detail::of(&detail, payload, answers, app.now())))
}

/// How many messages of each consumer are in which state, whether it is paused, and whether this process knows it.
#[utoipa::path(get, path = "/api/v1/inbox/counts", tag = "inbox", operation_id = "count_messages",
    responses(
        (status = 200, description = "One entry per consumer that has or had messages", body = view::AllCounts),
        (status = 404, description = "`not-found`: the store has no inbox", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn counts(
    State(app): State<Shared>,
    _: Params<NoParams>,
) -> Result<Json<view::AllCounts>, Refused> {
    let part = part(&app)?;
    let counts = ask(part.inbox.counts()).await?;
    let policies = part.policies.get();
    let shown = view::AllCounts::of(&counts, &policies, app.now());
    let metrics = app.parts.store.metrics();
    Ok(Json(shown.with_circuits(&counts, metrics)))
}

/// Which versions the lanes of a consumer wait for.
#[utoipa::path(get, path = "/api/v1/inbox/gaps", tag = "inbox", operation_id = "list_gaps", params(GapsParams),
    responses(
        (status = 200, description = "One entry per lane that waits", body = view::Gaps),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: the store has no inbox", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn gaps(
    State(app): State<Shared>,
    Params(params): Params<GapsParams>,
) -> Result<Json<view::Gaps>, Refused> {
    let (consumer, limit) = params.asked()?;
    let gaps = ask(inbox(&app)?.gaps(consumer, limit)).await?;
    Ok(Json(view::Gaps::of(&gaps, app.now())))
}
