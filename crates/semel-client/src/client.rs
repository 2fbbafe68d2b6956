//! The client: one HTTP client, one policy, one way to write the key.

use std::fmt;

use http::{HeaderName, Method};
use reqwest::IntoUrl;

use crate::request::Request;
use crate::retry::Retry;

/// The name of the header that carries the key, unless the client is told another.
pub const KEY_HEADER: HeaderName = HeaderName::from_static("idempotency-key");

/// The largest body that is read unless the client is told another limit: the largest
/// that Semel keeps, so that whatever can be replayed can be read.
pub const BODY_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Sends operations, each under one key, until they are settled. Cheap to clone.
///
/// ```
/// use semel_client::{Client, Retry, reqwest};
///
/// let paypal = Client::new(reqwest::Client::new())
///     .key_header("PayPal-Request-Id".parse()?)
///     .retry(Retry::default().tries_max(3));
/// # let _ = paypal;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Client {
    pub(crate) http: reqwest::Client,
    pub(crate) key_header: HeaderName,
    pub(crate) quote_keys: bool,
    pub(crate) body_bytes_max: usize,
    pub(crate) retry: Retry,
}

impl Client {
    /// A client on top of `http`, whose timeouts, proxies and default headers hold for
    /// every try.
    ///
    /// Redirects are followed as `http` follows them; those that repeat the method (307
    /// and 308) carry the key and the body along.
    pub fn new(http: reqwest::Client) -> Self {
        Self {
            http,
            key_header: KEY_HEADER,
            quote_keys: false,
            body_bytes_max: BODY_BYTES_MAX,
            retry: Retry::default(),
        }
    }

    /// Sends the key in another header than [`KEY_HEADER`].
    pub fn key_header(mut self, name: HeaderName) -> Self {
        self.key_header = name;
        self
    }

    /// Sends the key as a string of RFC 9651 (`"…"`), for servers that insist on it.
    /// Semel takes both forms for the same key.
    pub fn quote_keys(mut self) -> Self {
        self.quote_keys = true;
        self
    }

    /// Reads bodies of at most `bytes_max` bytes, [`BODY_BYTES_MAX`] by default.
    pub fn body_bytes_max(mut self, bytes_max: usize) -> Self {
        self.body_bytes_max = bytes_max;
        self
    }

    /// Tries by another policy than the default. A policy beyond its stated limits makes
    /// every operation [`Invalid`](crate::Kind::Invalid).
    pub fn retry(mut self, retry: Retry) -> Self {
        self.retry = retry;
        self
    }

    /// A new operation that posts to `url`.
    pub fn post(&self, url: impl IntoUrl) -> Request {
        self.request(Method::POST, url)
    }

    /// A new operation that puts to `url`.
    pub fn put(&self, url: impl IntoUrl) -> Request {
        self.request(Method::PUT, url)
    }

    /// A new operation that patches `url`.
    pub fn patch(&self, url: impl IntoUrl) -> Request {
        self.request(Method::PATCH, url)
    }

    /// A new operation that deletes `url`.
    pub fn delete(&self, url: impl IntoUrl) -> Request {
        self.request(Method::DELETE, url)
    }

    /// A new operation with any method.
    pub fn request(&self, method: Method, url: impl IntoUrl) -> Request {
        Request::new(self.clone(), method, url)
    }
}

/// The HTTP client may hold credentials in its default headers; they stay out of logs.
impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("key_header", &self.key_header)
            .field("quote_keys", &self.quote_keys)
            .field("body_bytes_max", &self.body_bytes_max)
            .field("retry", &self.retry)
            .finish_non_exhaustive()
    }
}
