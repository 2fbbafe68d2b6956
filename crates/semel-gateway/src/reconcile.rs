//! Asks a URL whether an operation happened.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{ACCEPT, HOST};
use http::uri::PathAndQuery;
use http::{HeaderMap, HeaderName, HeaderValue, Request, StatusCode, Uri, response};
use http_body::Body as _;
use http_body_util::BodyExt;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use semel_core::once::{Asking, Reconcile, Reconciled};
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::{Body, Fence, Identity, Permit, Retention};
use semel_http::memory::{Buffer, Memory};
use semel_http::spelling::has_dot_segments;
use semel_http::{Rules, replay};

use crate::error::{Error, Result};
use crate::hygiene;
use crate::pool::{Need, Outgoing, Pool, Received};
use crate::target::Target;

/// How long an answer may take unless the URL says otherwise.
const TIMEOUT: Duration = Duration::from_secs(5);
/// What may stand in a URL as it is (RFC 3986, unreserved).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
const PLACEHOLDERS: [&str; 4] = ["{key}", "{tenant}", "{scope}", "{fence}"];

/// A URL that knows whether an operation happened, such as
/// `http://127.0.0.1:8080/payments?key={key}&fence={fence}`.
///
/// `{key}`, `{tenant}`, `{scope}` and `{fence}` are filled in, percent-encoded. The answer to `GET`:
///
/// - 2xx: it happened, and this response is what callers get from now on;
/// - 404 or 410: it did not happen, and it may be run again;
/// - anything else, a redirect included, or none in time: the outcome stays unknown, callers get 409 `outcome-unknown`.
///
/// An operation whose key would make another path of it, such as `..`, is not asked about and stays unknown too.
///
/// **404 must be final for that fence.** A slow owner may still be on its way: a service that says 404 and
/// then lets the owner of that fence go on will have the effect twice. It must refuse fences up to the one
/// it was asked about, or know that their owner is gone.
///
/// ```
/// use std::time::Duration;
/// use semel_gateway::ReconcileUrl;
///
/// let url: ReconcileUrl = "https://provider.example/payments/{key}?fence={fence}".parse()?;
/// let url = url.within(Duration::from_secs(2));
/// # Ok::<(), semel_gateway::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReconcileUrl {
    target: Target,
    /// Path and query with placeholders.
    template: String,
    timeout: Duration,
    /// Sent with every question. They are secrets: each is marked as sensitive, so that it is not shown.
    headers: HeaderMap,
}

impl ReconcileUrl {
    /// The same with another time to answer in.
    #[must_use]
    pub const fn within(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// The same with a header that is sent along, such as credentials. It is never shown.
    #[must_use]
    pub fn with_header(mut self, name: HeaderName, mut value: HeaderValue) -> Self {
        value.set_sensitive(true);
        self.headers.append(name, value);
        self
    }

    pub(crate) const fn target(&self) -> &Target {
        &self.target
    }

    fn path(&self, identity: &Identity, fence: Fence) -> Result<PathAndQuery, &'static str> {
        let encoded = |text: &str| utf8_percent_encode(text, ENCODED).to_string();
        let values = [
            encoded(identity.key().as_str()),
            encoded(identity.tenant().as_str()),
            encoded(&identity.scope().to_string()),
            fence.to_string(),
        ];
        // Encoded values hold no braces, so none of them is taken for a placeholder.
        let filled = PLACEHOLDERS.iter().zip(&values);
        let path = filled.fold(self.template.clone(), |path, (name, value)| {
            path.replace(name, value)
        });
        let values = [identity.key().as_str(), identity.tenant().as_str()];
        let is_empty = |value: &&str| value.trim().is_empty();
        let in_path = self.template.split('?').next().unwrap_or_default();
        // Many decode `%2F` before they look for a resource: their 404 would not be about this key.
        let has_slash =
            |(name, value): (&&str, &&str)| in_path.contains(*name) && value.contains(['/', '\\']);
        // Dots are never encoded, and many resolve them even if they are: `/ops/..` is not about the key `..`.
        if values.iter().any(is_empty)
            || PLACEHOLDERS.iter().zip(&values).any(has_slash)
            || has_dot_segments(path.split('?').next().unwrap_or_default())
        {
            return Err(
                "the key or the tenant would make another path of the URL, so nothing was asked",
            );
        }
        PathAndQuery::try_from(path).map_err(|_| "the filled URL is not valid")
    }
}

impl FromStr for ReconcileUrl {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let bad = |what: &str| {
            let names = PLACEHOLDERS.join(" ");
            Error::invalid(format!(
                "a reconcile URL is http(s)://HOST[:PORT]/… with {names} in path or query, {what} in {text:?}"
            ))
        };
        let (scheme, rest) = text.split_once("://").ok_or_else(|| bad("no scheme"))?;
        let at = rest.find(['/', '?']).ok_or_else(|| bad("no path"))?;
        let (authority, path) = rest.split_at(at);
        let base: Uri = format!("{scheme}://{authority}/")
            .parse()
            .map_err(|_| bad("no valid host"))?;
        let template = match path.starts_with('?') {
            true => format!("/{path}"),
            false => path.to_owned(),
        };
        let without = PLACEHOLDERS
            .iter()
            .fold(template.clone(), |left, name| left.replace(name, "x"));
        if without.contains(['{', '}']) || PathAndQuery::try_from(without.as_str()).is_err() {
            return Err(bad("another placeholder or a bad character"));
        }
        if !template.contains("{key}") {
            return Err(bad("no {key}"));
        }
        Ok(Self {
            target: Target::parse(&base)?,
            template,
            timeout: TIMEOUT,
            headers: HeaderMap::new(),
        })
    }
}

impl fmt::Display for ReconcileUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, authority) = (self.target.scheme(), self.target.authority());
        write!(f, "{scheme}://{authority}{}", self.template)
    }
}

/// A reconcile URL and the connections to it.
#[derive(Debug)]
pub(crate) struct Reconciler {
    url: ReconcileUrl,
    pool: Arc<Pool>,
    rules: Rules,
    memory: Memory,
}

impl Reconciler {
    pub(crate) const fn new(
        url: ReconcileUrl,
        pool: Arc<Pool>,
        rules: Rules,
        memory: Memory,
    ) -> Self {
        Self {
            url,
            pool,
            rules,
            memory,
        }
    }

    /// The answer in time, or why there is none that tells.
    pub(crate) async fn asked(
        &self,
        identity: &Identity,
        fence: Fence,
    ) -> std::result::Result<Reconciled, String> {
        let limit = self.url.timeout;
        let asked = tokio::time::timeout(limit, self.answer(identity, fence)).await;
        asked.unwrap_or_else(|_| Err(format!("no answer within {limit:?}")))
    }

    pub(crate) const fn url(&self) -> &ReconcileUrl {
        &self.url
    }

    /// Whether another one asks the same question and keeps as much of its answer.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let (own, others) = (&self.rules, &other.rules);
        self.url == other.url
            && own.retention == others.retention
            && own.stored == others.stored
            && own.response_bytes_max == others.response_bytes_max
            && own.replay_cookies == others.replay_cookies
    }

    pub(crate) const fn retention(&self) -> Retention {
        self.rules.retention
    }

    async fn answer(
        &self,
        identity: &Identity,
        fence: Fence,
    ) -> std::result::Result<Reconciled, String> {
        let path = self.url.path(identity, fence)?;
        let mut request = Request::new(Outgoing::Whole(semel_http::Body::empty()));
        let headers = request.headers_mut();
        headers.insert(ACCEPT, HeaderValue::from_static("*/*"));
        headers.extend(self.url.headers.clone());
        headers.insert(HOST, self.pool.target().host_header().clone());
        let response = self.pool.clone().send(request, path, Need::Any).await;
        let response = response.map_err(|failure| failure.to_string())?;
        let (mut head, body) = response.into_parts();
        hygiene::inbound(&mut head);
        match head.status {
            status if status.is_success() => self.happened(&head, body).await,
            StatusCode::NOT_FOUND | StatusCode::GONE => Ok(Reconciled::DidNotHappen),
            status => Err(format!("it answered {status}")),
        }
    }

    async fn happened(
        &self,
        head: &response::Parts,
        body: Received,
    ) -> std::result::Result<Reconciled, String> {
        let (bytes, _held) = read(&self.memory, body).await?;
        let body = Body::capped(bytes, self.rules.response_bytes_max);
        let outcome = replay::outcome(&self.rules, head, None, body);
        Ok(Reconciled::Happened(self.rules.stored.of(outcome)))
    }
}

/// The whole body, if it is not larger than any store keeps.
async fn read(memory: &Memory, mut body: Received) -> std::result::Result<(Bytes, Permit), String> {
    let mut bytes = Buffer::response(memory, usize::MAX);
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| error.to_string())?;
        if let Ok(data) = frame.into_data() {
            bytes.push_anyway(&data, body.is_end_stream());
        }
        if bytes.len() > BODY_BYTES_MAX {
            return Err(format!("its answer has more than {BODY_BYTES_MAX} bytes"));
        }
    }
    Ok(bytes.finish())
}

impl Reconcile for Reconciler {
    fn ask<'a>(&'a self, identity: &'a Identity, fence: Fence) -> Asking<'a> {
        Box::pin(async move {
            self.asked(identity, fence).await.unwrap_or_else(|why| {
                let scope = identity.scope();
                tracing::warn!(url = %self.url, %scope, %fence, why, "an outcome stays unknown");
                Reconciled::CannotTell
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_encoded_and_cannot_leave_their_place() {
        let url: ReconcileUrl = "http://a:1/p/{scope}?k={key}&t={tenant}&f={fence}"
            .parse()
            .unwrap();
        let identity = Identity::parse("a&b", "POST /x@2", "{fence}/../é?#").unwrap();
        let path = url.path(&identity, Fence::new(7)).unwrap();
        assert_eq!(
            path.as_str(),
            "/p/POST%20%2Fx%402?k=%7Bfence%7D%2F..%2F%C3%A9%3F%23&t=a%26b&f=7"
        );
    }

    #[test]
    fn a_key_cannot_make_another_path_of_the_url() {
        let path = |url: &str, key: &str| {
            let url: ReconcileUrl = url.parse().unwrap();
            let identity = Identity::parse("t", "s@1", key).unwrap();
            url.path(&identity, Fence::new(7))
                .map(|path| path.to_string())
        };
        for key in [
            ".", "..", "a/../b", "a/b", "a\\b", "..;x", "%2e%2e", "..\\x", " ",
        ] {
            assert!(path("http://a/ops/{key}", key).is_err(), "{key}");
        }
        assert!(path("http://a/ops/.{key}", ".").is_err());
        for key in ["...", "a.b", "..a"] {
            assert!(path("http://a/ops/{key}", key).is_ok(), "{key}");
        }
        // Where it is no segment it is harmless.
        assert_eq!(
            path("http://a/ops?k={key}", "..").as_deref(),
            Ok("/ops?k=..")
        );
        assert!(path("http://a/ops?k={key}", "a/b").is_ok());
    }

    #[test]
    fn what_is_sent_along_is_not_shown() {
        let url: ReconcileUrl = "http://a/{key}".parse().unwrap();
        let url = url.with_header(
            http::header::AUTHORIZATION,
            HeaderValue::from_static("Bearer hunter2"),
        );
        let shown = format!("{url} {url:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }

    #[test]
    fn what_could_not_be_asked_is_refused() {
        for text in [
            "/p?key={key}",
            "http://a",
            "http://a/p",
            "http://{key}/p",
            "ftp://a/{key}",
            "http://a/{key}/{other}",
            "http://a/{key",
            "http://u@a/{key}",
            "http://a/ {key}",
        ] {
            assert!(text.parse::<ReconcileUrl>().is_err(), "{text}");
        }
        let url = "https://a/p?k={key}";
        assert_eq!(url.parse::<ReconcileUrl>().unwrap().to_string(), url);
    }
}
