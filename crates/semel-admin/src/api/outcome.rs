//! Outcomes that callers bring.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::{Body, Headers, Outcome, Retention, Verdict};
use serde::Deserialize;
use std::time::Duration;
use utoipa::ToSchema;

use crate::input::refuse_field;
use crate::refused::Refused;

/// Whether the run did what was asked.
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = Verdict)]
pub(crate) enum VerdictInput {
    /// It did.
    Succeeded,
    /// It did not, and trying again would not change that.
    Failed,
}

/// An outcome in the parts that callers name. No `Debug`: it is all payload.
pub(crate) struct Parts {
    pub(crate) verdict: VerdictInput,
    pub(crate) status: Option<u16>,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<String>,
    pub(crate) body_base64: Option<String>,
}

impl Parts {
    /// The outcome. A body above the cap keeps length and digest: the effect has happened, and to
    /// refuse its outcome now would lose it.
    pub(crate) fn outcome(self) -> Result<Outcome, Refused> {
        let (body, encoded) = (self.body, self.body_base64);
        Ok(Outcome {
            verdict: match self.verdict {
                VerdictInput::Succeeded => Verdict::Succeeded,
                VerdictInput::Failed => Verdict::Failed,
            },
            status: status(self.status)?,
            headers: headers(self.headers)?,
            body: Body::capped(bytes(body, encoded)?, BODY_BYTES_MAX),
        })
    }
}

fn status(status: Option<u16>) -> Result<u16, Refused> {
    match status {
        None => Ok(0),
        Some(status @ 200..=599) => Ok(status),
        Some(other) => {
            let why = format!("a status is 200 to 599, found {other}");
            Err(refuse_field("status", &why))
        }
    }
}

/// A body that is given as text or in base64; empty if it is given in neither.
pub(crate) fn bytes(body: Option<String>, encoded: Option<String>) -> Result<Bytes, Refused> {
    match (body, encoded) {
        (Some(_), Some(_)) => {
            let why = "expected body or body_base64, found both";
            Err(refuse_field("body_base64", why))
        }
        (Some(text), None) => Ok(text.into()),
        (None, Some(encoded)) => {
            let decoded = STANDARD.decode(encoded);
            let wrong = |error| refuse_field("body_base64", &format!("not base64: {error}"));
            decoded.map(Bytes::from).map_err(wrong)
        }
        (None, None) => Ok(Bytes::new()),
    }
}

/// Header fields as pairs of name and value.
pub(crate) fn headers(fields: Vec<(String, String)>) -> Result<Headers, Refused> {
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    for (at, (name, value)) in fields.iter().enumerate() {
        let refuse = |why: &str| Err(refuse_field(&format!("headers[{at}]"), why));
        if name.is_empty() || !name.chars().all(is_token) {
            return refuse("expected a header name");
        }
        if value.chars().any(|c| c.is_control() && c != '\t') {
            return refuse("a header value has no control characters");
        }
    }
    let fields = fields
        .into_iter()
        .map(|(name, value)| (name, Bytes::from(value)));
    Headers::new(fields.collect()).map_err(|error| refuse_field("headers", &error.to_string()))
}

/// The verdict of an outcome that is put on record.
pub(crate) fn needed(verdict: Option<VerdictInput>) -> Result<VerdictInput, Refused> {
    verdict.ok_or_else(|| refuse_field("verdict", "an outcome needs a verdict; found none"))
}

/// How long to keep an outcome; 24 h unless told otherwise.
pub(crate) fn retention(keep: Option<Duration>, archive: bool) -> Result<Retention, Refused> {
    let keep = keep.unwrap_or(Retention::default().keep());
    let retention = match archive {
        true => Retention::archive_after(keep),
        false => Retention::delete_after(keep),
    };
    retention.map_err(|error| refuse_field("retention", &error.to_string()))
}
