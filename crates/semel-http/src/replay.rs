//! Responses as outcomes, and back: status, headers with their repeats, exact body bytes.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    DATE, ETAG, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, SET_COOKIE, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, response};
use semel_core::outcome::{HEADER_BYTES_MAX, HEADERS_MAX, Settled};
use semel_core::{Headers, Outcome, Timestamp, Verdict};

use crate::body::Body;
use crate::problem::{self, Problem, Type};
use crate::rules::Rules;

/// Says that an answer comes from the record.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Says until when the key is remembered.
pub const EXPIRES: HeaderName = HeaderName::from_static("idempotency-expires");
/// The service's own word about its answer; clients never see it.
pub const OUTCOME: HeaderName = HeaderName::from_static("semel-outcome");

/// Headers of one connection only (RFC 9110 §7.6.1).
pub const HOP_BY_HOP: [HeaderName; 9] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// A stored trailer is a header whose name begins so; no header's own name can.
const TRAILER_PREFIX: &str = ":trailer:";

/// The outcome that a response is.
pub fn outcome(
    rules: &Rules,
    head: &response::Parts,
    trailers: Option<&HeaderMap>,
    body: semel_core::Body,
) -> Outcome {
    let kept = |name: &&HeaderName| is_kept(rules, name);
    let headers = head.headers.iter().filter(|(name, _)| kept(name));
    let headers = headers.map(|(name, value)| (name.as_str().to_owned(), value));
    let trailers = trailers.into_iter().flatten();
    let trailers = trailers.map(|(name, value)| (format!("{TRAILER_PREFIX}{name}"), value));
    Outcome {
        verdict: match head.status.as_u16() {
            ..400 => Verdict::Succeeded,
            _ => Verdict::Failed,
        },
        status: head.status.as_u16(),
        headers: fitting(headers.chain(trailers)),
        body,
    }
}

fn is_kept(rules: &Rules, name: &HeaderName) -> bool {
    if name == SET_COOKIE {
        return rules.replay_cookies;
    }
    ![DATE, REPLAYED, OUTCOME, EXPIRES].contains(name) && !HOP_BY_HOP.contains(name)
}

/// The headers that fit into a record. The effect has happened: a record without some of a response's
/// headers is better than none.
fn fitting<'a>(fields: impl Iterator<Item = (String, &'a HeaderValue)>) -> Headers {
    let mut bytes = 0;
    let fields = fields
        .take_while(|(name, value)| {
            bytes += name.len() + value.len();
            bytes <= HEADER_BYTES_MAX
        })
        .take(HEADERS_MAX);
    let fields = fields.map(|(name, value)| (name, Bytes::copy_from_slice(value.as_bytes())));
    Headers::new(fields.collect()).expect("the fields were counted")
}

/// The response that a settled record is.
pub fn response(rules: &Rules, method: &Method, settled: &Settled) -> Response<Body> {
    let outcome = &settled.outcome;
    let (mut headers, trailers) = fields(&outcome.headers);
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    if rules.tell_expiry {
        headers.insert(EXPIRES, expiry(settled.expires_at));
    }
    if let Some(trailers) = &trailers {
        headers.insert(TRAILER, announced(trailers));
    }
    let status = status(outcome);
    let mut response = match outcome.body.kept() {
        Some(bytes) => Response::new(Body::whole(bytes.clone(), trailers)),
        None if outcome.body.is_empty() => Response::new(Body::empty()),
        None => not_kept(status, outcome, &mut headers),
    };
    if method != Method::HEAD {
        // The length is that of the body above; a HEAD response states one without having it.
        headers.remove(CONTENT_LENGTH);
    }
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// A record that another door settled has no status.
fn status(outcome: &Outcome) -> StatusCode {
    let plain = match outcome.verdict {
        Verdict::Succeeded => StatusCode::OK,
        Verdict::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    };
    match outcome.status {
        0 => plain,
        code => StatusCode::from_u16(code).unwrap_or(plain),
    }
}

fn fields(stored: &Headers) -> (HeaderMap, Option<HeaderMap>) {
    let (mut headers, mut trailers) = (HeaderMap::new(), HeaderMap::new());
    for (name, value) in stored.iter() {
        let (target, name) = match name.strip_prefix(TRAILER_PREFIX) {
            Some(name) => (&mut trailers, name),
            None => (&mut headers, name),
        };
        // Another door may have settled with names that HTTP does not allow.
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_bytes(value))
        {
            target.append(name, value);
        }
    }
    (headers, (!trailers.is_empty()).then_some(trailers))
}

/// Over HTTP/1.1 only trailers that are announced are sent.
fn announced(trailers: &HeaderMap) -> HeaderValue {
    let names: Vec<_> = trailers.keys().map(HeaderName::as_str).collect();
    HeaderValue::try_from(names.join(", ")).expect("names of headers are valid in a header")
}

/// The operation is done and its status is known, so the replay has it; only the body cannot be had.
fn not_kept(status: StatusCode, outcome: &Outcome, headers: &mut HeaderMap) -> Response<Body> {
    for name in [
        CONTENT_ENCODING,
        CONTENT_RANGE,
        CONTENT_DISPOSITION,
        ETAG,
        CONTENT_LENGTH,
    ] {
        headers.remove(name);
    }
    headers.insert(CONTENT_TYPE, problem::MEDIA_TYPE);
    headers.append(http::header::LINK, problem::described_by(Type::BodyNotKept));
    let digest = outcome.body.digest().unwrap_or_default();
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let detail = "the operation was done and is not run again; of its response body only length \
                  and digest are on record";
    Problem::new(Type::BodyNotKept, detail)
        .status(status)
        .with("length", outcome.body.len())
        .with("blake3", digest)
        .into_response()
}

/// When a key is forgotten, as an HTTP date.
pub fn expiry(at: Timestamp) -> HeaderValue {
    // HTTP dates end with the year 9999.
    let ms = u64::try_from(at.as_millis())
        .unwrap_or(0)
        .min(253_402_300_799_000);
    let date = httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(ms));
    HeaderValue::try_from(date).expect("a date is a valid header")
}
