//! What clients get that is not from the server: replays, and refusals as JSON-RPC errors.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use semel_core::outcome::Settled;
use semel_core::{Outcome, Verdict};
use serde_json::{Value, json};

use super::Id;
use crate::body::Body;
use crate::problem::{Problem, Type};

const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// Headers that are about the bytes of the first answer.
const OF_THE_BYTES: [HeaderName; 5] = [
    ETAG,
    HeaderName::from_static("content-digest"),
    HeaderName::from_static("repr-digest"),
    HeaderName::from_static("digest"),
    HeaderName::from_static("content-md5"),
];

/// A replay as the answer to a request with another id.
pub(crate) fn replayed(response: Response<Body>, settled: &Settled, id: &Id) -> Response<Body> {
    let outcome = &settled.outcome;
    let kept = outcome.body.kept().filter(|bytes| !bytes.is_empty());
    let (message, status) = match kept.and_then(|bytes| id.put_into(bytes)) {
        Some(message) => (message, response.status()),
        // What the transport said is no message, and has no id.
        None if kept.is_some() && !response.status().is_success() => return response,
        // What was settled by a person or by another door may be no message, and without a status.
        None => (described(outcome, id), StatusCode::OK),
    };
    let (mut head, _) = response.into_parts();
    for name in OF_THE_BYTES {
        head.headers.remove(name);
    }
    head.headers.remove(CONTENT_LENGTH);
    head.headers.insert(CONTENT_TYPE, JSON);
    head.status = status;
    Response::from_parts(head, Body::from(message))
}

/// A result in words: the call is done, and what the server said about it is not on record as a message.
fn described(outcome: &Outcome, id: &Id) -> Bytes {
    let said = outcome.body.kept().map(|bytes| bytes.as_ref());
    let said = said.and_then(|bytes| std::str::from_utf8(bytes).ok());
    let said = said.filter(|text| !text.is_empty());
    let text =
        said.unwrap_or("the call was done and is not run again; its result is not on record");
    let result = json!({
        "content": [{ "type": "text", "text": text }],
        "isError": outcome.verdict == Verdict::Failed,
    });
    message(Some(id), "result", &result)
}

/// A refusal that clients of the protocol can read. One that answers a request is a JSON-RPC error with status 200, as
/// every error of a call is: many clients take other statuses for a failure of the transport and end the session. What
/// was refused before its id was known, and the question for a credential, keep their status.
pub(crate) fn refusal(problem: Problem, id: Option<&Id>) -> Response<Body> {
    let code = match problem.kind() {
        Type::BadRequest => -32600,
        Type::KeyMissing | Type::KeyInvalid => -32602,
        Type::Internal => -32603,
        _ => -32000,
    };
    let error = json!({
        "code": code,
        "message": problem.detail(),
        "data": Value::Object(problem.members()),
    });
    let message = message(id, "error", &error);
    let mut response = problem.into_response();
    if id.is_some() && response.status() != StatusCode::UNAUTHORIZED {
        *response.status_mut() = StatusCode::OK;
    }
    response.headers_mut().insert(CONTENT_TYPE, JSON);
    response.map(|_| Body::from(message))
}

fn message(id: Option<&Id>, name: &str, value: &Value) -> Bytes {
    let id = id.map_or("null", Id::json);
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"{name}\":{value}}}").into()
}
