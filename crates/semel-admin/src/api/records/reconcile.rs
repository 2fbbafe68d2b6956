//! Asking providers about unknown records, about one and about many.

use axum::Json;
use axum::extract::State as Extracted;
use semel_core::store::{Actor, Cursor, Reason, StateFilter};
use semel_core::{Claim, Fence, Identity, Key, Scope, State, StoreExt, Tenant, Timestamp};
use semel_http::problem::{Problem as Refusal, Type};
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use super::refused;
use crate::api::fields;
use crate::api::problem::Problem;
use crate::input::{self, Input, refuse_field};
use crate::reconcile::{Missing, QUESTION_MAX};
use crate::records::reconcile::{self as records, Asker, CALL_MAX, End, Item, Report};
use crate::records::{Method, Selection};
use crate::refused::{Refused, ask, change_after};
use crate::router::{App, Shared};
use crate::tokens::Caller;
use crate::view;
use crate::when::When;

/// Which unknown record is asked about.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReconcileInput {
    /// On whose behalf.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "acme")]
    tenant: Tenant,
    /// Which operation.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "payments@1")]
    scope: Scope,
    /// Which instance of it.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "order-17")]
    key: Key,
    /// The claim that is asked about; a newer one is left alone.
    #[serde(deserialize_with = "fields::fence")]
    #[schema(value_type = u64, example = 1)]
    fence: Fence,
    /// Who has it asked, for the audit. With a token this may be left out, and the token's name stands in front of it.
    #[serde(default, deserialize_with = "fields::actor_or_none")]
    #[schema(value_type = Option<String>, example = "ada")]
    by: Option<Actor>,
    /// Why, for the audit.
    #[serde(deserialize_with = "reason")]
    #[schema(value_type = String, example = "INC-7: the provider is back")]
    reason: Reason,
}

impl Input for ReconcileInput {}

fn reason<'de, D: Deserializer<'de>>(input: D) -> Result<Reason, D::Error> {
    let none = || serde::de::Error::custom("expected why, for the audit; found nothing");
    fields::reason_or_none(input)?.ok_or_else(none)
}

/// Asks the reconcile URL of the record's route now, as the route does when the next request comes: what happened is settled with
/// the answer, what did not happen is released, and what the provider cannot tell stays unknown. Header values and bodies are not
/// in the answer of this call; `records/one` shows them.
#[utoipa::path(post, path = "/api/v1/records/reconcile", tag = "records", operation_id = "reconcile_record", request_body = ReconcileInput,
    responses(
        (status = 200, description = "What was answered, also if it was no answer: then the record is as it was", body = view::Reconciled),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 409, description = "`decision-refused`: the record is in another state, or of another claim, or has no reconcile URL; nothing changed", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn reconcile(
    Extracted(app): Extracted<Shared>,
    caller: Caller,
    input: input::Json<ReconcileInput>,
) -> Result<Json<view::Reconciled>, Refused> {
    let input = input.into_value();
    let asker = Asker {
        by: caller.actor(input.by)?,
        reason: input.reason,
    };
    let claim = Claim {
        identity: Identity::new(input.tenant, input.scope, input.key),
        fence: input.fence,
    };
    let item = reconcile_now(&app, claim, asker).await?;
    Ok(Json(view::Reconciled::of(&item)))
}

/// Asks about a claim that is unknown, and refuses any other.
pub(crate) async fn reconcile_now(app: &App, claim: Claim, asker: Asker) -> Result<Item, Refused> {
    let store = app.parts.store.clone();
    let found = ask(store.look_up_one(claim.identity.clone())).await?;
    let is_meant = |found: &semel_core::Record| {
        found.fence == claim.fence && matches!(found.state, State::Unknown { .. })
    };
    let Some(record) = found.filter(|found| is_meant(found)) else {
        return Err(refused(app, claim).await?);
    };
    let reconciling = app.parts.reconciling.clone();
    let asked = async move { records::one(&store, &reconciling, &record, &asker).await };
    let item = change_after(QUESTION_MAX, asked).await?;
    match item.end {
        End::Missing(missing) => Err(no_reconciler(missing, claim.identity.scope())),
        End::Changed { .. } => Err(refused(app, claim).await?),
        End::Settled(_) | End::Released | End::Unknown(_) => Ok(item),
    }
}

fn no_reconciler(missing: Missing, scope: &Scope) -> Refused {
    let detail = format!("nothing was asked or changed: {}", missing.says(scope));
    Refusal::new(Type::DecisionRefused, detail)
        .with("state", "unknown")
        .into()
}

/// Which unknown records are asked about. Name filters, or say `all`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReconcileManyInput {
    /// Whether all unknown records are meant; needed if there is no filter.
    #[serde(default)]
    all: bool,
    /// Only this tenant's.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    tenant: Option<Tenant>,
    /// Only this scope's: NAME or NAME@VERSION; no version means 1.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    scope: Option<Scope>,
    /// Only this key's, whatever the tenant and the scope.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    key: Option<Key>,
    /// Only what was asked with this HTTP method.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    method: Option<Method>,
    /// Only what has been unknown for so long, such as `2h`, or since a moment (RFC 3339): the `until` of a dry run asks about
    /// what that has shown.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    older_than: Option<When>,
    /// Whether only to say about which it would be asked, and where. It is so unless this says otherwise.
    #[serde(default = "yes")]
    #[schema(default = true)]
    dry_run: bool,
    /// Go on where the call before ended: its `next`.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    before: Option<Cursor>,
    /// Who has it asked, for the audit. With a token this may be left out, and the token's name stands in front of it.
    #[serde(default, deserialize_with = "fields::actor_or_none")]
    #[schema(value_type = Option<String>, example = "ada")]
    by: Option<Actor>,
    /// Why, for the audit.
    #[serde(deserialize_with = "reason")]
    #[schema(value_type = String, example = "INC-7: the provider is back")]
    reason: Reason,
}

const fn yes() -> bool {
    true
}

impl Input for ReconcileManyInput {}

impl ReconcileManyInput {
    fn selection(&self, now: Timestamp) -> Result<Selection, Refused> {
        let has_filter = self.tenant.is_some()
            || self.scope.is_some()
            || self.key.is_some()
            || self.method.is_some()
            || self.older_than.is_some();
        if !self.all && !has_filter {
            let why = "expected a filter, or all: true; found neither";
            return Err(refuse_field("all", why));
        }
        let until = self.older_than.map_or(now, |when| when.at(now));
        Ok(Selection {
            state: StateFilter::Unknown,
            tenant: self.tenant.clone(),
            scope: self.scope.clone(),
            key: self.key.clone(),
            method: self.method.clone(),
            until: until.min(now),
        })
    }
}

/// Asks the reconcile URLs about many unknown records, at most 16 at once, or says about which it would be asked. A record without a
/// reconcile URL is left alone and counted. One call asks about at most 256 and begins nothing after 20 seconds; a dry run looks at
/// no more than 10000. While `next` is not null, there is more.
#[utoipa::path(post, path = "/api/v1/records/reconcile-many", tag = "records", operation_id = "reconcile_many", request_body = ReconcileManyInput,
    responses(
        (status = 200, description = "What was answered, or would be asked", body = view::ReconcileReport),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn reconcile_many(
    Extracted(app): Extracted<Shared>,
    caller: Caller,
    input: input::Json<ReconcileManyInput>,
) -> Result<Json<view::ReconcileReport>, Refused> {
    let input = input.into_value();
    let selection = input.selection(app.now())?;
    let (until, dry_run) = (selection.until, input.dry_run);
    let asker = Asker {
        by: caller.actor(input.by)?,
        reason: input.reason,
    };
    let asker = (!dry_run).then_some(asker);
    let report = reconcile_all(&app, selection, asker, input.before).await?;
    Ok(Json(view::ReconcileReport::of(&report, dry_run, until)))
}

/// Asks about all that are meant; without an asker it says about which it would be asked.
pub(crate) async fn reconcile_all(
    app: &App,
    selection: Selection,
    asker: Option<Asker>,
    before: Option<Cursor>,
) -> Result<Report, Refused> {
    let (store, reconciling) = (app.parts.store.clone(), app.parts.reconciling.clone());
    let Some(asker) = asker else {
        return ask(records::look(&store, &reconciling, &selection, before)).await;
    };
    let asked = async move { records::ask(&store, &reconciling, &selection, &asker, before).await };
    change_after(CALL_MAX, asked).await
}
