//! Pausing consumers, and letting them go on. Each leaves a line in the audit.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use semel_core::Scope;
use semel_core::store::Actor;
use semel_http::problem::{self, Type};
use serde::Deserialize;
use utoipa::ToSchema;

use super::part;
use super::wanted::check_reason;
use crate::api::fields;
use crate::api::problem::Problem;
use crate::inbox::InboxPart;
use crate::input::{self, Input};
use crate::refused::{Refused, ask, change};
use crate::router::{App, Shared};
use crate::tokens::Caller;
use crate::view::inbox as view;

/// Which consumer, and who decides.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct PauseInput {
    /// The consumer: NAME or NAME@VERSION; no version means 1.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "mailer@1")]
    consumer: Scope,
    /// Who decides, for the audit. With a token this may be left out, and the token's name stands in front of it; without one `no-token:` does.
    #[serde(default, deserialize_with = "fields::actor_or_none")]
    #[schema(value_type = Option<String>, example = "ada")]
    by: Option<Actor>,
    /// Why, for the audit.
    reason: Option<String>,
}

impl Input for PauseInput {}

/// Stops running the messages of a consumer, in all processes, until it is resumed. Messages are received all the same.
#[utoipa::path(post, path = "/api/v1/inbox/pause", tag = "inbox", operation_id = "pause_consumer", request_body = PauseInput,
    responses(
        (status = 200, description = "It is paused", body = view::PauseReport),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: no such consumer, or the store has no inbox", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn pause(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<PauseInput>,
) -> Result<Json<view::PauseReport>, Refused> {
    set_paused(&app, &caller, input.value, true).await.map(Json)
}

/// Lets a consumer that was paused go on.
#[utoipa::path(post, path = "/api/v1/inbox/resume", tag = "inbox", operation_id = "resume_consumer", request_body = PauseInput,
    responses(
        (status = 200, description = "It goes on", body = view::PauseReport),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: no such consumer, or the store has no inbox", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn resume(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<PauseInput>,
) -> Result<Json<view::PauseReport>, Refused> {
    set_paused(&app, &caller, input.value, false)
        .await
        .map(Json)
}

/// Pauses or resumes a consumer: for every door.
pub(crate) async fn set_paused(
    app: &App,
    caller: &Caller,
    input: PauseInput,
    paused: bool,
) -> Result<view::PauseReport, Refused> {
    check_reason(input.reason.as_deref())?;
    let by = caller.actor(input.by.clone())?;
    let part = part(app)?;
    must_know(part, &input.consumer).await?;
    let PauseInput {
        consumer, reason, ..
    } = input;
    let reason = reason.filter(|reason| !reason.trim().is_empty());
    crate::log::inbox::paused(&consumer, paused, &by);
    let (inbox, name) = (Arc::clone(&part.inbox), consumer.clone());
    let changed = change(async move { inbox.set_paused(name, paused, by, reason).await }).await?;
    Ok(view::PauseReport::of(&consumer, paused, changed))
}

/// A pause of a name with a typing mistake would stop nothing.
async fn must_know(part: &InboxPart, consumer: &Scope) -> Result<(), Refused> {
    if part.policies.get().knows(consumer) {
        return Ok(());
    }
    let counts = ask(part.inbox.counts()).await?;
    match counts.iter().any(|counts| counts.consumer == *consumer) {
        true => Ok(()),
        false => {
            let detail = format!("neither the configuration nor the inbox knows {consumer}");
            Err(problem::Problem::new(Type::NotFound, detail).into())
        }
    }
}
