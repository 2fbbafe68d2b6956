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
use crate::messages::{Done, operate};
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
    act(&app, &caller, input.value, Verb::Retry).await
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
    act(&app, &caller, input.value, Verb::Park).await
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
    act(&app, &caller, input.value, Verb::Unpark).await
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
    act(&app, &caller, input.value, Verb::Skip).await
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
    act(&app, &caller, input.value, Verb::Replay).await
}

/// Erases what messages hold: payload, headers, edits, errors, results of steps and what handlers answered. Identity, fingerprint, state and record stay, so that
/// a redelivery is still a duplicate. What failed for good or is parked is skipped by it; what still runs by itself is left alone: park it first.
#[utoipa::path(post, path = "/api/v1/inbox/erase", tag = "inbox", operation_id = "erase_messages", request_body = ActInput,
    responses(
        (status = 200, description = "What changed, or would", body = view::Report),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: the store has no inbox", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn erase(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<ActInput>,
) -> Result<Json<view::Report>, Refused> {
    act(&app, &caller, input.value, Verb::Erase).await
}

/// What is done to messages that a selection names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Retry,
    Park,
    Unpark,
    Skip,
    Replay,
    Erase,
}

impl Verb {
    /// All of them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Retry,
        Self::Park,
        Self::Unpark,
        Self::Skip,
        Self::Replay,
        Self::Erase,
    ];

    /// The name in the API, and of the field of the dashboard's forms.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Retry => "retry",
            Self::Park => "park",
            Self::Unpark => "unpark",
            Self::Skip => "skip",
            Self::Replay => "replay",
            Self::Erase => "erase",
        }
    }

    const fn in_audit(self, door: Door) -> &'static str {
        match (self, door) {
            (Self::Retry, Door::Api) => "api inbox retry",
            (Self::Park, Door::Api) => "api inbox park",
            (Self::Unpark, Door::Api) => "api inbox unpark",
            (Self::Skip, Door::Api) => "api inbox skip",
            (Self::Replay, Door::Api) => "api inbox replay",
            (Self::Erase, Door::Api) => "api inbox erase",
            (Self::Retry, Door::Dashboard) => "dashboard retry",
            (Self::Park, Door::Dashboard) => "dashboard park",
            (Self::Unpark, Door::Dashboard) => "dashboard unpark",
            (Self::Skip, Door::Dashboard) => "dashboard skip",
            (Self::Replay, Door::Dashboard) => "dashboard replay",
            (Self::Erase, Door::Dashboard) => "dashboard erase",
        }
    }

    /// The action, if the consumer's policy allows it or somebody insists.
    fn action(self, app: &App, input: &ActInput) -> Result<Action, Refused> {
        Ok(match self {
            Self::Retry => Action::Retry {
                new_key: input.new_key()?,
            },
            Self::Park => Action::Park,
            Self::Unpark => Action::Unpark,
            Self::Skip => Action::Skip,
            Self::Erase => {
                input.must_say_why()?;
                Action::EraseContents
            }
            Self::Replay => {
                let policy = part(app)?.policies.get().replay(input.consumer());
                // To look at what a replay would do is always allowed.
                if !input.is_dry() {
                    let allowed = policy.check(&input.consumer().to_string(), input.forced());
                    allowed.map_err(|why| {
                        problem::Problem::new(Type::DecisionRefused, why.to_string())
                    })?;
                }
                Action::Replay {
                    rebuild: policy.rebuild,
                }
            }
        })
    }
}

/// By which door an operator acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    Api,
    Dashboard,
}

async fn act(
    app: &App,
    caller: &Caller,
    input: ActInput,
    verb: Verb,
) -> Result<Json<view::Report>, Refused> {
    let (done, operation) = perform(app, caller, input, (verb, Door::Api)).await?;
    Ok(Json(view::Report::done(&done, &operation)))
}

/// Carries an act out, or says what it would do: for every door.
pub(crate) async fn perform(
    app: &App,
    caller: &Caller,
    input: ActInput,
    (verb, door): (Verb, Door),
) -> Result<(Done, Operation), Refused> {
    let (part, now) = (part(app)?, app.now());
    let action = verb.action(app, &input)?;
    let policies = part.policies.get();
    let group = input.group.clone();
    let plan = policies.plan(input.consumer());
    let operation = input.operation(caller, plan, action, verb.in_audit(door), now)?;
    let ordered = policies.check_order(part.inbox.as_ref(), &operation.plan.consumer, action);
    ask(ordered).await.map_err(Refused::decided)?;
    let (inbox, asked) = (Arc::clone(&part.inbox), operation.clone());
    let done = async move { operate(inbox.as_ref(), asked, group.as_deref()).await };
    let done = change(done).await?;
    log(&operation, done.report.changed);
    Ok((done, operation))
}

pub(super) fn log(operation: &Operation, changed: u64) {
    if !operation.dry_run {
        crate::log::inbox::operated(operation, changed);
    }
}
