//! What is compared of a request's head.

use http::header::{CONTENT_ENCODING, HOST};
use http::request::Parts;
use http::{HeaderName, Method, Uri};
use semel_core::fingerprint::Builder;

use super::content::Content;
use super::{joined, query};
use crate::host;

/// The most headers that one route compares.
pub const HEADERS_MAX: usize = 32;

/// What counts besides method, path, query and content type, which always do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// Whether the host that the client asks counts: two hosts may be two shops.
    pub authority: bool,
    /// The headers that choose what a request acts on, such as an account or a region.
    pub headers: Vec<HeaderName>,
}

impl Default for Head {
    fn default() -> Self {
        Self {
            authority: true,
            headers: Vec::new(),
        }
    }
}

/// Headers that name another method to services that read them.
pub static METHOD_OVERRIDES: [HeaderName; 3] = [
    HeaderName::from_static("x-http-method-override"),
    HeaderName::from_static("x-http-method"),
    HeaderName::from_static("x-method-override"),
];

/// How lenient services read a request's method and URI, as an extension of it. A derived key is made of this: two
/// spellings of one request are then one operation, and the second is refused by its fingerprint.
#[derive(Debug, Clone)]
pub struct UsualReading {
    /// The method in capitals.
    pub method: Method,
    /// The URI with its path in small letters and without needless marks.
    pub uri: Uri,
}

impl UsualReading {
    /// The head of a request as it is usually read.
    pub(crate) fn of(&self, parts: &Parts) -> Parts {
        let mut parts = parts.clone();
        parts.method = self.method.clone();
        parts.extensions.insert(AskedUri(self.uri.clone()));
        parts
    }
}

/// The URI that the client sent, as an extension of a request whose own URI was rewritten on its way: a router that
/// nests another takes its prefix away. With the feature `axum` the layer takes it from axum by itself.
#[derive(Debug, Clone)]
pub struct AskedUri(pub Uri);

impl Head {
    pub(super) fn of(&self, parts: &Parts, content: &Content) -> Builder {
        let asked = parts.extensions.get::<AskedUri>();
        let uri = asked.map_or(&parts.uri, |AskedUri(uri)| uri);
        let sorted = query::sorted(uri.query().unwrap_or_default());
        let encoding = parts.headers.get(CONTENT_ENCODING);
        let authority = match self.authority {
            true => authority(uri, parts),
            false => String::new(),
        };
        Builder::default()
            .part("method", parts.method.as_str().as_bytes())
            .part("authority", authority.as_bytes())
            .part("path", uri.path().as_bytes())
            .part("query", &joined(sorted.into_iter()))
            .part("type", &content.label(&parts.headers))
            .part("encoding", encoding.map_or(b"", |value| value.as_bytes()))
            .part("headers", &joined(self.values(parts)))
    }

    fn values(&self, parts: &Parts) -> impl Iterator<Item = (Vec<u8>, Vec<u8>)> {
        let all = |name| parts.headers.get_all(name).iter();
        let pair =
            |name: &HeaderName, value: &[u8]| (name.as_str().into(), value.trim_ascii().into());
        let headers = METHOD_OVERRIDES.iter().chain(&self.headers);
        headers.flat_map(move |name| all(name).map(move |value| pair(name, value.as_bytes())))
    }
}

/// The host that the client means, without its port: a gateway that was moved to another port, or another node of it, is
/// the same shop.
fn authority(uri: &Uri, parts: &Parts) -> String {
    let unreadable = || {
        let written = parts
            .headers
            .get(HOST)
            .map_or(&b""[..], |value| value.as_bytes());
        String::from_utf8_lossy(written).into_owned()
    };
    host::meant(uri, &parts.headers).unwrap_or_else(unreadable)
}
