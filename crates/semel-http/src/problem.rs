//! Refusals as `application/problem+json` (RFC 9457).

use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::body::Body;

/// The media type of problems.
pub const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

macro_rules! types {
    ($($variant:ident, $name:literal, $status:expr, $title:literal, $about:literal;)+) => {
        /// What is wrong, by name. The URN `urn:semel:problem:<name>` never changes its meaning.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Type {
            $(#[doc = $about] $variant,)+
        }

        impl Type {
            /// Every type.
            pub const ALL: &[Self] = &[$(Self::$variant,)+];

            /// The name in the URN.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// The status unless a profile or a route says otherwise.
            pub const fn status(self) -> StatusCode {
                match self { $(Self::$variant => $status,)+ }
            }

            /// A short text that is the same for every problem of this type.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }
        }
    };
}

types! {
    KeyMissing, "key-missing", StatusCode::BAD_REQUEST, "The idempotency key is missing",
        "The route requires a key and the request has none.";
    KeyInvalid, "key-invalid", StatusCode::BAD_REQUEST, "The idempotency key is not valid",
        "The key is malformed, repeated or too long.";
    KeyReused, "key-reused", StatusCode::UNPROCESSABLE_ENTITY, "The idempotency key was used for another request",
        "The same key came with another request.";
    InProgress, "in-progress", StatusCode::CONFLICT, "The first request with this key is still running",
        "The first request with the key has no outcome yet.";
    OutcomeUnknown, "outcome-unknown", StatusCode::CONFLICT, "Nobody knows whether this operation happened",
        "The outcome of an earlier attempt cannot be known.";
    TenantMissing, "tenant-missing", StatusCode::UNAUTHORIZED, "The caller cannot be told",
        "The request cannot be tied to a tenant.";
    KeysUnavailable, "keys-unavailable", StatusCode::SERVICE_UNAVAILABLE, "The keys that tokens are checked with cannot be loaded",
        "The issuer's key set was never loaded, so no token can be checked; nothing ran.";
    StoreUnavailable, "store-unavailable", StatusCode::SERVICE_UNAVAILABLE, "The record of operations cannot be reached",
        "The store cannot answer; nothing ran.";
    UpstreamUnreachable, "upstream-unreachable", StatusCode::BAD_GATEWAY, "The service cannot be reached",
        "The service was not reached; nothing happened.";
    UpstreamFailed, "upstream-failed", StatusCode::BAD_GATEWAY, "The service broke off",
        "The service failed after it may have begun.";
    UpstreamTimeout, "upstream-timeout", StatusCode::GATEWAY_TIMEOUT, "The service did not answer in time",
        "The service did not answer in time; it may have done what was asked.";
    BodyTooLarge, "body-too-large", StatusCode::PAYLOAD_TOO_LARGE, "The request body is too large",
        "The request body is above the route's limit.";
    BodyTimeout, "body-timeout", StatusCode::REQUEST_TIMEOUT, "The request body did not arrive in time",
        "The request body stopped arriving.";
    BodyBroken, "body-broken", StatusCode::BAD_REQUEST, "The request body broke off",
        "The request body could not be read to its end.";
    BodyNotKept, "body-not-kept", StatusCode::OK, "The operation was done before, but its response body was not kept",
        "A replay of a response whose body was above the cap or not to be kept.";
    BadRequest, "bad-request", StatusCode::BAD_REQUEST, "The request cannot be forwarded safely",
        "The request is ambiguous or malformed.";
    Overloaded, "overloaded", StatusCode::SERVICE_UNAVAILABLE, "Too many requests are in flight",
        "A stated limit of the door was reached; nothing ran.";
    LeaseLost, "lease-lost", StatusCode::CONFLICT, "The lease of this claim is lost",
        "A renewal, release or mark came under a claim that is no longer live; nothing changed.";
    LateOutcome, "late-outcome", StatusCode::CONFLICT, "The outcome came after the lease was lost",
        "An outcome came under a claim that is no longer live: kept for the audit, never served.";
    DecisionRefused, "decision-refused", StatusCode::CONFLICT, "The record cannot be decided in this way",
        "A resolution does not fit the record's state, or the record has a newer claim.";
    InvalidInput, "invalid-input", StatusCode::BAD_REQUEST, "The request is not what the API takes",
        "A field or a parameter of an API call is missing, unknown or out of its range.";
    NotFound, "not-found", StatusCode::NOT_FOUND, "There is no such thing",
        "No record, or no address, of this name.";
    MethodNotAllowed, "method-not-allowed", StatusCode::METHOD_NOT_ALLOWED, "The address does not take this method",
        "The API has the address, but not with this method.";
    MediaType, "media-type", StatusCode::UNSUPPORTED_MEDIA_TYPE, "The body must be application/json",
        "A call that may change something came without the content type of JSON.";
    Unauthorized, "unauthorized", StatusCode::UNAUTHORIZED, "The admin token is missing or wrong",
        "The admin side has a token and the request did not show it.";
    HostRefused, "host-refused", StatusCode::FORBIDDEN, "The admin side does not answer to this name",
        "Without a token, only addresses and localhost are accepted in the Host header.";
    Internal, "internal", StatusCode::INTERNAL_SERVER_ERROR, "A mistake of Semel itself",
        "An invariant of Semel does not hold: a bug.";
}

/// One problem, ready to be sent.
#[derive(Debug, Clone)]
pub struct Problem {
    kind: Type,
    status: StatusCode,
    detail: String,
    retry_after: Option<Duration>,
    members: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    /// A problem with a sentence about this occurrence. It must hold neither secrets nor payloads.
    pub fn new(kind: Type, detail: impl Into<String>) -> Self {
        Self {
            kind,
            status: kind.status(),
            detail: detail.into(),
            retry_after: None,
            members: Map::new(),
            headers: Vec::new(),
        }
    }

    /// With another status.
    #[must_use]
    pub const fn status(mut self, status: StatusCode) -> Self {
        self.status = status;
        self
    }

    /// With the advice to come back later, in whole seconds rounded up.
    #[must_use]
    pub const fn retry_after(mut self, wait: Duration) -> Self {
        self.retry_after = Some(wait);
        self
    }

    /// With one more member.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.members.insert(name.to_owned(), value.into());
        self
    }

    /// With one more header.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// What is wrong.
    pub const fn kind(&self) -> Type {
        self.kind
    }

    /// What is wrong this time.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// The JSON document.
    pub fn document(&self) -> impl Serialize {
        Document {
            kind: format!("urn:semel:problem:{}", self.kind.name()),
            title: self.kind.title(),
            status: self.status.as_u16(),
            detail: &self.detail,
            members: &self.members,
        }
    }

    /// The response.
    pub fn into_response(self) -> Response<Body> {
        let document = serde_json::to_vec(&self.document());
        let document = Bytes::from(document.expect("text and numbers are valid JSON"));
        let mut response = Response::new(Body::from(document));
        *response.status_mut() = self.status;
        response.headers_mut().extend(self.headers);
        response.headers_mut().insert(CONTENT_TYPE, MEDIA_TYPE);
        if let Some(wait) = self.retry_after {
            let seconds = wait.as_millis().div_ceil(1_000).max(1);
            let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// The members in the order in which people read them.
#[derive(Serialize)]
struct Document<'a> {
    #[serde(rename = "type")]
    kind: String,
    title: &'static str,
    status: u16,
    detail: &'a str,
    #[serde(flatten)]
    members: &'a Map<String, Value>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use std::collections::HashSet;

    #[test]
    fn names_are_unique_and_url_safe() {
        let names: HashSet<_> = Type::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), Type::ALL.len());
        let safe = |name: &&str| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-');
        assert!(names.iter().all(safe));
    }

    #[test]
    fn a_problem_says_what_is_wrong_and_when_to_come_back() {
        let problem = Problem::new(Type::InProgress, "it runs")
            .retry_after(Duration::from_millis(1_200))
            .with("fence", 7);
        assert_eq!(
            serde_json::to_value(problem.document()).unwrap(),
            json!({
                "type": "urn:semel:problem:in-progress",
                "title": "The first request with this key is still running",
                "status": 409,
                "detail": "it runs",
                "fence": 7,
            })
        );
        let response = problem.into_response();
        assert_eq!(response.status(), StatusCode::CONFLICT);
        assert_eq!(response.headers()[RETRY_AFTER], "2");
        assert_eq!(response.headers()[CONTENT_TYPE], "application/problem+json");
    }
}
