//! What operators want done with messages.

use semel_core::inbox::operate::SELECT_IDS_MAX;
use semel_core::inbox::{Action, Cause, Operation, Plan, Selection, State};
use semel_core::store::Actor;
use semel_core::{Key, Scope, Tenant, Timestamp};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::fields;
use crate::input::{CLAIM_BYTES_MAX, Input, refuse_field};
use crate::refused::Refused;
use crate::tokens::Caller;
use crate::when::When;

/// The most bytes of a reason.
pub(crate) const REASON_BYTES_MAX: usize = 1_024;

/// Which messages, and who decides. Name ids, or filters, or say `all`.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ActInput {
    /// Whose messages: NAME or NAME@VERSION; no version means 1.
    #[serde(deserialize_with = "fields::text")]
    #[schema(value_type = String, example = "mailer@1")]
    consumer: Scope,
    /// Only these ids, at most 1000.
    #[serde(default, deserialize_with = "fields::texts")]
    #[schema(value_type = Vec<String>, example = json!(["evt-17"]))]
    ids: Vec<Key>,
    /// Whether all messages are meant that the other filters leave; needed if there is neither an id nor a filter.
    #[serde(default)]
    all: bool,
    /// Only of this tenant.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    tenant: Option<Tenant>,
    /// Only in these states; if left out, all that the action is for.
    #[serde(default, deserialize_with = "fields::texts")]
    #[schema(value_type = Vec<String>)]
    states: Vec<State>,
    /// Only with this cause.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    cause: Option<Cause>,
    /// Only of this lane.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    lane: Option<Key>,
    /// For `retry`, `park` and `skip`: only the messages of this group of failures, as `/api/v1/inbox/failures` names it; at most 1000 of them in one call.
    #[serde(default)]
    pub(super) group: Option<String>,
    /// Only received at or after: RFC 3339, or how long ago, such as `2h`.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    from: Option<When>,
    /// Only received before: RFC 3339, or how long ago.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    until: Option<When>,
    /// Only what has stood as it does since this moment or longer: RFC 3339, or how long ago. What arrived or changed its state after it is left alone:
    /// the `unchanged_since` of a dry run does what that has shown. A dry run without it looks at the present moment.
    #[serde(default, deserialize_with = "fields::text_or_none")]
    #[schema(value_type = Option<String>)]
    unchanged_since: Option<When>,
    /// Who decides, for the audit. With a token this may be left out, and the token's name stands in front of it; without one `no-token:` does.
    #[serde(default, deserialize_with = "fields::actor_or_none")]
    #[schema(value_type = Option<String>, example = "ada")]
    by: Option<Actor>,
    /// Why, for the audit.
    reason: Option<String>,
    /// Whether only to say what would change.
    #[serde(default)]
    dry_run: bool,
    /// For `retry`: whether to give the provider a new key, with which it may do once more what it did before; needs a `reason`.
    #[serde(default)]
    new_key: bool,
    /// For `replay`: whether to do it although the consumer's policy does not allow it; needs a `reason`.
    #[serde(default)]
    force: bool,
}

impl Input for ActInput {
    const BYTES_MAX: usize = CLAIM_BYTES_MAX;
}

impl ActInput {
    pub(super) const fn consumer(&self) -> &Scope {
        &self.consumer
    }

    pub(super) const fn is_dry(&self) -> bool {
        self.dry_run
    }

    /// Whether the provider is to be given a new key. That may repeat an effect, so it needs a reason.
    pub(super) fn new_key(&self) -> Result<bool, Refused> {
        let reason = self.reason.as_deref().unwrap_or_default();
        match self.new_key && reason.trim().is_empty() {
            false => Ok(self.new_key),
            true => Err(refuse_field(
                "reason",
                "a new key may make the provider do it once more, which needs a reason; found none",
            )),
        }
    }

    /// What cannot be taken back needs a reason.
    pub(super) fn must_say_why(&self) -> Result<(), Refused> {
        match self.reason.as_deref().unwrap_or_default().trim() {
            "" => Err(refuse_field(
                "reason",
                "to erase contents needs a reason, found none",
            )),
            _ => Ok(()),
        }
    }

    /// The reason for overriding the consumer's policy, if that is wanted.
    pub(super) fn forced(&self) -> Option<&str> {
        self.force
            .then(|| self.reason.as_deref().unwrap_or_default())
    }

    pub(super) fn operation(
        self,
        caller: &Caller,
        plan: Plan,
        action: Action,
        verb: &'static str,
        now: Timestamp,
    ) -> Result<Operation, Refused> {
        self.check()?;
        self.check_group(action)?;
        if self.force && !matches!(action, Action::Replay { .. }) {
            return Err(refuse_field("force", "only a replay can be forced"));
        }
        if self.new_key && !matches!(action, Action::Retry { .. }) {
            return Err(refuse_field("new_key", "only a retry can have a new key"));
        }
        let unchanged_since = self.unchanged_since(now);
        Ok(Operation {
            plan,
            select: Selection {
                ids: self.ids,
                tenant: self.tenant.map(|tenant| tenant.to_string()),
                states: self.states,
                cause: self.cause,
                lane: self.lane,
                from: self.from.map(|when| when.at(now)),
                until: self.until.map(|when| when.at(now)),
                unchanged_since,
                group: None,
            },
            action,
            by: caller.actor(self.by)?,
            reason: self.reason.filter(|reason| !reason.trim().is_empty()),
            verb,
            dry_run: self.dry_run,
            edit: None,
        })
    }

    /// What a look shows is of a moment, so that it can be confirmed as it was.
    fn unchanged_since(&self, now: Timestamp) -> Option<Timestamp> {
        match self.unchanged_since {
            Some(when) => Some(when.at(now).min(now)),
            None => self.dry_run.then_some(now),
        }
    }

    fn check(&self) -> Result<(), Refused> {
        if self.ids.len() > SELECT_IDS_MAX {
            let why = format!("at most {SELECT_IDS_MAX} ids, found {}", self.ids.len());
            return Err(refuse_field("ids", &why));
        }
        check_reason(self.reason.as_deref())?;
        if self.ids.is_empty() && !self.all && !self.has_filter() {
            let why = "expected ids, a filter, or all: true; found none of them";
            return Err(refuse_field("ids", why));
        }
        Ok(())
    }

    /// A group says which messages are meant, and naming what waits for others would run it before them.
    fn check_group(&self, action: Action) -> Result<(), Refused> {
        let is_for_groups = matches!(action, Action::Retry { .. } | Action::Park | Action::Skip);
        match &self.group {
            Some(_) if !is_for_groups => {
                let why = "only a retry, a park or a skip is of a group of failures";
                Err(refuse_field("group", why))
            }
            Some(_) if !self.ids.is_empty() => {
                Err(refuse_field("group", "expected ids or a group, found both"))
            }
            _ => Ok(()),
        }
    }

    const fn has_filter(&self) -> bool {
        self.tenant.is_some()
            || !self.states.is_empty()
            || self.cause.is_some()
            || self.lane.is_some()
            || self.group.is_some()
            || self.from.is_some()
            || self.until.is_some()
    }
}

/// Refuses a reason that is too long, or that a terminal or a store could stumble over.
pub(super) fn check_reason(reason: Option<&str>) -> Result<(), Refused> {
    let reason = reason.unwrap_or_default();
    let is_text = |c: char| !c.is_control() || c == '\n' || c == '\t';
    if reason.len() > REASON_BYTES_MAX || !reason.chars().all(is_text) {
        let why = format!(
            "a reason has at most {REASON_BYTES_MAX} bytes, and no control characters but tabs and line ends"
        );
        return Err(refuse_field("reason", &why));
    }
    Ok(())
}
