//! What an answer means for the operation: pure, and the only place that decides
//! whether to try again.
//!
//! | answer | advice |
//! |---|---|
//! | any 4xx with problem `key-reused` | the key belongs to another request |
//! | problem `outcome-unknown`, 409 or 500 | nobody but a person or the provider knows |
//! | marked as replayed | done: another try would replay it again |
//! | 202 or 409 with problem `in-progress` | again |
//! | 408, 425, 429, 502, 503, 504 | again |
//! | everything else, 500 included | done |
//!
//! A 500 is an outcome that Semel keeps, so another try could only replay it; one that
//! says `outcome-unknown` (the service panicked) must not pass for an outcome. A 502 or a
//! 504 may stand for an effect that happened; the next answer under the same key tells.

use http::header::{CONTENT_TYPE, HeaderMap, HeaderName};
use http::{HeaderValue, StatusCode};

const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
const PROBLEM_JSON: &str = "application/problem+json";

/// What an answer means for the operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Advice {
    /// The operation is settled, and this is its outcome.
    Done,
    /// Nothing is settled; the same request with the same key may settle it.
    Again,
    /// The key belongs to another request.
    KeyReused,
    /// The server cannot tell whether the effect happened.
    OutcomeUnknown,
}

/// The problems that decide about another try.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Problem {
    InProgress,
    KeyReused,
    OutcomeUnknown,
}

/// Judges an answer; a body that was too large to be read is judged without it.
pub(crate) fn judge(status: StatusCode, headers: &HeaderMap, body: Option<&[u8]>) -> Advice {
    let problem = body.and_then(|body| problem(headers, body));
    match problem {
        Some(Problem::KeyReused) if status.is_client_error() => Advice::KeyReused,
        Some(Problem::OutcomeUnknown) if !is_passing(status) => Advice::OutcomeUnknown,
        Some(_) | None if is_replayed(headers) => Advice::Done,
        Some(Problem::InProgress) if says_in_progress(status) => Advice::Again,
        Some(_) | None if is_passing(status) => Advice::Again,
        Some(_) | None => Advice::Done,
    }
}

/// Whether the server marked the answer as a settled outcome that it repeats.
pub(crate) fn is_replayed(headers: &HeaderMap) -> bool {
    let value = headers.get(REPLAYED).map(HeaderValue::as_bytes);
    value.is_some_and(|value| value.eq_ignore_ascii_case(b"true"))
}

fn says_in_progress(status: StatusCode) -> bool {
    matches!(status, StatusCode::ACCEPTED | StatusCode::CONFLICT)
}

/// Statuses that Semel, and the middle boxes before it, use for what passes by itself.
fn is_passing(status: StatusCode) -> bool {
    matches!(
        status,
        StatusCode::REQUEST_TIMEOUT
            | StatusCode::TOO_EARLY
            | StatusCode::TOO_MANY_REQUESTS
            | StatusCode::BAD_GATEWAY
            | StatusCode::SERVICE_UNAVAILABLE
            | StatusCode::GATEWAY_TIMEOUT
    )
}

/// Only a body that calls itself a problem is read as one: a service's own JSON may
/// have a field `type` too.
fn problem(headers: &HeaderMap, body: &[u8]) -> Option<Problem> {
    let content_type = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let media_type = content_type.split(';').next().unwrap_or_default().trim();
    if !media_type.eq_ignore_ascii_case(PROBLEM_JSON) {
        return None;
    }
    let json: serde_json::Value = serde_json::from_slice(body).ok()?;
    match json.get("type")?.as_str()? {
        "urn:semel:problem:in-progress" => Some(Problem::InProgress),
        "urn:semel:problem:key-reused" => Some(Problem::KeyReused),
        "urn:semel:problem:outcome-unknown" => Some(Problem::OutcomeUnknown),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(content_type: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static(content_type))])
    }

    fn judge_problem(status: u16, name: &str, content_type: &'static str) -> Advice {
        let body = format!(r#"{{"title":"t","type":"urn:semel:problem:{name}"}}"#);
        let status = StatusCode::from_u16(status).unwrap();
        judge(status, &headers(content_type), Some(body.as_bytes()))
    }

    #[test]
    fn a_status_without_a_problem_decides_by_itself() {
        for status in 200..600 {
            let again = [408, 425, 429, 502, 503, 504].contains(&status);
            let expected = if again { Advice::Again } else { Advice::Done };
            let code = StatusCode::from_u16(status).unwrap();
            for body in [None, Some(&b""[..]), Some(&b"{}"[..])] {
                assert_eq!(judge(code, &HeaderMap::new(), body), expected, "{status}");
            }
        }
    }

    #[test]
    fn a_problem_decides_where_the_status_is_ambiguous() {
        let table = [
            (202, "in-progress", Advice::Again),
            (409, "in-progress", Advice::Again),
            (425, "in-progress", Advice::Again),
            (422, "key-reused", Advice::KeyReused),
            (400, "key-reused", Advice::KeyReused),
            (409, "key-reused", Advice::KeyReused),
            (429, "key-reused", Advice::KeyReused),
            (409, "outcome-unknown", Advice::OutcomeUnknown),
            (500, "outcome-unknown", Advice::OutcomeUnknown),
            (504, "outcome-unknown", Advice::Again),
            (200, "in-progress", Advice::Done),
            (422, "in-progress", Advice::Done),
            (409, "anything-else", Advice::Done),
            (400, "key-missing", Advice::Done),
            (503, "store-unavailable", Advice::Again),
        ];
        for (status, name, expected) in table {
            let found = judge_problem(status, name, PROBLEM_JSON);
            assert_eq!(found, expected, "{status} {name}");
        }
    }

    #[test]
    fn only_a_body_that_calls_itself_a_problem_is_one() {
        for (content_type, expected) in [
            ("application/problem+json; charset=utf-8", Advice::Again),
            ("Application/Problem+JSON", Advice::Again),
            ("application/json", Advice::Done),
            ("application/problem+json-seq", Advice::Done),
        ] {
            let found = judge_problem(409, "in-progress", content_type);
            assert_eq!(found, expected, "{content_type}");
        }
        for body in [
            "",
            "{",
            "[]",
            "{\"type\":1}",
            "\"urn:semel:problem:in-progress\"",
        ] {
            let found = judge(
                StatusCode::CONFLICT,
                &headers(PROBLEM_JSON),
                Some(body.as_bytes()),
            );
            assert_eq!(found, Advice::Done, "{body}");
        }
    }

    #[test]
    fn a_replayed_answer_is_done_whatever_its_status() {
        for (value, expected) in [
            ("true", Advice::Done),
            ("True", Advice::Done),
            ("false", Advice::Again),
            ("", Advice::Again),
        ] {
            let headers = HeaderMap::from_iter([(REPLAYED, HeaderValue::from_static(value))]);
            let found = judge(StatusCode::SERVICE_UNAVAILABLE, &headers, None);
            assert_eq!(found, expected, "{value}");
        }
    }
}
