//! The idempotency policy of a server as its callers may read it.
//!
//! The IETF draft asks a server to publish where the key goes, how long it is remembered and what a repeated request
//! gets. Gateways serve this document, `semel policy` prints it, and the OpenAPI overlay is made of it. It names no
//! upstream, no store and no tenant: of callers it says only how they are told apart.

mod describe;
mod text;

pub use describe::{Stated, written};

use http::{HeaderName, Method};
use serde::Serialize;

/// Where the document is, unless the configuration of a gateway names another place.
pub const PAGE: &str = "/.well-known/idempotency-policy";

/// The policy of all routes.
#[derive(Debug, Clone, Serialize)]
pub struct Policy {
    /// The version of this format.
    pub version: u32,
    /// The header that says that an answer comes from the record.
    pub replay_header: String,
    /// Route by route; requests that none of them matches are not guarded.
    pub routes: Vec<RoutePolicy>,
}

/// The policy of one route.
#[derive(Debug, Clone, Serialize)]
pub struct RoutePolicy {
    /// The methods it is for.
    pub methods: Vec<String>,
    /// The hosts it is for; none means any.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// The pattern of its paths.
    pub path: String,
    /// What its requests get.
    #[serde(flatten)]
    pub terms: Terms,
}

/// What the requests of a route get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Terms {
    /// Whether duplicates are answered from the record (`enforce`) or only reported (`observe`).
    pub mode: &'static str,
    /// Whose conventions hold.
    pub profile: &'static str,
    /// Which messages are guarded, where requests are messages of the Model Context Protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mcp: Option<Messages>,
    /// Where the key is, and how it looks.
    pub key: Key,
    /// How callers are told apart; the keys of one are nothing to another.
    pub caller: Caller,
    /// What two requests with one key must have in common.
    pub compared: Compared,
    /// How long the key is remembered.
    pub expiry: Expiry,
    /// Which answers duplicates get too.
    pub responses: Responses,
    /// What a duplicate gets while the first request runs.
    pub in_progress: InProgress,
    /// What happens when it is not known whether a request took effect.
    pub unknown: Unknown,
    /// The largest request body, in bytes.
    pub request_bytes_max: usize,
    /// How refusals look.
    pub problems: Vec<ProblemKind>,
}

/// Where the key is, and how it looks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Key {
    /// Whether a request without one is refused.
    pub required: bool,
    /// What a request without one gets: `refused`, `unguarded`, or `derived` (a key from its content).
    pub missing: &'static str,
    /// The places that are looked at, in order.
    pub places: Vec<Place>,
    /// The shortest key, in bytes.
    pub bytes_min: usize,
    /// The longest key, in bytes.
    pub bytes_max: usize,
    /// What it may consist of.
    pub characters: &'static str,
}

/// One place where a key may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Place {
    /// `header`, `query`, `body`, `template` or `derived`.
    #[serde(rename = "in")]
    pub at: &'static str,
    /// The name of the header or parameter, the path into the body, the fields of the template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
}

/// How callers are told apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Caller {
    /// `authorization`, `header`, `api_key`, `bearer`, `jwt`, or `none`: all callers share their keys.
    pub by: &'static str,
    /// The header that tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<String>,
}

/// What two requests with one key must have in common.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Compared {
    /// Of the body: `canonical_json`, `raw`, `fields`, `exclude`, or `nothing`, also of the rest.
    pub body: &'static str,
    /// The fields that count, or do not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// What of the head counts besides the content type.
    pub head: Vec<String>,
}

/// How long a key is remembered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Expiry {
    /// So long, counted from the end of the first request.
    pub seconds: u64,
    /// Whether answers say in `Idempotency-Expires` until when.
    pub announced: bool,
}

/// Which answers duplicates get too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Responses {
    /// Answers with these statuses are final.
    pub replayed: Vec<String>,
    /// After these the same key may be used again, and the request runs again.
    pub released: Vec<String>,
    /// The same, if the answer has `Retry-After`.
    pub released_with_retry_after: Vec<String>,
    /// What all others, and no answer, leave: `unknown`.
    pub otherwise: &'static str,
}

/// What a duplicate gets while the first request runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct InProgress {
    /// How long it waits for the first one's answer, in milliseconds.
    pub wait_ms: u64,
    /// The status it gets then.
    pub status: u16,
}

/// What happens when it is not known whether a request took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Unknown {
    /// `hold` (a person decides), `rerun`, or `reconcile` (the service is asked).
    pub then: &'static str,
    /// The status a duplicate gets until it is decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
}

/// A refusal that a caller may get.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ProblemKind {
    /// Its status.
    pub status: u16,
    /// Its type (RFC 9457).
    #[serde(rename = "type")]
    pub kind: String,
    /// What is wrong, in short.
    pub title: &'static str,
    /// The page about it.
    pub page: String,
}

/// Which messages of the Model Context Protocol are guarded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Messages {
    /// The method of those that are.
    pub method: &'static str,
    /// Only calls of these tools are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<String>,
    /// Calls of these tools are not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub except: Vec<String>,
    /// What a result with `isError` is: `replayed` or `released`.
    pub tool_errors: &'static str,
}

impl Policy {
    /// The policy that routes make.
    pub fn of<'a>(routes: impl IntoIterator<Item = Stated<'a>>) -> Self {
        Self {
            version: 1,
            replay_header: written(&crate::replay::REPLAYED),
            routes: routes.into_iter().map(Stated::policy).collect(),
        }
    }

    /// The document, as it is published.
    pub fn json(&self) -> Vec<u8> {
        serde_json::to_vec_pretty(self).expect("texts and numbers are valid JSON")
    }
}

impl RoutePolicy {
    fn new(methods: &[Method], hosts: Vec<String>, path: &str, terms: Terms) -> Self {
        let methods = methods.iter().map(|method| method.as_str().to_owned());
        Self {
            methods: methods.collect(),
            hosts,
            path: path.to_owned(),
            terms,
        }
    }
}

fn names(headers: &[HeaderName]) -> impl Iterator<Item = String> {
    headers.iter().map(written)
}

#[cfg(test)]
mod tests;
