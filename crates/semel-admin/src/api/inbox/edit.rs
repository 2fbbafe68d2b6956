//! Edit and retry: another payload beside the original.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use bytes::Bytes;
use semel_core::inbox::{Detail, Operation, Report};
use semel_core::store::Actor;
use semel_core::{Identity, Key, Scope, Tenant};
use semel_http::problem::{self, Type};
use serde::Deserialize;
use utoipa::ToSchema;

use super::act::Door;
use super::part;
use super::wanted::check_reason;
use crate::api::problem::Problem;
use crate::api::{fields, outcome};
use crate::input::{self, Input, OUTCOME_BYTES_MAX, refuse_field};
use crate::messages::Wanted;
use crate::refused::{Refused, ask, change};
use crate::router::{App, Shared};
use crate::tokens::Caller;
use crate::view::inbox as view;

/// Which message, what to make of it, and who decides. No `Debug`: it is all payload.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EditInput {
    /// Whose message: NAME or NAME@VERSION; no version means 1.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "mailer@1")]
    consumer: Scope,
    /// Its id.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "evt-17")]
    id: Key,
    /// On whose behalf; `public` if left out.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    tenant: Option<Tenant>,
    /// The new payload as text; the present one stays if neither this nor `body_base64` is given.
    body: Option<String>,
    /// The new payload in base64, if it is not text.
    body_base64: Option<String>,
    /// Headers that take the place of those with the same names, each as a pair of name and value; the others stay.
    #[serde(default)]
    #[schema(value_type = Vec<Vec<String>>)]
    headers: Vec<(String, String)>,
    /// Whether to give the provider a new key: it may refuse other contents under the key that it knows, and may do once more what it did before.
    #[serde(default)]
    new_key: bool,
    /// The newest edit that was looked at, as its `version`, and 0 if there was none: if there is a newer one by now, nothing is changed.
    seen_version: Option<u32>,
    /// Who decides, for the audit. With a token this may be left out, and the token's name stands in front of it; without one `no-token:` does.
    #[serde(default, deserialize_with = "fields::actor_or_none")]
    #[schema(value_type = Option<String>, example = "ada")]
    by: Option<Actor>,
    /// Why, for the audit.
    reason: String,
    /// Whether only to say what would change.
    #[serde(default)]
    dry_run: bool,
}

impl Input for EditInput {
    const BYTES_MAX: usize = OUTCOME_BYTES_MAX;
}

impl EditInput {
    fn wanted(&mut self) -> Result<Wanted, Refused> {
        let (body, encoded) = (self.body.take(), self.body_base64.take());
        let has_payload = body.is_some() || encoded.is_some();
        let payload = outcome::bytes(body, encoded)?;
        let headers = outcome::headers(std::mem::take(&mut self.headers))?;
        let fields = headers
            .iter()
            .map(|(name, value)| (name.to_owned(), value.clone()));
        let payload: Option<Bytes> = has_payload.then_some(payload);
        Ok(Wanted {
            payload,
            headers: fields.collect(),
            new_key: self.new_key,
        })
    }
}

/// Runs one message again that failed or is parked, with another payload or other headers. The original stays beside them and goes on being what
/// duplicates are compared with.
#[utoipa::path(post, path = "/api/v1/inbox/edit", tag = "inbox", operation_id = "edit_message", request_body = EditInput,
    responses(
        (status = 200, description = "What changed, or would", body = view::EditReport),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 404, description = "`not-found`: no such message, or the store has no inbox", body = Problem),
        (status = 409, description = "`decision-refused`: there is nothing left to edit, nothing would change, it was edited since `seen_version`, or no policy says in which order the messages run", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn edit(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<EditInput>,
) -> Result<Json<view::EditReport>, Refused> {
    let (report, operation, detail) = perform_edit(&app, &caller, input.value, Door::Api).await?;
    Ok(Json(view::EditReport::of(&report, &operation, &detail)))
}

/// Carries an edit out, or says what it would do: for every door. The message is answered as it was before.
pub(crate) async fn perform_edit(
    app: &App,
    caller: &Caller,
    mut input: EditInput,
    door: Door,
) -> Result<(Report, Operation, Detail), Refused> {
    check_reason(Some(&input.reason))?;
    if input.reason.trim().is_empty() {
        return Err(refuse_field("reason", "an edit needs a reason, found none"));
    }
    let (part, wanted) = (part(app)?, input.wanted()?);
    let by = caller.actor(input.by)?;
    let tenant = input.tenant.unwrap_or_else(Tenant::public);
    let identity = Identity::new(tenant, input.consumer, input.id);
    let found = ask(part.inbox.message(identity.clone())).await?;
    let detail = found.ok_or_else(|| {
        let detail = format!("there is no message {identity}");
        problem::Problem::new(Type::NotFound, detail)
    })?;
    check_version(&detail, input.seen_version)?;
    let policies = part.policies.get();
    let plan = policies.plan(identity.scope());
    let verb = match door {
        Door::Api => "api inbox edit",
        Door::Dashboard => "dashboard edit",
    };
    let operation = wanted.operation(&detail, plan, (by, input.reason), verb);
    let mut operation = operation.map_err(|error| Refused::from(error).decided())?;
    operation.dry_run = input.dry_run;
    let ordered = policies.check_order(part.inbox.as_ref(), identity.scope(), operation.action);
    ask(ordered).await.map_err(Refused::decided)?;
    let (inbox, asked) = (Arc::clone(&part.inbox), operation.clone());
    let report = change(async move { inbox.operate(asked).await }).await?;
    super::act::log(&operation, report.changed);
    Ok((report, operation, detail))
}

/// What was edited since the operator looked is not overwritten unseen.
fn check_version(detail: &Detail, seen: Option<u32>) -> Result<(), Refused> {
    let newest = detail.edits.last();
    let version = newest.map_or(0, |edited| edited.version);
    if seen.is_none_or(|seen| seen == version) {
        return Ok(());
    }
    let by = newest.map_or("", |edited| edited.by.as_str());
    let detail = format!(
        "{} was edited meanwhile: expected edit {} as the newest, found edit {version} by {by}; nothing was changed",
        detail.entry.identity,
        seen.unwrap_or_default()
    );
    Err(problem::Problem::new(Type::DecisionRefused, detail).into())
}
