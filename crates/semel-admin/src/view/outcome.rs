//! What a run brought. No `Debug` here: contents that are shown to whoever asked must not reach logs.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use semel_core::State;
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

impl Outcome {
    /// The outcome, with as much of its contents as `payload` says.
    pub fn of(outcome: &semel_core::Outcome, payload: Payload) -> Self {
        let headers = outcome.headers.iter().map(|(name, bytes)| {
            let Shown { text, hex, base64 } = Shown::of(bytes, payload);
            Header {
                name: name.to_owned(),
                value: text,
                value_hex: hex,
                value_base64: base64,
            }
        });
        let kept = outcome.body.kept();
        let Shown { text, hex, base64 } = kept
            .map(|bytes| Shown::of(bytes, payload))
            .unwrap_or_default();
        Self {
            verdict: outcome.verdict.name(),
            status: status(outcome),
            headers: headers.collect(),
            body: Body {
                bytes: outcome.body.len(),
                kept: kept.is_some(),
                blake3: outcome.body.digest().map(|digest| super::hex(&digest)),
                text,
                hex,
                base64,
            },
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
