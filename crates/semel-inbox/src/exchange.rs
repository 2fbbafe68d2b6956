//! One HTTP exchange with a handler or a provider, and the truth about what may have reached it.

use std::error::Error as _;
use std::time::Duration;

use crate::policy::Signal;
use bytes::{Bytes, BytesMut};
use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, StatusCode};
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::trace::SpanHandle;
use semel_core::{Body, Headers, Outcome, Timestamp, Verdict};
use semel_http::trace;

/// How long a connection may take to come about: shorter than answers usually may, so that a handler that cannot be reached is not taken for one
/// that does not answer.
const CONNECT: Duration = Duration::from_secs(2);
/// How long a connection is kept for the next request: shorter than any server keeps it, so that its close and our write rarely meet.
const IDLE: Duration = Duration::from_secs(1);
/// The most bytes of a response that are kept.
pub(crate) const KEPT_BYTES_MAX: usize = 64 * 1024;

/// The HTTP client that handlers share.
pub type HttpClient = reqwest::Client;

/// The HTTP client that the engine uses unless it is given another: no redirects, no proxies, connections that do not grow old.
/// Whoever brings another begins with this one, and may add TLS settings or a proxy.
pub fn client_builder() -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .connect_timeout(CONNECT)
        .pool_idle_timeout(IDLE)
        .user_agent(concat!("semel/", env!("CARGO_PKG_VERSION")))
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// No whole answer.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Broken {
    /// Not one byte of the request can have arrived.
    NotReached(String),
    /// It may have arrived.
    Unknown(String),
    /// It may have arrived, and nothing came back in time.
    TimedOut(String),
}

impl Broken {
    const fn kind(&self) -> &'static str {
        match self {
            Self::NotReached(_) => "not-reached",
            Self::Unknown(_) => "broken",
            Self::TimedOut(_) => "timeout",
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::NotReached(text) | Self::Unknown(text) | Self::TimedOut(text) => text,
        }
    }
}

/// Sends a request and reads the whole answer, in this time. The request is a part of `parent`, and says so.
pub(crate) async fn exchange(
    client: &reqwest::Client,
    mut request: reqwest::Request,
    limit: Duration,
    parent: &SpanHandle,
) -> Result<Answer, Broken> {
    let (url, method) = (request.url(), request.method());
    let port = url.port_or_known_default().unwrap_or_default();
    let span = trace::client(parent, method, url.host_str().unwrap_or_default(), port);
    trace::inject(request.headers_mut(), &span);
    let whole = async {
        let response = client.execute(request).await.map_err(broken)?;
        read(response).await
    };
    let answer = tokio::time::timeout(limit, whole).await;
    let answer =
        answer.unwrap_or_else(|_| Err(Broken::TimedOut(format!("no answer within {limit:?}"))));
    match &answer {
        Ok(answer) => trace::answered(&span, answer.status),
        Err(broken) => span.record(|span| span.fail(broken.kind(), broken.text())),
    }
    answer
}

async fn read(mut response: reqwest::Response) -> Result<Answer, Broken> {
    let (status, headers) = (response.status(), std::mem::take(response.headers_mut()));
    let mut body = BytesMut::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if chunk.len() > BODY_BYTES_MAX - body.len() {
            // What nobody keeps need not be read; the status has decided.
            break;
        }
        body.extend_from_slice(&chunk);
    }
    Ok(Answer {
        status,
        headers,
        body: body.freeze(),
    })
}

/// The error without its URL, which may hold secrets.
fn broken(error: reqwest::Error) -> Broken {
    let reached = !(error.is_connect() || error.is_builder());
    let error = error.without_url();
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    match reached {
        true => Broken::Unknown(text),
        false => Broken::NotReached(text),
    }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok().map(str::trim)
    }

    /// What the status says about the other side as a whole; `after` is how long it asks to be left alone.
    pub(crate) fn signal(&self, after: Option<Duration>) -> Signal {
        match (self.status.as_u16(), after) {
            (429 | 503, Some(after)) => Signal::Busy(after),
            (502..=504, _) => Signal::Away,
            _ => Signal::Answered,
        }
    }

    /// The media type, without parameters and in lower case.
    pub(crate) fn media_type(&self) -> Option<String> {
        let value = self.header("content-type")?;
        let media = value.split(';').next().unwrap_or_default();
        Some(media.trim().to_ascii_lowercase())
    }

    /// How long the other side asks to be left alone; `now` counts where it names a date without its own `Date`.
    pub(crate) fn retry_after(&self, now: Timestamp) -> Option<Duration> {
        let value = self.header(RETRY_AFTER.as_str())?;
        if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
            // Digits fail to parse only if they are too many, and then any cap is shorter.
            return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
        }
        let until = millis(httpdate::parse_http_date(value).ok()?);
        let date = self.header(DATE.as_str());
        let date = date.and_then(|date| httpdate::parse_http_date(date).ok());
        let now = date.map_or(now, millis);
        Some(until.since(now))
    }

    /// What is kept: the status, the headers that say something about the result, and the body up to 64 KiB.
    pub(crate) fn outcome(&self, keep: &[HeaderName], body: Bytes) -> Outcome {
        let kept = self.headers.iter().filter(|(name, value)| {
            (KEPT.contains(&name.as_str()) || keep.contains(name)) && !value.is_sensitive()
        });
        let fields = kept
            .map(|(name, value)| {
                let value = Bytes::copy_from_slice(value.as_bytes());
                (name.as_str().to_owned(), value)
            })
            .collect();
        Outcome {
            verdict: Verdict::Succeeded,
            status: self.status.as_u16(),
            // Headers above the limit are worth less than the outcome.
            headers: Headers::new(fields).unwrap_or_default(),
            body: Body::capped(body, KEPT_BYTES_MAX),
        }
    }
}

/// Headers of answers that are always kept.
const KEPT: [&str; 6] = [
    "content-type",
    "etag",
    "last-modified",
    "location",
    "request-id",
    "x-request-id",
];

fn millis(at: std::time::SystemTime) -> Timestamp {
    let since = at.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Timestamp::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn answer(headers: &[(&'static str, &'static str)]) -> Answer {
        let fields = headers.iter().map(|(name, value)| {
            (
                HeaderName::from_static(name),
                HeaderValue::from_static(value),
            )
        });
        Answer {
            status: StatusCode::OK,
            headers: fields.collect(),
            body: Bytes::new(),
        }
    }

    #[test]
    fn retry_after_is_seconds_or_a_date() {
        const NOON: &str = "Wed, 21 Oct 2015 12:00:00 GMT";
        const LATER: &str = "Wed, 21 Oct 2015 12:00:30 GMT";
        let now = Timestamp::from_millis(1_445_428_820_000);
        for (headers, seconds) in [
            (vec![("retry-after", "7")], Some(7)),
            (vec![("retry-after", LATER), ("date", NOON)], Some(30)),
            (vec![("retry-after", LATER)], Some(10)),
            (vec![("retry-after", NOON)], Some(0)),
            (vec![("retry-after", "soon")], None),
            (vec![], None),
        ] {
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(answer(&headers).retry_after(now), expected, "{headers:?}");
        }
    }

    #[test]
    fn outcomes_keep_what_was_asked_for() {
        let answer = answer(&[("location", "/1"), ("x-own", "2"), ("set-cookie", "3")]);
        let own = [HeaderName::from_static("x-own")];
        let outcome = answer.outcome(&own, Bytes::from_static(b"ok"));
        let names: Vec<_> = outcome.headers.iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["location", "x-own"]);
        let long = answer.outcome(&[], Bytes::from(vec![0; KEPT_BYTES_MAX + 1]));
        assert_eq!(long.body.kept(), None);
    }
}
