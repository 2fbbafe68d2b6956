//! Changes by hand. Each leaves a line in the audit; a dry run changes nothing.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use semel_core::inbox::{Action, Operation};
use semel_http::problem::{self, Type};

use super::part;
use super::wanted::ActInput;
use crate::api::problem::Problem;
use crate::input;
use crate::refused::{Refused, ask, change};
use crate::router::{App, Shared};
use crate::tokens::Caller;
use crate::view::inbox as view;

/// Runs messages again that failed, or are parked: attempts are counted anew, done steps stay done. With `new_key` the provider is
/// given a new key, and may do once more what it did before.
#[utoipa::path(post, path = "/api/v1/inbox/retry", tag = "inbox", operation_id = "retry_messages", request_body = ActInput,
    responses(
        (status = 200, description = "What changed, or would", body = view::Report),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: the store has no inbox", body = Problem),
        (status = 409, description = "`decision-refused`: no policy says in which order the messages run", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn retry(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<ActInput>,
) -> Result<Json<view::Report>, Refused> {
    let action = Action::Retry {
        new_key: input.value.new_key()?,
    };
    act(&app, &caller, input.value, action, "api inbox retry").await
}

/// Sets messages aside until somebody decides.
#[utoipa::path(post, path = "/api/v1/inbox/park", tag = "inbox", operation_id = "park_messages", request_body = ActInput,
    responses(
        (status = 200, description = "What changed, or would", body = view::Report),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: the store has no inbox", body = Problem),
        (status = 409, description = "`decision-refused`: no policy says in which order the messages run", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn park(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<ActInput>,
) -> Result<Json<view::Report>, Refused> {
    act(&app, &caller, input.value, Action::Park, "api inbox park").await
}

/// Lets parked messages go on, with the attempts that they had.
#[utoipa::path(post, path = "/api/v1/inbox/unpark", tag = "inbox", operation_id = "unpark_messages", request_body = ActInput,
    responses(
        (status = 200, description = "What changed, or would", body = view::Report),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: the store has no inbox", body = Problem),
        (status = 409, description = "`decision-refused`: no policy says in which order the messages run", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn unpark(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<ActInput>,
) -> Result<Json<view::Report>, Refused> {
    act(
        &app,
        &caller,
        input.value,
        Action::Unpark,
        "api inbox unpark",
    )
    .await
}

/// Passes messages over for good: they never run, and duplicates of them are suppressed.
#[utoipa::path(post, path = "/api/v1/inbox/skip", tag = "inbox", operation_id = "skip_messages", request_body = ActInput,
    responses(
        (status = 200, description = "What changed, or would", body = view::Report),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: the store has no inbox", body = Problem),
        (status = 409, description = "`decision-refused`: no policy says in which order the messages run", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn skip(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<ActInput>,
) -> Result<Json<view::Report>, Refused> {
    act(&app, &caller, input.value, Action::Skip, "api inbox skip").await
}

/// Runs messages once more that were dealt with, if the consumer's policy allows it or somebody insists.
#[utoipa::path(post, path = "/api/v1/inbox/replay", tag = "inbox", operation_id = "replay_messages", request_body = ActInput,
    responses(
        (status = 200, description = "What changed, or would", body = view::Report),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: the store has no inbox", body = Problem),
        (status = 409, description = "`decision-refused`: the consumer's policy does not allow replays", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn replay(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<ActInput>,
) -> Result<Json<view::Report>, Refused> {
    let input = input.value;
    let policy = part(&app)?.policies.get().replay(input.consumer());
    // To look at what a replay would do is always allowed.
    if !input.is_dry() {
        let allowed = policy.check(&input.consumer().to_string(), input.forced());
        allowed.map_err(|why| problem::Problem::new(Type::DecisionRefused, why.to_string()))?;
    }
    let action = Action::Replay {
        rebuild: policy.rebuild,
    };
    act(&app, &caller, input, action, "api inbox replay").await
}

async fn act(
    app: &App,
    caller: &Caller,
    input: ActInput,
    action: Action,
    verb: &'static str,
) -> Result<Json<view::Report>, Refused> {
    let (part, now) = (part(app)?, app.now());
    let policies = part.policies.get();
    let plan = policies.plan(input.consumer());
    let operation = input.operation(caller, plan, action, verb, now)?;
    let ordered = policies.check_order(part.inbox.as_ref(), &operation.plan.consumer, action);
    ask(ordered).await.map_err(Refused::decided)?;
    let (inbox, asked) = (Arc::clone(&part.inbox), operation.clone());
    let report = change(async move { inbox.operate(asked).await }).await?;
    log(&operation, report.changed);
    Ok(Json(view::Report::of(&report, &operation)))
}

fn log(operation: &Operation, changed: u64) {
    if !operation.dry_run {
        crate::log::inbox::operated(operation, changed);
    }
}
