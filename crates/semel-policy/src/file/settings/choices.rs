//! Settings that are one of a few words.

use schemars::JsonSchema;
use serde::Deserialize;

use super::forms::ReconcileAt;

/// Whether the guard acts or only watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Duplicates are replayed, mistakes are refused.
    Enforce,
    /// Everything passes; what would have been done is reported.
    Observe,
}

/// How much of a request stands in its record, for people who look for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Describe {
    /// Method and path, without the query; and why a call failed.
    Path,
    /// The method only, where paths name people; and why a call failed.
    Method,
    /// Nothing but the status of an answer.
    Off,
}

impl From<Describe> for semel_http::rules::Describe {
    fn from(describe: Describe) -> Self {
        match describe {
            Describe::Path => Self::Path,
            Describe::Method => Self::Method,
            Describe::Off => Self::Off,
        }
    }
}

/// How much of an outcome is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Contents {
    /// Status, headers and body.
    Full,
    /// Status and headers; of the body length and digest.
    Head,
    /// The status; of the body length and digest.
    Status,
}

impl From<Contents> for semel_http::stored::Contents {
    fn from(contents: Contents) -> Self {
        match contents {
            Contents::Full => Self::Full,
            Contents::Head => Self::Head,
            Contents::Status => Self::Status,
        }
    }
}

/// What a request without a key gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// 400; nothing runs.
    Require,
    /// It passes unguarded.
    Pass,
    /// A key is derived from what it asks for: the same content is the same operation.
    Derive,
}

/// Who decides when nobody knows whether it happened.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Unknown {
    /// A person; callers get 409 until then.
    Hold,
    /// Nobody needs to: the service's effect is idempotent by itself.
    Rerun,
    /// The service is asked at this URL, with {key} and {fence} filled in.
    Reconcile(ReconcileAt),
}
