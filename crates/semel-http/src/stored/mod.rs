//! What of an outcome is stored: all of it, its head, its status; and what is taken out before.
//!
//! The first client gets the answer as the service gave it. What is left out here reaches no store, no backup and no log, and so no replay has it:
//! one without its body says `body-not-kept`, one with something taken out says so in [`REDACTED`].

mod splice;

use http::HeaderName;
use semel_core::{Body, Headers, Outcome};

use crate::path::JsonPath;
use crate::replay::TRAILER_PREFIX;

/// Says of a replay what was taken out before it was stored: `body`, `headers`, or both.
pub const REDACTED: HeaderName = HeaderName::from_static("semel-redacted");
/// The most paths, and the most headers, that one route takes out.
pub const REDACTIONS_MAX: usize = 64;

/// Headers that are about the exact bytes of a body.
const OF_THE_BODY: [&str; 6] = [
    "content-length",
    "content-digest",
    "repr-digest",
    "digest",
    "content-md5",
    "etag",
];

/// How much of an outcome is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Contents {
    /// Status, headers and body.
    #[default]
    Full,
    /// Status and headers; of the body length and digest.
    Head,
    /// The status; of the body length and digest. The same as the service's word `Semel-Outcome: no-store`.
    Status,
}

/// What a route stores of its outcomes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Stored {
    /// How much.
    pub contents: Contents,
    /// Which values of a JSON body are replaced.
    pub without: Vec<JsonPath>,
    /// Which headers and trailers are left out.
    pub without_headers: Vec<HeaderName>,
}

impl Stored {
    /// Whether nothing is left out.
    pub const fn is_everything(&self) -> bool {
        matches!(self.contents, Contents::Full)
            && self.without.is_empty()
            && self.without_headers.is_empty()
    }

    /// The outcome as it may be stored. A body in which the values cannot be found for certain (no JSON, compressed, a field twice in one object)
    /// is not kept at all.
    pub fn of(&self, outcome: Outcome) -> Outcome {
        match self.contents {
            _ if self.is_everything() => outcome,
            Contents::Status => nothing_but_status(outcome),
            Contents::Head => {
                let outcome = self.redacted(outcome);
                let body = omitted(&outcome.body);
                Outcome { body, ..outcome }
            }
            Contents::Full => self.redacted(outcome),
        }
    }

    fn redacted(&self, outcome: Outcome) -> Outcome {
        let body = match (outcome.body.kept(), self.without.is_empty()) {
            (Some(bytes), false) if !bytes.is_empty() => splice::without(bytes, &self.without)
                .map_or_else(|| Some(omitted(&outcome.body)), |new| new.map(Body::Kept)),
            _ => None,
        };
        let fields = outcome.headers.iter();
        let mut fields: Vec<_> = fields.map(|(n, v)| (n.to_owned(), v.clone())).collect();
        let before = fields.len();
        fields.retain(|(name, _)| !self.leaves_out(name));
        let headers = fields.len() < before;
        if body.is_some() {
            let plain = |name: &str| name.strip_prefix(TRAILER_PREFIX).unwrap_or(name).to_owned();
            fields.retain(|(name, _)| !OF_THE_BODY.contains(&plain(name).as_str()));
        }
        let said = match (matches!(body, Some(Body::Kept(_))), headers) {
            (true, true) => Some("body, headers"),
            (true, false) => Some("body"),
            (false, true) => Some("headers"),
            (false, false) => None,
        };
        if let Some(said) = said {
            fields.insert(0, (REDACTED.as_str().to_owned(), said.into()));
        }
        Outcome {
            // One field came, at least one went or its value is short: what fitted before fits.
            headers: Headers::fitting(fields, |name| REDACTED.as_str() == name),
            body: body.unwrap_or(outcome.body),
            ..outcome
        }
    }

    fn leaves_out(&self, name: &str) -> bool {
        let name = name.strip_prefix(TRAILER_PREFIX).unwrap_or(name);
        self.without_headers.iter().any(|one| one.as_str() == name)
    }
}

/// An outcome of which only status, length and digest are kept.
pub(crate) fn nothing_but_status(outcome: Outcome) -> Outcome {
    Outcome {
        headers: Headers::default(),
        body: omitted(&outcome.body),
        ..outcome
    }
}

fn omitted(body: &Body) -> Body {
    Body::Omitted {
        len: body.len(),
        digest: body.digest(),
    }
}

#[cfg(test)]
mod tests;
