//! Responses as outcomes, and back: status, headers with their repeats, exact body bytes.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use http::header::{
    CONNECTION, CONTENT_DISPOSITION, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE,
    DATE, ETAG, LOCATION, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, RETRY_AFTER, SET_COOKIE, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode, response};
use semel_core::outcome::Settled;
use semel_core::{Headers, Outcome, Timestamp, Verdict};

use crate::body::Body;
use crate::mcp;
use crate::problem::{self, Problem, Type};
use crate::rules::Rules;
use crate::stored::REDACTED;

/// Says that an answer comes from the record.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Says until when the key is remembered.
pub const EXPIRES: HeaderName = HeaderName::from_static("idempotency-expires");
/// The service's own word about its answer; clients never see it.
pub const OUTCOME: HeaderName = HeaderName::from_static("semel-outcome");

/// Headers of one connection only (RFC 9110 §7.6.1).
pub const HOP_BY_HOP: [HeaderName; 10] = [
    CONNECTION,
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
];

/// A stored trailer is a header whose name begins so; no header's own name can.
pub(crate) const TRAILER_PREFIX: &str = ":trailer:";

/// What a client needs to read a body or to go on, and what is kept if a response has more headers than a record.
const FIRST: [HeaderName; 5] = [CONTENT_TYPE, CONTENT_ENCODING, LOCATION, RETRY_AFTER, ETAG];

/// The outcome that a response is.
pub fn outcome(
    rules: &Rules,
    head: &response::Parts,
    trailers: Option<&HeaderMap>,
    body: semel_core::Body,
) -> Outcome {
    let connection = head.headers.get_all(CONNECTION).iter();
    let hop = Hop::named(connection.map(HeaderValue::as_bytes));
    let kept = |name: &&HeaderName| hop.is_replayed(rules, name) && *name != REDACTED;
    let headers = head.headers.iter().filter(|(name, _)| kept(name));
    let headers = headers.map(|(name, value)| (name.as_str().to_owned(), value));
    let trailers = trailers.into_iter().flatten();
    let trailers = trailers.filter(|(name, _)| kept(name));
    let trailers = trailers.map(|(name, value)| (format!("{TRAILER_PREFIX}{name}"), value));
    let fields = headers.chain(trailers);
    let fields = fields.map(|(name, value)| (name, Bytes::copy_from_slice(value.as_bytes())));
    Outcome {
        verdict: match head.status.as_u16() {
            ..400 => Verdict::Succeeded,
            _ => Verdict::Failed,
        },
        status: head.status.as_u16(),
        headers: Headers::fitting(fields.collect(), |name| FIRST.iter().any(|one| one == name)),
        body,
    }
}

/// The headers that belong to one connection besides those of [`HOP_BY_HOP`]: those that `Connection` names.
struct Hop(Vec<String>);

impl Hop {
    fn named<'a>(connection: impl Iterator<Item = &'a [u8]>) -> Self {
        let names = connection.flat_map(|value| value.split(|byte| *byte == b','));
        let names =
            names.map(|name| String::from_utf8_lossy(name.trim_ascii()).to_ascii_lowercase());
        // A service that names these means its connection; its answer would be lost without them.
        let needed = |name: &String| FIRST.iter().any(|one| one == name.as_str());
        Self(names.filter(|name| !needed(name)).collect())
    }

    /// Whether a header belongs into a replay. Asked when a response is kept and again when it is replayed: a record may
    /// have been settled by another door, or under other rules.
    fn is_replayed(&self, rules: &Rules, name: &HeaderName) -> bool {
        if name == SET_COOKIE {
            return rules.replay_cookies;
        }
        let is_ours = [DATE, REPLAYED, OUTCOME, EXPIRES].contains(name);
        // What answers another request by name: its id, its session.
        let is_personal =
            rules.profile.repeated().contains(name) || rules.mcp.is_some() && name == mcp::SESSION;
        !is_ours
            && !is_personal
            && !HOP_BY_HOP.contains(name)
            && !self.0.iter().any(|hop| hop == name.as_str())
    }
}

/// The response that a settled record is.
pub fn response(rules: &Rules, method: &Method, settled: &Settled) -> Response<Body> {
    let outcome = &settled.outcome;
    let (mut headers, mut trailers) = fields(rules, &outcome.headers);
    headers.insert(REPLAYED, HeaderValue::from_static("true"));
    if rules.tell_expiry {
        headers.insert(EXPIRES, expiry(settled.expires_at));
    }
    let status = status(outcome);
    let has_body = !matches!(
        status,
        StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED
    );
    if !has_body {
        trailers = None;
    }
    if let Some(trailers) = &trailers {
        headers.insert(TRAILER, announced(trailers));
    }
    let mut response = match outcome.body.kept() {
        _ if !has_body || outcome.body.is_empty() && trailers.is_none() => {
            Response::new(Body::empty())
        }
        // This process reads the store without its keys: what is on record is no answer.
        Some(_) if outcome.headers.are_sealed() => not_kept(status, outcome, &mut headers),
        Some(bytes) => Response::new(Body::whole(bytes.clone(), trailers)),
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

/// The status of a replay. A record that another door or a person settled may have none, or one that ends no exchange: 200 or
/// 500 then, by the verdict.
pub fn status(outcome: &Outcome) -> StatusCode {
    let plain = match outcome.verdict {
        Verdict::Succeeded => StatusCode::OK,
        Verdict::Failed => StatusCode::INTERNAL_SERVER_ERROR,
    };
    match outcome.status {
        code @ 200..=599 => StatusCode::from_u16(code).unwrap_or(plain),
        _ => plain,
    }
}

fn fields(rules: &Rules, stored: &Headers) -> (HeaderMap, Option<HeaderMap>) {
    let connection = stored.iter();
    let connection = connection.filter(|(name, _)| name.eq_ignore_ascii_case("connection"));
    let hop = Hop::named(connection.map(|(_, value)| value.as_ref()));
    let (mut headers, mut trailers) = (HeaderMap::new(), HeaderMap::new());
    for (name, value) in stored.iter() {
        let (target, name) = match name.strip_prefix(TRAILER_PREFIX) {
            Some(name) => (&mut trailers, name),
            None => (&mut headers, name),
        };
        // Another door may have settled with names that HTTP does not allow.
        let field = (name.parse::<HeaderName>(), HeaderValue::from_bytes(value));
        if let (Ok(name), Ok(value)) = field
            && hop.is_replayed(rules, &name)
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
    let detail = "the operation was done and is not run again; of its response body only length \
                  and digest are on record";
    let problem = Problem::new(Type::BodyNotKept, detail)
        .status(status)
        .with("length", outcome.body.len());
    match outcome.body.digest() {
        Some(digest) => {
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            problem.with("blake3", digest).into_response()
        }
        // Sealed contents whose key was destroyed: nothing tells what they were.
        None => problem.into_response(),
    }
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
