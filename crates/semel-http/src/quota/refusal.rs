//! What callers over a limit are answered.

use std::time::Duration;

use http::{HeaderName, HeaderValue};

use super::{Limit, Rate};
use crate::problem::{Problem, Type};

/// What is left and when there is more, as the IETF draft on rate limit headers says it.
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
/// The limit that was met.
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// A limit that has nothing left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exceeded {
    /// Which limit.
    pub limit: Limit,
    /// How it is set.
    pub rate: Rate,
    /// How long until there is enough.
    pub wait: Duration,
}

impl Exceeded {
    /// The answer: 429, nothing ran, and when to come back.
    pub(super) fn problem(self) -> Problem {
        let (kind, what) = match self.limit {
            Limit::Requests => (Type::RateLimited, "requests than its limit allows"),
            Limit::NewKeys => (
                Type::RateLimited,
                "new keys than its limit allows; keys that are on record still work",
            ),
            Limit::StoredBytes => (
                Type::QuotaExceeded,
                "stored bytes than its quota allows; keys that are on record still work",
            ),
        };
        let detail = format!("this tenant brings more {what}, nothing ran and nothing was stored");
        let wait = self.wait.as_millis().div_ceil(1_000).max(1);
        let Rate { burst, per, .. } = self.rate;
        let name = self.limit.name();
        let policy = format!("\"{name}\";q={burst};w={}", per.as_secs().max(1));
        Problem::new(kind, detail)
            .with("limit", name)
            .retry_after(self.wait)
            .header(RATE_LIMIT_POLICY, text(policy))
            .header(RATE_LIMIT, text(format!("\"{name}\";r=0;t={wait}")))
    }
}

fn text(value: String) -> HeaderValue {
    HeaderValue::try_from(value).expect("numbers and plain names are valid in a header")
}
