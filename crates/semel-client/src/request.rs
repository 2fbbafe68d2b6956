//! One operation: a request and its key, fixed before the first try.
//!
//! The body is held as bytes, not as a stream or a value to be serialised, because
//! every try must send the same bytes.

use std::fmt;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::{IntoUrl, Url};

use crate::client::Client;
use crate::error::{Error, Result, chain};
use crate::key::Key;
use crate::response::Response;
use crate::tries;

/// One operation. It has its key from the start, and sending it again is the same
/// operation again.
///
/// It cannot be cloned: a copy would share the key, and look like a second operation.
#[must_use = "nothing is sent before `send` is awaited"]
pub struct Request {
    client: Client,
    key: Key,
    // The first mistake is kept until `send`, so that calls can be chained.
    parts: std::result::Result<Parts, String>,
}

/// What every try sends besides the key.
pub(crate) struct Parts {
    pub(crate) method: Method,
    pub(crate) url: Url,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Request {
    pub(crate) fn new(client: Client, method: Method, url: impl IntoUrl) -> Self {
        let parts = url.into_url().map(|url| Parts {
            method,
            url,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        });
        Self {
            client,
            key: Key::generate(),
            parts: parts.map_err(|error| invalid_url(error).to_string()),
        }
    }

    /// Names the operation by a key that the caller knows, instead of a fresh one.
    ///
    /// A caller that may die or drop the future needs this: it makes the key with
    /// [`Key::generate`], stores it, and sends the request again under it later.
    pub fn key(mut self, key: Key) -> Self {
        self.key = key;
        self
    }

    /// Sets a header; the last value of a name holds.
    pub fn header<N, V>(mut self, name: N, value: V) -> Self
    where
        N: TryInto<HeaderName>,
        V: TryInto<HeaderValue>,
    {
        let header = (name.try_into().ok()).zip(value.try_into().ok());
        self.parts = self.parts.and_then(|mut parts| match header {
            Some((name, _)) if name == self.client.key_header => Err(format!(
                "the key must be set as a key, found the header {name}"
            )),
            Some((name, value)) => {
                parts.headers.insert(name, value);
                Ok(parts)
            }
            None => Err("expected a header name and value as RFC 9110 defines them".to_owned()),
        });
        self
    }

    /// Sets the body, sent byte for byte on every try.
    pub fn body(mut self, body: impl Into<Bytes>) -> Self {
        if let Ok(parts) = &mut self.parts {
            parts.body = body.into();
        }
        self
    }

    /// Sets a body that is JSON already, and says so in `Content-Type`.
    pub fn json_bytes(self, json: impl Into<Bytes>) -> Self {
        let content_type = HeaderValue::from_static("application/json");
        self.body(json).header(CONTENT_TYPE, content_type)
    }

    /// Tries until the operation is settled or the policy's limits are reached.
    ///
    /// Every status that settles the operation is an answer, a failure too. A caller that
    /// drops the future does not take the effect back: it may have happened, and sending
    /// this request again, or one with the same key, tells.
    pub async fn send(&self) -> Result<Response> {
        let parts = self.parts.as_ref().map_err(Error::invalid)?;
        tries::run(&self.client, parts, &self.key).await
    }
}

/// URLs may carry secrets, so the message does not repeat them.
pub(crate) fn invalid_url(error: reqwest::Error) -> Error {
    let found = chain(&error.without_url());
    Error::invalid(format!("expected an absolute http url, found {found}"))
}

/// Headers and bodies are other people's secrets, and so may be the query of the URL.
impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Request");
        debug.field("key", &self.key);
        match &self.parts {
            Ok(parts) => debug
                .field("method", &parts.method)
                .field("host", &parts.url.host_str())
                .field("body_bytes", &parts.body.len()),
            Err(invalid) => debug.field("invalid", invalid),
        };
        debug.finish_non_exhaustive()
    }
}
