//! Each vendor's error members, beside those of the problem.

use http::{HeaderValue, StatusCode};
use serde_json::json;

use super::{SHOULD_RETRY, TRANSIENT_ERROR};
use crate::problem::{Problem, Type};

const TRUE: HeaderValue = HeaderValue::from_static("true");
const FALSE: HeaderValue = HeaderValue::from_static("false");

/// Stripe's libraries raise an idempotency error for 400 with this type and retry 409 by themselves.
pub(super) fn stripe(problem: Problem) -> Problem {
    let kind = match problem.kind() {
        Type::KeyReused => "idempotency_error",
        Type::KeyMissing
        | Type::KeyInvalid
        | Type::TenantMissing
        | Type::InProgress
        | Type::BadRequest
        | Type::BodyTooLarge
        | Type::BodyTimeout
        | Type::BodyBroken => "invalid_request_error",
        _ => "api_error",
    };
    let mut error = json!({ "type": kind, "message": problem.detail() });
    match problem.kind() {
        Type::InProgress => {
            error["code"] = json!("idempotency_key_in_use");
            problem.with("error", error).header(SHOULD_RETRY, TRUE)
        }
        Type::KeyReused => problem
            .with("error", error)
            .status(StatusCode::BAD_REQUEST)
            .header(SHOULD_RETRY, FALSE),
        _ => problem.with("error", error),
    }
}

pub(super) fn paypal(problem: Problem) -> Problem {
    let (name, issue) = match problem.kind() {
        Type::KeyReused => ("UNPROCESSABLE_ENTITY", "PAYPAL_REQUEST_ID_PREVIOUSLY_USED"),
        Type::InProgress => ("RESOURCE_CONFLICT", "PREVIOUS_REQUEST_IN_PROGRESS"),
        Type::KeyMissing => ("INVALID_REQUEST", "PAYPAL_REQUEST_ID_REQUIRED"),
        Type::KeyInvalid => ("INVALID_REQUEST", "INVALID_STRING_LENGTH"),
        _ => ("INTERNAL_SERVICE_ERROR", "INTERNAL_SERVICE_ERROR"),
    };
    let description = problem.detail().to_owned();
    let message = problem.kind().title();
    problem.with("name", name).with("message", message).with(
        "details",
        json!([{ "issue": issue, "description": description }]),
    )
}

pub(super) fn square(problem: Problem) -> Problem {
    let (category, code) = match problem.kind() {
        Type::KeyReused => ("INVALID_REQUEST_ERROR", "IDEMPOTENCY_KEY_REUSED"),
        Type::KeyMissing => ("INVALID_REQUEST_ERROR", "MISSING_REQUIRED_PARAMETER"),
        Type::KeyInvalid => ("INVALID_REQUEST_ERROR", "VALUE_TOO_LONG"),
        Type::InProgress => ("INVALID_REQUEST_ERROR", "CONFLICT"),
        _ => ("API_ERROR", "INTERNAL_SERVER_ERROR"),
    };
    let mut error = json!({ "category": category, "code": code, "detail": problem.detail() });
    if category == "INVALID_REQUEST_ERROR" {
        error["field"] = json!("idempotency_key");
    }
    let reused = problem.kind() == Type::KeyReused;
    let problem = problem.with("errors", json!([error]));
    match reused {
        true => problem.status(StatusCode::BAD_REQUEST),
        false => problem,
    }
}

pub(super) fn adyen(problem: Problem) -> Problem {
    let (code, kind, transient) = match problem.kind() {
        Type::InProgress => ("704", "validation", true),
        Type::KeyReused => ("704", "validation", false),
        Type::StoreUnavailable | Type::Overloaded | Type::UpstreamUnreachable => {
            ("703", "internal", true)
        }
        Type::KeyMissing | Type::KeyInvalid => ("702", "validation", false),
        _ => ("000", "internal", false),
    };
    let message = match problem.kind() {
        Type::InProgress | Type::KeyReused => "request already processed or in progress",
        Type::StoreUnavailable => "required resource temporarily unavailable",
        kind => kind.title(),
    };
    let problem = problem
        .with("errorCode", code)
        .with("errorType", kind)
        .with("message", message);
    match transient {
        true => problem.header(TRANSIENT_ERROR, TRUE),
        false => problem,
    }
}

/// The protocol's own `type`, `code` and `message` stand at the top of the document, and its clients read
/// `application/json`. What the problem is called otherwise is the member `problem`.
pub(super) fn acp(problem: Problem) -> Problem {
    let code = match problem.kind() {
        Type::KeyMissing => "idempotency_key_required".to_owned(),
        Type::KeyInvalid => "idempotency_key_invalid".to_owned(),
        Type::KeyReused => "idempotency_conflict".to_owned(),
        Type::InProgress => "idempotency_in_flight".to_owned(),
        other => other.name().replace('-', "_"),
    };
    let kind = match problem.kind() {
        Type::StoreUnavailable
        | Type::KeysUnavailable
        | Type::Overloaded
        | Type::UpstreamUnreachable => "service_unavailable",
        // The operation itself is in trouble, whatever the status says.
        Type::OutcomeUnknown => "processing_error",
        other if other.status().is_client_error() => "invalid_request",
        _ => "processing_error",
    };
    let message = problem.detail().to_owned();
    problem
        .called(kind)
        .with("code", code)
        .with("message", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;
    use http::HeaderMap;

    fn dressed(profile: Profile, kind: Type) -> (u16, serde_json::Value, HeaderMap) {
        let problem = profile.dress(Problem::new(kind, "why"));
        let document = serde_json::to_value(problem.document()).unwrap();
        let response = problem.into_response();
        (
            response.status().as_u16(),
            document,
            response.headers().clone(),
        )
    }

    #[test]
    fn stripes_libraries_see_an_idempotency_error() {
        let (status, body, headers) = dressed(Profile::Stripe, Type::KeyReused);
        assert_eq!(
            (status, &body["error"]["type"]),
            (400, &json!("idempotency_error"))
        );
        assert_eq!(body["status"], 400);
        assert_eq!(headers["stripe-should-retry"], "false");
        let (status, body, headers) = dressed(Profile::Stripe, Type::InProgress);
        assert_eq!(
            (status, &body["error"]["code"]),
            (409, &json!("idempotency_key_in_use"))
        );
        assert_eq!(headers["stripe-should-retry"], "true");
    }

    #[test]
    fn each_vendor_names_a_reused_key_its_own_way() {
        for (profile, status, at, value) in [
            (Profile::Ietf, 422, "/type", "urn:semel:problem:key-reused"),
            (
                Profile::PayPal,
                422,
                "/details/0/issue",
                "PAYPAL_REQUEST_ID_PREVIOUSLY_USED",
            ),
            (
                Profile::Square,
                400,
                "/errors/0/code",
                "IDEMPOTENCY_KEY_REUSED",
            ),
            (Profile::Adyen, 422, "/errorCode", "704"),
            (Profile::StripeV2, 400, "/error/type", "idempotency_error"),
            (Profile::Acp, 422, "/code", "idempotency_conflict"),
        ] {
            let (found, body, _) = dressed(profile, Type::KeyReused);
            assert_eq!(found, status, "{profile:?}");
            assert_eq!(body.pointer(at), Some(&json!(value)), "{profile:?}");
        }
    }

    #[test]
    fn acp_names_its_errors_as_the_protocol_does() {
        for (kind, status, category, code) in [
            (
                Type::KeyMissing,
                400,
                "invalid_request",
                "idempotency_key_required",
            ),
            (
                Type::KeyReused,
                422,
                "invalid_request",
                "idempotency_conflict",
            ),
            (
                Type::InProgress,
                409,
                "invalid_request",
                "idempotency_in_flight",
            ),
            (
                Type::OutcomeUnknown,
                409,
                "processing_error",
                "outcome_unknown",
            ),
            (
                Type::UpstreamTimeout,
                504,
                "processing_error",
                "upstream_timeout",
            ),
            (
                Type::StoreUnavailable,
                503,
                "service_unavailable",
                "store_unavailable",
            ),
        ] {
            let (found, body, headers) = dressed(Profile::Acp, kind);
            assert_eq!(found, status, "{kind:?}");
            assert_eq!(body["type"], category, "{kind:?}");
            assert_eq!(body["code"], code, "{kind:?}");
            assert_eq!(body["message"], "why", "{kind:?}");
            assert_eq!(headers["content-type"], "application/json", "{kind:?}");
            let waits = headers.contains_key("retry-after");
            assert_eq!(waits, kind.retry_after().is_some(), "{kind:?}");
        }
    }

    #[test]
    fn every_problem_stays_a_problem() {
        for profile in Profile::ALL {
            for kind in Type::ALL {
                let (status, body, headers) = dressed(profile, *kind);
                assert!(headers.contains_key("link"), "{profile:?} {kind:?}");
                assert_eq!(body["ran"], kind.ran().name(), "{profile:?} {kind:?}");
                assert_eq!(body["status"], status, "{profile:?} {kind:?}");
                let name = match profile {
                    Profile::Acp => "problem",
                    _ => "type",
                };
                assert_eq!(body[name], format!("urn:semel:problem:{}", kind.name()));
            }
        }
    }
}
