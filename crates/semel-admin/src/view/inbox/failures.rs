//! Failures in groups.

use semel_core::inbox::Cause;
use serde::Serialize;
use utoipa::ToSchema;

use crate::messages;

/// How many messages of a group are named.
const MEMBERS_MAX: usize = 10;

/// Failed and parked messages in groups.
#[derive(Debug, Serialize, ToSchema)]
pub struct Failures {
    /// How many messages were looked at, the newest ones.
    looked_at: u64,
    /// Whether there are more, older ones, which no group counts.
    more: bool,
    /// Those older ones were received before this moment; null if there are none.
    unseen_before: Option<String>,
    /// The groups, the largest first, at most 500.
    groups: Vec<Group>,
}

/// Messages that failed in the same way.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FailureGroup)]
pub struct Group {
    /// What names the group in acts.
    group: String,
    /// Whose messages, as `name@version`.
    consumer: String,
    /// Why.
    cause: Option<&'static str>,
    /// The error, with `#` for numbers and ids, and `"…"` for what is quoted.
    error: String,
    /// The error of the newest of them, as it is.
    example: Option<String>,
    /// How many there are.
    count: u64,
    /// How many of them will be tried again by themselves.
    retrying: u64,
    /// When the state of the first of them changed.
    first_at: String,
    /// When the state of the last of them changed.
    last_at: String,
    /// The newest of them, at most 10.
    newest: Vec<Member>,
}

/// A message of a group.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = FailureMember)]
pub struct Member {
    /// On whose behalf.
    tenant: String,
    /// Its id.
    id: String,
}

impl Failures {
    /// The failures as they were found.
    pub fn of(found: &messages::Failures) -> Self {
        Self {
            looked_at: found.looked_at,
            more: found.unseen_before.is_some(),
            unseen_before: found.unseen_before.map(|at| at.to_string()),
            groups: found.groups.iter().map(Group::of).collect(),
        }
    }
}

impl Group {
    fn of(group: &messages::Group) -> Self {
        let newest = group
            .members
            .iter()
            .take(MEMBERS_MAX)
            .map(|identity| Member {
                tenant: identity.tenant().to_string(),
                id: identity.key().to_string(),
            });
        Self {
            group: group.id.clone(),
            consumer: group.consumer.to_string(),
            cause: group.cause.map(Cause::name),
            error: group.error.clone(),
            example: group.example.clone(),
            count: group.count,
            retrying: group.retrying,
            first_at: group.first.to_string(),
            last_at: group.last.to_string(),
            newest: newest.collect(),
        }
    }
}
