//! Decisions about many records at once, by what they have in common.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use semel_core::store::{Actor, Cursor, Reason, Resolution, StateFilter};
use semel_core::{Key, Scope, Tenant, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::fields;
use crate::api::outcome::{self, VerdictInput};
use crate::api::problem::Problem;
use crate::input::{self, Input, refuse_field};
use crate::records::{self, Decision, Method, Selection};
use crate::refused::{Refused, ask, change};
use crate::router::Shared;
use crate::tokens::Caller;
use crate::view;
use crate::when::When;

/// What is decided about each of many.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ManyDecision {
    /// They happened, with the outcome that is given.
    Settle,
    /// They did not happen and will not: the next claims run.
    Release,
}

/// Which unknown records, and what is decided about each. Name filters, or say `all`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolveManyInput {
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
    /// Only what has been unknown for so long, such as `2h`, or since a moment (RFC 3339): the `until` of a dry run decides
    /// what that has shown.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    older_than: Option<When>,
    /// Whether only to say what would be decided. It is so unless this says otherwise.
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
    #[schema(value_type = String, example = "INC-7: the bank did none of them")]
    reason: Reason,
    /// The decision.
    how: ManyDecision,
    /// For `settle`: whether the runs did what was asked.
    verdict: Option<VerdictInput>,
    /// For `settle`: the HTTP status that duplicates get; 200 or 500, by the verdict, if left out.
    #[serde(default, deserialize_with = "fields::status_or_none")]
    status: Option<u16>,
    /// For `settle`: header fields in their order, each as a pair of name and value.
    #[serde(default)]
    #[schema(value_type = Vec<Vec<String>>)]
    headers: Vec<(String, String)>,
    /// For `settle`: the result as text.
    body: Option<String>,
    /// For `settle`: the result in base64, if it is not text.
    body_base64: Option<String>,
    /// For `settle`: how long the outcomes are kept; 24 h if left out.
    #[serde(default, deserialize_with = "fields::duration_or_none")]
    #[schema(value_type = Option<String>, example = "24h")]
    retention: Option<Duration>,
    /// For `settle`: whether the records are archived then, rather than deleted.
    #[serde(default)]
    archive: bool,
}

const fn yes() -> bool {
    true
}

impl Input for ResolveManyInput {}

impl ResolveManyInput {
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

    fn decision(self, caller: &Caller) -> Result<Decision, Refused> {
        let (by, reason) = (caller.actor(self.by.clone())?, Some(self.reason.clone()));
        Ok(Decision {
            by,
            reason,
            resolution: self.resolution()?,
        })
    }

    fn resolution(self) -> Result<Resolution, Refused> {
        match self.how {
            ManyDecision::Release if self.has_outcome() => {
                Err(refuse_field("how", "only settle takes an outcome"))
            }
            ManyDecision::Release => Ok(Resolution::Release),
            ManyDecision::Settle => self.settle(),
        }
    }

    fn has_outcome(&self) -> bool {
        self.verdict.is_some()
            || self.status.is_some()
            || !self.headers.is_empty()
            || self.body.is_some()
            || self.body_base64.is_some()
    }

    fn settle(self) -> Result<Resolution, Refused> {
        let parts = outcome::Parts {
            verdict: outcome::needed(self.verdict)?,
            status: self.status,
            headers: self.headers,
            body: self.body,
            body_base64: self.body_base64,
        };
        Ok(Resolution::Settle {
            outcome: parts.outcome()?,
            retention: outcome::retention(self.retention, self.archive)?,
        })
    }
}

/// Decides about many unknown records by what they have in common, or says what that would be about. One call decides about
/// at most 1000 and looks at no more than 10000; while `next` is not null, there is more.
#[utoipa::path(post, path = "/api/v1/records/resolve-many", tag = "records", operation_id = "resolve_many", request_body = ResolveManyInput,
    responses(
        (status = 200, description = "What was decided, or would be", body = view::Many),
        (status = 400, description = "`invalid-input`", body = Problem),
        (status = 503, description = "`store-unavailable`", body = Problem),
    ))]
pub(crate) async fn resolve_many(
    State(app): State<Shared>,
    caller: Caller,
    input: input::Json<ResolveManyInput>,
) -> Result<Json<view::Many>, Refused> {
    let (input, now, store) = (input.value, app.now(), app.parts.store.clone());
    let (dry_run, before) = (input.dry_run, input.before.clone());
    let action = match input.how {
        ManyDecision::Settle => "resolve",
        ManyDecision::Release => "release",
    };
    let selection = input.selection(now)?;
    let until = selection.until;
    let decision = input.decision(&caller)?;
    let report = match dry_run {
        true => ask(records::look(&store, &selection, before)).await?,
        false => {
            let decided =
                async move { records::decide(&store, &selection, &decision, before).await };
            change(decided).await?
        }
    };
    Ok(Json(view::Many::of(&report, action, dry_run, (until, now))))
}
