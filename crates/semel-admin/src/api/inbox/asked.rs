//! What operators ask about messages.

use semel_core::inbox::{Cause, Query, State};
use semel_core::store::PAGE_MAX;
use semel_core::{Identity, Key, Scope, Tenant, Timestamp};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::api::fields::{self, NUMBER_MAX};
use crate::input::refuse_field;
use crate::refused::Refused;
use crate::view::Payload;
use crate::when::When;

/// Which messages to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListParams {
    /// Only this consumer's: NAME or NAME@VERSION; no version means 1.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    consumer: Option<Scope>,
    /// Only in these states, separated by commas, such as `FAILED_TERMINAL,PARKED`.
    #[serde(default, deserialize_with = "fields::list")]
    #[param(value_type = Option<String>)]
    state: Vec<State>,
    /// Only with this cause, such as `attempts-exhausted`.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    cause: Option<Cause>,
    /// Only of this lane.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    lane: Option<Key>,
    /// Only of this tenant.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    tenant: Option<Tenant>,
    /// Only received at or after: RFC 3339, or how long ago, such as `2h`.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    from: Option<When>,
    /// Only received before: RFC 3339, or how long ago.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    until: Option<When>,
    /// Only those received before this one: the `next` of the page before.
    before: Option<u64>,
    /// At most this many: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl ListParams {
    pub(super) fn query(self, now: Timestamp) -> Result<Query, Refused> {
        if self.before.is_some_and(|before| before > NUMBER_MAX) {
            let why = format!("expected a whole number from 0 to {NUMBER_MAX}");
            return Err(refuse_field("before", &why));
        }
        Ok(Query {
            limit: limit(self.limit, "messages")?,
            states: self.state,
            consumer: self.consumer,
            id: None,
            lane: self.lane,
            cause: self.cause,
            tenant: self.tenant,
            from: self.from.map(|when| when.at(now)),
            until: self.until.map(|when| when.at(now)),
            before: self.before,
        })
    }
}

fn limit(asked: Option<usize>, what: &str) -> Result<usize, Refused> {
    match asked.unwrap_or(100) {
        limit if (1..=PAGE_MAX).contains(&limit) => Ok(limit),
        limit => {
            let why = format!("a page has 1 to {PAGE_MAX} {what}, found {limit}");
            Err(refuse_field("limit", &why))
        }
    }
}

/// Which message, and how much of it.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct OneParams {
    /// Whose message: NAME or NAME@VERSION; no version means 1.
    #[serde(deserialize_with = "fields::text")]
    #[param(value_type = String)]
    consumer: Scope,
    /// The id that its producer gave it.
    #[serde(deserialize_with = "fields::text")]
    #[param(value_type = String)]
    id: Key,
    /// On whose behalf; `public` if left out.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[param(value_type = Option<String>)]
    tenant: Option<Tenant>,
    /// Whether to show the payload, header values, and results, which may be private.
    #[serde(default)]
    payload: bool,
    /// Whether to show what its handler answered to attempts that failed, which may hold personal data.
    #[serde(default)]
    answers: bool,
}

impl OneParams {
    pub(super) fn asked(self) -> (Identity, Payload, Payload) {
        let shown = |wanted| match wanted {
            true => Payload::Base64,
            false => Payload::Hidden,
        };
        let (payload, answers) = (shown(self.payload), shown(self.answers));
        let tenant = self.tenant.unwrap_or_else(Tenant::public);
        let identity = Identity::new(tenant, self.consumer, self.id);
        (identity, payload, answers)
    }
}

/// Whose gaps.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct GapsParams {
    /// The consumer: NAME or NAME@VERSION; no version means 1.
    #[serde(deserialize_with = "fields::text")]
    #[param(value_type = String)]
    consumer: Scope,
    /// At most this many lanes: 1 to 1000, 100 if left out.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

impl GapsParams {
    pub(super) fn asked(self) -> Result<(Scope, usize), Refused> {
        Ok((self.consumer, limit(self.limit, "lanes")?))
    }
}
