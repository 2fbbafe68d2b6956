//! Refusals of webhooks as `application/problem+json` (RFC 9457).

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value, json};

/// What is wrong, by name. The URN `urn:semel:problem:NAME` never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    IdMissing,
    SequenceMissing,
    Invalid,
    SignatureInvalid,
    ConsumerUnknown,
    Conflict,
    BodyTooLarge,
    BodyTimeout,
    BodyBroken,
    Failed,
    StoreUnavailable,
}

impl Problem {
    const fn parts(self) -> (&'static str, StatusCode, &'static str) {
        match self {
            Self::IdMissing => (
                "message-id-missing",
                StatusCode::BAD_REQUEST,
                "The message has no id",
            ),
            Self::SequenceMissing => (
                "message-sequence-missing",
                StatusCode::BAD_REQUEST,
                "The message has no key or no sequence",
            ),
            Self::Invalid => (
                "message-invalid",
                StatusCode::BAD_REQUEST,
                "The message is not valid",
            ),
            Self::SignatureInvalid => (
                "signature-invalid",
                StatusCode::UNAUTHORIZED,
                "The signature is missing, wrong or too old",
            ),
            Self::ConsumerUnknown => (
                "consumer-unknown",
                StatusCode::NOT_FOUND,
                "There is no such consumer",
            ),
            Self::Conflict => (
                "message-conflict",
                StatusCode::CONFLICT,
                "The id is known with another payload",
            ),
            Self::BodyTooLarge => (
                "body-too-large",
                StatusCode::PAYLOAD_TOO_LARGE,
                "The request body is too large",
            ),
            Self::BodyTimeout => (
                "body-timeout",
                StatusCode::REQUEST_TIMEOUT,
                "The request body did not arrive in time",
            ),
            Self::BodyBroken => (
                "body-broken",
                StatusCode::BAD_REQUEST,
                "The request body broke off",
            ),
            Self::Failed => (
                "message-failed",
                StatusCode::UNPROCESSABLE_ENTITY,
                "The message failed or is parked",
            ),
            Self::StoreUnavailable => (
                "store-unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "The record of operations cannot be reached",
            ),
        }
    }

    pub(super) fn response(self, detail: String) -> Response {
        self.with(detail, Map::new())
    }

    /// With more members.
    pub(super) fn with(self, detail: String, members: Map<String, Value>) -> Response {
        let (name, status, title) = self.parts();
        let mut document = json!({
            "type": format!("urn:semel:problem:{name}"),
            "title": title,
            "status": status.as_u16(),
            "detail": detail,
        });
        if let Value::Object(fields) = &mut document {
            fields.extend(members);
        }
        let mut response = Response::new(Body::from(document.to_string()));
        *response.status_mut() = status;
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        if self == Self::StoreUnavailable {
            retry_after(&mut response, Duration::from_secs(5));
        }
        response
    }
}

/// Says when to come back, in whole seconds rounded up.
pub(super) fn retry_after(response: &mut Response, wait: Duration) {
    let seconds = wait.as_millis().div_ceil(1_000).max(1);
    let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
}
