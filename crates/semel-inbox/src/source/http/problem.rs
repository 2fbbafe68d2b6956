//! Refusals of webhooks as `application/problem+json` (RFC 9457). Each says that nothing was stored.

use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use serde_json::{Map, Value};

use crate::source::Refusal;

/// What is wrong, by name. The URN `urn:semel:problem:NAME` never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    IdMissing,
    SequenceMissing,
    Invalid,
    SignatureInvalid,
    ConsumerUnknown,
    BodyTooLarge,
    BodyTimeout,
    BodyBroken,
    BacklogFull,
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
            Self::BacklogFull => (
                "backlog-full",
                StatusCode::SERVICE_UNAVAILABLE,
                "The consumer's backlog is full",
            ),
            Self::StoreUnavailable => (
                "store-unavailable",
                StatusCode::SERVICE_UNAVAILABLE,
                "The record of operations cannot be reached",
            ),
        }
    }

    /// What a refusal is called.
    pub(super) const fn of(refusal: &Refusal) -> Self {
        match refusal {
            Refusal::IdMissing => Self::IdMissing,
            Refusal::SequenceMissing => Self::SequenceMissing,
            Refusal::Invalid(_) => Self::Invalid,
        }
    }

    pub(super) const fn status(self) -> StatusCode {
        self.parts().1
    }

    /// When it is worth sending again, if it is.
    const fn worth_again(self) -> Option<Duration> {
        match self {
            Self::StoreUnavailable => Some(Duration::from_secs(5)),
            // A backlog that is full empties by what handlers do.
            Self::BacklogFull => Some(Duration::from_secs(30)),
            _ => None,
        }
    }

    pub(super) fn response(self, detail: String) -> Response {
        self.with(detail, Map::new())
    }

    /// With more members.
    pub(super) fn with(self, detail: String, members: Map<String, Value>) -> Response {
        let mut document = self.document(&detail);
        document.extend(members);
        let mut response = Response::new(Body::from(Value::Object(document).to_string()));
        *response.status_mut() = self.status();
        let kind = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        if let Some(wait) = self.worth_again() {
            retry_after(&mut response, wait);
        }
        response
    }

    /// Its members.
    pub(super) fn document(self, detail: &str) -> Map<String, Value> {
        let (name, status, title) = self.parts();
        Map::from_iter([
            ("type".into(), format!("urn:semel:problem:{name}").into()),
            ("title".into(), title.into()),
            ("status".into(), status.as_u16().into()),
            ("detail".into(), detail.into()),
        ])
    }
}

/// Says when to come back, in whole seconds rounded up.
pub(super) fn retry_after(response: &mut Response, wait: Duration) {
    let seconds = wait.as_millis().div_ceil(1_000).max(1);
    let seconds = u64::try_from(seconds).unwrap_or(u64::MAX);
    response.headers_mut().insert(RETRY_AFTER, seconds.into());
}
