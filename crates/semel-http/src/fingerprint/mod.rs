//! What is asked for: the fingerprint of a request.
//!
//! Method, authority, path, sorted query, content type and the route's own headers count as the client sent them. The
//! body counts as canonical JSON where it is JSON, part by part where it is a multipart form, and byte by byte otherwise.

pub(crate) mod content;
mod head;
mod multipart;
pub mod query;

pub use head::{AskedUri, HEADERS_MAX, Head, METHOD_OVERRIDES, UsualReading};

use bytes::Bytes;
use http::header::CONTENT_ENCODING;
use http::request::Parts;
use semel_core::Fingerprint;
use semel_core::fingerprint::canonical;
use serde_json::Value;

use crate::path::{self, JsonPath};
use content::{Content, without_bom};

/// What makes two requests the same.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum By {
    /// All of it; the order of JSON fields does not matter.
    #[default]
    CanonicalJson,
    /// All of it, byte by byte.
    Raw,
    /// Of the body only these fields.
    Fields(Vec<JsonPath>),
    /// The body without these fields.
    Exclude(Vec<JsonPath>),
    /// Nothing: the key alone says everything.
    Off,
}

impl By {
    /// The fingerprint of a request.
    pub async fn of(&self, head: &Head, parts: &Parts, body: &Bytes) -> Fingerprint {
        if *self == Self::Off {
            return Fingerprint::none();
        }
        let content = match parts.headers.contains_key(CONTENT_ENCODING) {
            // A compressed body cannot be looked into.
            true => Content::Other,
            false => Content::of(&parts.headers, body),
        };
        let builder = head.of(parts, &content);
        match self.body(&content, body).await {
            Some((name, bytes)) => builder.part(name, &bytes).finish(),
            None => builder.part("raw", body).finish(),
        }
    }

    /// The body in the form that is compared; `None` if that is byte by byte.
    async fn body(&self, content: &Content, body: &Bytes) -> Option<(&'static str, Vec<u8>)> {
        match (self, content) {
            (Self::Raw | Self::Off, _) | (_, Content::Other) => None,
            (Self::CanonicalJson, Content::Json) => {
                Some(("json", canonical::json(without_bom(body))?))
            }
            (Self::CanonicalJson, Content::Form) => None,
            (_, Content::Multipart { boundary }) => {
                // Boxed, so that other requests do not carry the room for it around.
                let digest = multipart::digest(body, boundary, |name| self.counts(name));
                Some(("multipart", Box::pin(digest).await?))
            }
            (Self::Fields(paths), Content::Json) => Some(("fields", chosen(body, paths)?)),
            (Self::Exclude(paths), Content::Json) => Some(("rest", without(body, paths)?)),
            (Self::Fields(_) | Self::Exclude(_), Content::Form) => {
                let kept = query::pairs(std::str::from_utf8(body).ok()?).into_iter();
                let kept = kept.filter(|(name, _)| self.counts(&String::from_utf8_lossy(name)));
                let kept = joined(kept);
                (!kept.is_empty()).then_some(("form", kept))
            }
        }
    }

    /// Whether a field of a form counts.
    fn counts(&self, name: &str) -> bool {
        let named = |paths: &[JsonPath]| paths.iter().any(|path| path.field() == Some(name));
        match self {
            Self::Fields(paths) => named(paths),
            Self::Exclude(paths) => !named(paths),
            Self::CanonicalJson | Self::Raw | Self::Off => true,
        }
    }
}

/// Pairs with their lengths in front, so that they can neither swap nor run together.
fn joined(pairs: impl Iterator<Item = (Vec<u8>, Vec<u8>)>) -> Vec<u8> {
    let mut out = Vec::new();
    for part in pairs.flat_map(|(name, value)| [name, value]) {
        out.extend_from_slice(&(part.len() as u64).to_le_bytes());
        out.extend_from_slice(&part);
    }
    out
}

/// The values at `paths`. Texts without a safe canonical form are compared whole.
fn chosen(body: &[u8], paths: &[JsonPath]) -> Option<Vec<u8>> {
    let document = document(body)?;
    let found = paths.iter().map(|path| path.find(&document));
    // Where there is too much to look at, all of it counts.
    let found: Vec<Vec<&Value>> = found.collect::<Option<_>>()?;
    if found.iter().all(Vec::is_empty) {
        // Nothing of what was chosen is there: all of it counts.
        return None;
    }
    canonical::json(&serde_json::to_vec(&found).ok()?)
}

/// The body without what is at `paths`.
fn without(body: &[u8], paths: &[JsonPath]) -> Option<Vec<u8>> {
    let rest = path::without(&document(body)?, paths)?;
    canonical::json(&serde_json::to_vec(&rest).ok()?)
}

fn document(body: &[u8]) -> Option<Value> {
    let body = without_bom(body);
    // The guard of the canonical form: a text that has none is not safe to take apart either.
    canonical::json(body)?;
    serde_json::from_slice(body).ok()
}

#[cfg(test)]
mod tests;
