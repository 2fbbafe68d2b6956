//! What came back for an operation, and how.

use std::fmt;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::advice;
use crate::key::Key;

/// The answer to an operation, with the key and the number of tries that it took.
///
/// A failure status is an answer too: the server ran the operation, and this is how it
/// ended.
#[derive(Clone)]
pub struct Response {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    pub(crate) key: Key,
    pub(crate) tries: u32,
}

impl Response {
    /// The status of the answer.
    pub const fn status(&self) -> StatusCode {
        self.status
    }

    /// The headers of the answer.
    pub const fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    /// The whole body.
    pub const fn body(&self) -> &Bytes {
        &self.body
    }

    /// The whole body, without a copy.
    pub fn into_body(self) -> Bytes {
        self.body
    }

    /// Whether the server says that it ran nothing and repeated a settled outcome.
    ///
    /// After several tries this is the usual good end: an earlier try took effect, and
    /// its answer was lost on the way.
    pub fn is_replayed(&self) -> bool {
        advice::is_replayed(&self.headers)
    }

    /// How many tries were made, the answered one included.
    pub const fn tries(&self) -> u32 {
        self.tries
    }

    /// The key that was sent on every try.
    pub const fn key(&self) -> &Key {
        &self.key
    }
}

/// Bodies and values of headers are other people's secrets; logs get their shape only.
impl fmt::Debug for Response {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.keys().map(|name| name.as_str()).collect();
        f.debug_struct("Response")
            .field("status", &self.status)
            .field("headers", &names)
            .field("body_bytes", &self.body.len())
            .field("key", &self.key)
            .field("tries", &self.tries)
            .finish()
    }
}
