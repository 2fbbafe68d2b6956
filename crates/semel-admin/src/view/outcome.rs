//! What a run brought. No `Debug` here: contents that are shown to whoever asked must not reach logs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use semel_core::State;
use semel_http::trace;
use serde::Serialize;
use utoipa::ToSchema;

use super::{Payload, hex, status};

/// What a run brought.
#[derive(Serialize, ToSchema)]
pub struct Outcome {
    /// `succeeded` or `failed`.
    verdict: &'static str,
    /// The HTTP status, where there is one.
    status: Option<u16>,
    /// Header fields in their order, repeats kept.
    headers: Vec<Header>,
    /// The span that ran, as in `traceparent`, if it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    trace: Option<String>,
    /// The result itself.
    body: Body,
}

/// One header field.
#[derive(Serialize, ToSchema)]
pub struct Header {
    /// Its name.
    name: String,
    /// Its value, if it is text and was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// Its value in hexadecimal, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    value_hex: Option<String>,
    /// Its value in base64, if it is not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    value_base64: Option<String>,
}

/// A body, or what is left of it.
#[derive(Serialize, ToSchema)]
#[schema(as = OutcomeBody)]
pub struct Body {
    /// How many bytes it had.
    bytes: u64,
    /// Whether they were kept: above the cap only length and digest are.
    kept: bool,
    /// BLAKE3 of the bytes.
    blake3: Option<String>,
    /// The bytes, if they are text and were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    /// The bytes in hexadecimal, if they are not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    hex: Option<String>,
    /// The bytes in base64, if they are not text.
    #[serde(skip_serializing_if = "Option::is_none")]
    base64: Option<String>,
}

/// Bytes in the one form that suits them.
#[derive(Default)]
struct Shown {
    text: Option<String>,
    hex: Option<String>,
    base64: Option<String>,
}

impl Shown {
    fn of(bytes: &[u8], payload: Payload) -> Self {
        let mut shown = Self::default();
        match (payload, std::str::from_utf8(bytes)) {
            (Payload::Hidden, _) => {}
            (Payload::Shown | Payload::Base64, Ok(text)) => shown.text = Some(text.to_owned()),
            (Payload::Shown, Err(_)) => shown.hex = Some(hex(bytes)),
            (Payload::Base64, Err(_)) => shown.base64 = Some(STANDARD.encode(bytes)),
        }
        shown
    }
}

impl Header {
    /// Header fields, with as much of their values as `payload` says.
    pub(super) fn all<'a>(
        headers: impl Iterator<Item = (&'a str, &'a bytes::Bytes)>,
        payload: Payload,
    ) -> Vec<Self> {
        let header = |(name, bytes): (&str, &bytes::Bytes)| {
            let Shown { text, hex, base64 } = Shown::of(bytes, payload);
            Self {
                name: name.to_owned(),
                value: text,
                value_hex: hex,
                value_base64: base64,
            }
        };
        headers.map(header).collect()
    }
}

impl Body {
    /// Bytes that are kept, with as much of them as `payload` says.
    pub(super) fn of(bytes: &[u8], payload: Payload) -> Self {
        let Shown { text, hex, base64 } = Shown::of(bytes, payload);
        Self {
            bytes: bytes.len() as u64,
            kept: true,
            blake3: Some(blake3::hash(bytes).to_hex().to_string()),
            text,
            hex,
            base64,
        }
    }

    fn of_outcome(body: &semel_core::Body, payload: Payload) -> Self {
        match body.kept() {
            Some(bytes) => Self::of(bytes, payload),
            None => Self {
                bytes: body.len(),
                kept: false,
                blake3: body.digest().map(|digest| hex(&digest)),
                text: None,
                hex: None,
                base64: None,
            },
        }
    }
}

impl Outcome {
    /// The outcome, with as much of its contents as `payload` says.
    pub fn of(outcome: &semel_core::Outcome, payload: Payload) -> Self {
        Self {
            verdict: outcome.verdict.name(),
            status: status(outcome),
            headers: Header::all(trace::answered_with(&outcome.headers), payload),
            trace: trace::ran_by(&outcome.headers).map(|ran| ran.to_string()),
            body: Body::of_outcome(&outcome.body, payload),
        }
    }

    /// The outcome of a record, if it is settled.
    pub fn of_record(record: &semel_core::Record, payload: Payload) -> Option<Self> {
        match &record.state {
            State::Settled(settled) => Some(Self::of(&settled.outcome, payload)),
            State::Running { .. } | State::Unknown { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_span_that_ran_is_no_header() {
        const RAN: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let fields = [("content-type", "text/plain"), (":traceparent", RAN)];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.into()));
        let headers = semel_core::Headers::new(fields.into()).unwrap();
        let outcome = semel_core::Outcome {
            headers,
            ..semel_core::Outcome::succeeded("ok")
        };
        let shown = serde_json::to_value(Outcome::of(&outcome, Payload::Base64)).unwrap();
        assert_eq!(shown["trace"], RAN);
        let fields = serde_json::json!([{ "name": "content-type", "value": "text/plain" }]);
        assert_eq!(shown["headers"], fields);
    }
}
