//! Erasing contents, of one record and of many. The records stay.

use axum::Json;
use axum::extract::State;
use semel_core::store::{Actor, Cursor, Reason, Resolution, ResolveRequest, StateFilter};
use semel_core::{Claim, Fence, Identity, Key, Scope, Tenant, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::resolve_now;
use crate::api::fields;
use crate::api::problem::Problem;
use crate::input::{self, Input, refuse_field};
use crate::records::{self, Decision, Selection};
use crate::refused::{Refused, ask, change};
use crate::router::Shared;
use crate::tokens::Caller;
use crate::view;
use crate::when::When;

/// Whose contents are erased.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EraseInput {
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
    /// The claim that is meant, settled or archived; a newer one is left alone.
    #[serde(deserialize_with = "fields::fence")]
    #[schema(value_type = u64, example = 1)]
    fence: Fence,
    /// Who decides, for the audit. With a token this may be left out, and the token's name stands in front of it; without one `no-token:` does.
    #[serde(default, deserialize_with = "fields::actor_or_none")]
    #[schema(value_type = Option<String>, example = "ada")]
    by: Option<Actor>,
    /// Why, for the audit.
    #[serde(default, deserialize_with = "fields::reason_or_none")]
    #[schema(value_type = Option<String>)]
    reason: Option<Reason>,
}

impl Input for EraseInput {}

/// The contents are gone.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Erased {
    /// Always true.
    erased: bool,
}

/// Erases the contents of a settled or archived record: headers, the body, what was asked, and the contents in its
/// history. The record stays and goes on suppressing duplicates, which get its status without the body.
#[utoipa::path(post, path = "/api/v1/records/erase", tag = "records", operation_id = "erase_record", request_body = EraseInput,
    responses(
        (status = 200, description = "Erased; also if it was before", body = Erased),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 409, description = "`decision-refused`: the record is not settled, or of another claim; nothing changed", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn erase(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<EraseInput>,
) -> Result<Json<Erased>, Refused> {
    let input = input.value;
    let request = ResolveRequest {
        claim: Claim {
            identity: Identity::new(input.tenant, input.scope, input.key),
            fence: input.fence,
        },
        by: caller.actor(input.by)?,
        reason: input.reason,
        resolution: Resolution::EraseContents,
    };
    resolve_now(&app, request).await?;
    Ok(Json(Erased { erased: true }))
}

/// Whose contents are erased. Name filters, or say `all`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EraseManyInput {
    /// Whether all settled and archived records are meant; needed if there is no filter.
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
    /// Only what was settled so long ago, such as `30d`, or before a moment (RFC 3339): the `until` of a dry run erases what
    /// that has shown.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    older_than: Option<When>,
    /// Whether only to say what would be erased. It is so unless this says otherwise.
    #[serde(default = "yes")]
    #[schema(default = true)]
    dry_run: bool,
    /// Go on where the call before ended: its `next`.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    before: Option<Cursor>,
    /// Who decides, for the audit. With a token this may be left out, and the token's name stands in front of it; without one `no-token:` does.
    #[serde(default, deserialize_with = "fields::actor_or_none")]
    #[schema(value_type = Option<String>, example = "ada")]
    by: Option<Actor>,
    /// Why, for the audit.
    #[serde(deserialize_with = "fields::reason")]
    #[schema(value_type = String, example = "request 4711 under article 17")]
    reason: Reason,
}

const fn yes() -> bool {
    true
}

impl Input for EraseManyInput {}

impl EraseManyInput {
    fn selection(&self, now: Timestamp) -> Result<Selection, Refused> {
        let has_filter = self.tenant.is_some()
            || self.scope.is_some()
            || self.key.is_some()
            || self.older_than.is_some();
        if !self.all && !has_filter {
            let why = "expected a filter, or all: true; found neither";
            return Err(refuse_field("all", why));
        }
        let until = self.older_than.map_or(now, |when| when.at(now));
        Ok(Selection {
            state: StateFilter::Settled,
            tenant: self.tenant.clone(),
            scope: self.scope.clone(),
            key: self.key.clone(),
            method: None,
            until: until.min(now),
        })
    }

    fn decision(self, caller: &Caller) -> Result<Decision, Refused> {
        Ok(Decision {
            by: caller.actor(self.by)?,
            reason: Some(self.reason),
            resolution: Resolution::EraseContents,
        })
    }
}

/// Erases the contents of many settled and archived records, or says what that would be about. One call erases those of at
/// most 1000 and looks at no more than 10000; while `next` is not null, there is more. Running and unknown records keep what they
/// hold; `unsettled` counts them.
#[utoipa::path(post, path = "/api/v1/records/erase-many", tag = "records", operation_id = "erase_many", request_body = EraseManyInput,
    responses(
        (status = 200, description = "What was erased, or would be", body = view::Many),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn erase_many(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<EraseManyInput>,
) -> Result<Json<view::Many>, Refused> {
    let (input, now, store) = (input.value, app.now(), app.parts.store.clone());
    let (dry_run, before) = (input.dry_run, input.before.clone());
    let selection = input.selection(now)?;
    let until = selection.until;
    let decision = input.decision(&caller)?;
    let report = match dry_run {
        true => ask(records::erase(&store, &selection, None, before)).await?,
        false => {
            let erased =
                async move { records::erase(&store, &selection, Some(&decision), before).await };
            change(erased).await?
        }
    };
    Ok(Json(view::Many::of(
        &report,
        "erase",
        dry_run,
        (until, now),
    )))
}
