//! Asks a URL whether an intent has taken effect.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Method, StatusCode};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Url;
use semel_core::trace::SpanHandle;
use semel_core::{Error, Result};
use serde::Deserialize;

use crate::exchange::{self, Answer};

/// What may stand in a URL as it is (RFC 3986, unreserved).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const PLACEHOLDER: &str = "{key}";

/// A URL that knows whether something happened under a key, such as `https://provider.example/charges?key={key}`.
///
/// `{key}` is the provider's key, percent-encoded. The answer to `GET`:
///
/// - 2xx: it happened, and this response is the intent's outcome; unless it is a JSON document with `"outcome": "absent"` (it
///   did not happen) or `"outcome": "unknown"` (nobody knows);
/// - 404 or 410: it did not happen, and is sent;
/// - anything else, or none in time: nobody knows, and it is asked again later.
///
/// **"It did not happen" must be final** for what was sent before: a provider that says so and then lets a slow request go on
/// has the effect twice, unless it knows the key.
#[derive(Clone, PartialEq, Eq)]
pub struct ReconcileUrl(String);

/// What was learned.
#[derive(Debug)]
pub(super) enum Reconciled {
    Happened(Answer),
    Absent,
    CannotTell(String),
}

impl ReconcileUrl {
    fn url(&self, key: &str) -> Option<Url> {
        let key = utf8_percent_encode(key, ENCODED).to_string();
        Url::parse(&self.0.replace(PLACEHOLDER, &key)).ok()
    }

    pub(super) async fn ask(
        &self,
        client: &reqwest::Client,
        headers: &HeaderMap,
        key: &str,
        limit: Duration,
        span: &SpanHandle,
    ) -> Reconciled {
        let Some(url) = self.url(key) else {
            return Reconciled::CannotTell("the filled URL is not valid".into());
        };
        let mut request = reqwest::Request::new(Method::GET, url);
        *request.headers_mut() = headers.clone();
        request
            .headers_mut()
            .insert(ACCEPT, HeaderValue::from_static("*/*"));
        match exchange::exchange(client, request, limit, span).await {
            Ok(answer) => read(answer),
            Err(broken) => Reconciled::CannotTell(broken.text().to_owned()),
        }
    }
}

fn read(answer: Answer) -> Reconciled {
    #[derive(Deserialize)]
    struct Said {
        outcome: String,
    }
    match answer.status {
        StatusCode::NOT_FOUND | StatusCode::GONE => Reconciled::Absent,
        status if status.is_success() => {
            let said = serde_json::from_slice::<Said>(&answer.body).ok();
            match said.as_ref().map(|said| said.outcome.as_str()) {
                Some("absent") => Reconciled::Absent,
                Some("unknown") => Reconciled::CannotTell("it does not know".into()),
                _ => Reconciled::Happened(answer),
            }
        }
        status => Reconciled::CannotTell(format!("it answered {status}")),
    }
}

impl FromStr for ReconcileUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let this = Self(text.to_owned());
        let valid = this.url("x").is_some_and(|url| {
            matches!(url.scheme(), "http" | "https") && !url.as_str().contains("%7B")
        });
        // A key in the host would send it, and the headers, anywhere.
        let host = text.split_once("://").map_or("", |(_, rest)| rest);
        let host = host.split(['/', '?']).next().unwrap_or_default();
        match valid && text.contains(PLACEHOLDER) && !host.contains('{') {
            true => Ok(this),
            false => Err(Error::invalid(
                "a reconcile URL is http(s)://HOST[:PORT]/… with {key} in path or query and no other braces",
            )),
        }
    }
}

impl fmt::Debug for ReconcileUrl {
    /// A URL may hold secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReconcileUrl")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_encoded_and_cannot_leave_its_place() {
        let url: ReconcileUrl = "http://a:1/p/{key}?k={key}".parse().unwrap();
        let filled = url.url("a/../é?#").unwrap();
        assert_eq!(
            filled.as_str(),
            "http://a:1/p/a%2F..%2F%C3%A9%3F%23?k=a%2F..%2F%C3%A9%3F%23"
        );
    }

    #[test]
    fn what_could_not_be_asked_is_refused() {
        for text in [
            "/p?key={key}",
            "http://a/p",
            "http://{key}/p",
            "ftp://a/{key}",
            "http://a/{key}/{other}",
        ] {
            assert!(text.parse::<ReconcileUrl>().is_err(), "{text}");
        }
    }

    #[test]
    fn answers_say_whether_it_happened() {
        let answer = |status: u16, body: &'static str| Answer {
            status: StatusCode::from_u16(status).unwrap(),
            headers: HeaderMap::new(),
            body: body.into(),
        };
        for (status, body) in [
            (200, ""),
            (200, r#"{"outcome":"succeeded"}"#),
            (204, ""),
            (200, "[]"),
        ] {
            let read = read(answer(status, body));
            assert!(matches!(read, Reconciled::Happened(_)), "{status} {body}");
        }
        for (status, body) in [(404, ""), (410, ""), (200, r#"{"outcome":"absent"}"#)] {
            let read = read(answer(status, body));
            assert!(matches!(read, Reconciled::Absent), "{status} {body}");
        }
        for (status, body) in [(500, ""), (302, ""), (200, r#"{"outcome":"unknown"}"#)] {
            let read = read(answer(status, body));
            assert!(matches!(read, Reconciled::CannotTell(_)), "{status} {body}");
        }
    }
}
