//! What doors in observe mode have seen.

use semel_core::Timestamp;
use semel_http::observe::{Client, Finding, Seen};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What doors in observe mode have seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Observed {
    /// Since when it is counted: the start of the process.
    pub since: String,
    /// What was seen, by route and client.
    pub routes: Vec<ObservedRoute>,
}

/// What was seen of one client on one route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ObservedRoute {
    /// The route's scope, as `name@version`.
    pub scope: String,
    /// The client; null if it cannot be told, or if these are the others.
    pub tenant: Option<String>,
    /// Whether these are the clients that are too many to be counted apart.
    pub others: bool,
    /// All requests.
    pub requests: u64,
    /// The first with their keys: they would have run.
    pub first: u64,
    /// Duplicates of requests that had ended: they would have been replayed.
    pub duplicate: u64,
    /// Duplicates of requests that were still running: they would have waited or been refused.
    pub concurrent: u64,
    /// Other requests with keys that were used before: they would have been refused.
    pub mismatch: u64,
    /// Requests that had come moments before with another key: no guard could have helped.
    pub suspicious_key: u64,
    /// Without a key.
    pub key_missing: u64,
    /// With a key that would have been refused.
    pub key_invalid: u64,
    /// Without a caller that can be told.
    pub tenant_missing: u64,
    /// With a body above the limits of size or time.
    pub body_too_large: u64,
    /// Not looked at: the store was away, or too many were under way.
    pub unobserved: u64,
    /// Keys to look for.
    pub latest: LatestKeys,
}

/// The keys of the latest requests of some kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LatestKeys {
    /// Of the latest mismatch.
    pub mismatch: Option<String>,
    /// Of the latest request that had come moments before with another key.
    pub suspicious_key: Option<String>,
}

impl Observed {
    /// The rows of a report that counts since this instant.
    pub fn of(
        since: Timestamp,
        rows: impl IntoIterator<Item = (semel_core::Scope, Client, Seen)>,
    ) -> Self {
        let rows = rows.into_iter();
        Self {
            since: since.to_string(),
            routes: rows
                .map(|(scope, client, seen)| ObservedRoute::of(&scope, &client, &seen))
                .collect(),
        }
    }
}

impl ObservedRoute {
    fn of(scope: &semel_core::Scope, client: &Client, seen: &Seen) -> Self {
        let count = |finding| seen.tally.count(finding);
        let tenant = match client {
            Client::Known(tenant) => Some(tenant.to_string()),
            _ => None,
        };
        Self {
            scope: scope.to_string(),
            tenant,
            others: *client == Client::Others,
            requests: seen.tally.requests(),
            first: count(Finding::First),
            duplicate: count(Finding::Duplicate),
            concurrent: count(Finding::Concurrent),
            mismatch: count(Finding::Mismatch),
            suspicious_key: count(Finding::SuspiciousKey),
            key_missing: count(Finding::KeyMissing),
            key_invalid: count(Finding::KeyInvalid),
            tenant_missing: count(Finding::TenantMissing),
            body_too_large: count(Finding::BodyTooLarge),
            unobserved: count(Finding::Unobserved),
            latest: LatestKeys {
                mismatch: seen.mismatch.as_ref().map(ToString::to_string),
                suspicious_key: seen.suspicious.as_ref().map(ToString::to_string),
            },
        }
    }
}
