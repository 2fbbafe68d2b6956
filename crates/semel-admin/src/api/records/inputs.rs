//! What operators ask and decide.

use std::time::Duration;

use semel_core::store::{
    Actor, Cursor, PAGE_MAX, Query, Reason, Resolution, ResolveRequest, StateFilter,
};
use semel_core::{Claim, Fence, Identity, Key, Outcome, Scope, Tenant};
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use crate::api::fields;
use crate::api::outcome::{self, VerdictInput};
use crate::input::{Input, OUTCOME_BYTES_MAX, refuse_field};
use crate::records::Method;
use crate::refused::Refused;
use crate::tokens::{Caller, Needs};
use crate::view::Payload;

/// Which records to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// Only records in this state: running, unknown, succeeded, failed, settled (either of the two) or archived.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    state: Option<StateFilter>,
    /// Only this tenant's.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    tenant: Option<Tenant>,
    /// Only this scope's: NAME or NAME@VERSION; no version means 1.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    scope: Option<Scope>,
    /// Only this key's, whatever the tenant and the scope. The store walks over its records, the newest first.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    key: Option<Key>,
    /// Only what was asked with this HTTP method.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    method: Option<Method>,
    /// Go on where the page before ended: its `next`.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    before: Option<Cursor>,
    /// At most this many: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl ListParams {
    pub(super) fn query(self) -> Result<Query, Refused> {
        let limit = self.limit.unwrap_or(100);
        if !(1..=PAGE_MAX).contains(&limit) {
            let why = format!("a page has 1 to {PAGE_MAX} records, found {limit}");
            return Err(refuse_field("limit", &why));
        }
        Ok(Query {
            state: self.state,
            tenant: self.tenant.map(|tenant| tenant.to_string()),
            scope: self.scope.map(|scope| scope.to_string()),
            before: self.before,
            key: self.key.map(|key| key.to_string()),
            method: self.method.map(|method| method.to_string()),
            limit,
        })
    }
}

/// Which record, and how much of it.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OneParams {
    /// On whose behalf.
    #[serde(deserialize_with = "fields::text")]
    #[param(value_type = String)]
    tenant: Tenant,
    /// Which operation.
    #[serde(deserialize_with = "fields::text")]
    #[param(value_type = String)]
    scope: Scope,
    /// Which instance of it.
    #[serde(deserialize_with = "fields::text")]
    #[param(value_type = String)]
    key: Key,
    /// Whether to show header values and bodies, which may be private.
    #[serde(default)]
    body: bool,
}

impl OneParams {
    pub(super) fn asked(self) -> (Identity, Payload) {
        let payload = match self.body {
            true => Payload::Base64,
            false => Payload::Hidden,
        };
        let identity = Identity::new(self.tenant, self.scope, self.key);
        (identity, payload)
    }
}

/// What is decided.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Decision {
    /// The unknown operation happened, with the outcome that is given.
    Settle,
    /// The unknown operation did not happen and will not: the next claim runs.
    Release,
    /// The settled record is to be forgotten before its retention ends.
    Erase,
    /// An earlier `settle` of the same record was wrong: duplicates get the outcome that is given, until the same
    /// retention ends.
    Correct,
}

/// Decides about a record.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolveInput {
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
    /// The claim that is decided about; a newer one is left alone.
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
    /// The decision.
    how: Decision,
    /// For `settle` and `correct`: whether the run did what was asked.
    verdict: Option<VerdictInput>,
    /// For `settle` and `correct`: the HTTP status that duplicates get; 200 or 500, by the verdict, if left out.
    #[serde(default, deserialize_with = "fields::status_or_none")]
    status: Option<u16>,
    /// For `settle` and `correct`: header fields in their order, each as a pair of name and value.
    #[serde(default)]
    #[schema(value_type = Vec<Vec<String>>)]
    headers: Vec<(String, String)>,
    /// For `settle` and `correct`: the result as text.
    body: Option<String>,
    /// For `settle` and `correct`: the result in base64, if it is not text.
    body_base64: Option<String>,
    /// For `settle`: how long the outcome is kept; 24 h if left out.
    #[serde(default, deserialize_with = "fields::duration_or_none")]
    #[schema(value_type = Option<String>, example = "24h")]
    retention: Option<Duration>,
    /// For `settle`: whether the record is archived then, rather than deleted.
    #[serde(default)]
    archive: bool,
}

impl Input for ResolveInput {
    const BYTES_MAX: usize = OUTCOME_BYTES_MAX;
}

impl ResolveInput {
    /// Where the operation stands once this is done.
    pub(super) const fn leads_to(&self) -> &'static str {
        match self.how {
            Decision::Settle | Decision::Correct => "settled",
            Decision::Release | Decision::Erase => "absent",
        }
    }

    /// What its caller must be allowed: to forget is more than to decide.
    pub(super) const fn needs(&self) -> Needs {
        match self.how {
            Decision::Settle | Decision::Release | Decision::Correct => Needs::Operate,
            Decision::Erase => Needs::Admin,
        }
    }

    pub(super) fn request(self, caller: &Caller) -> Result<ResolveRequest, Refused> {
        let claim = Claim {
            identity: Identity::new(self.tenant.clone(), self.scope.clone(), self.key.clone()),
            fence: self.fence,
        };
        Ok(ResolveRequest {
            claim,
            by: caller.actor(self.by.clone())?,
            reason: self.reason.clone(),
            resolution: self.resolution()?,
        })
    }

    fn resolution(self) -> Result<Resolution, Refused> {
        match self.how {
            Decision::Settle => self.settle(),
            // An outcome that would be dropped silently is a mistake of whoever sends it.
            Decision::Release | Decision::Erase if self.has_outcome() => Err(refuse_field(
                "how",
                "only settle and correct take an outcome",
            )),
            Decision::Correct if self.retention.is_some() || self.archive => Err(refuse_field(
                "retention",
                "a corrected outcome is kept as long as the one before; found another retention",
            )),
            Decision::Correct => Ok(Resolution::Correct {
                outcome: self.outcome()?,
            }),
            Decision::Release => Ok(Resolution::Release),
            Decision::Erase => Ok(Resolution::Erase),
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
        let (keep, archive) = (self.retention, self.archive);
        Ok(Resolution::Settle {
            outcome: self.outcome()?,
            retention: outcome::retention(keep, archive)?,
        })
    }

    fn outcome(self) -> Result<Outcome, Refused> {
        let parts = outcome::Parts {
            verdict: outcome::needed(self.verdict)?,
            status: self.status,
            headers: self.headers,
            body: self.body,
            body_base64: self.body_base64,
        };
        parts.outcome()
    }
}
