//! The id by which a JSON-RPC response finds its request.

use bytes::Bytes;
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use serde_json::value::RawValue;

/// The longest id, in bytes as it is written.
const BYTES_MAX: usize = 1_024;

/// A request's id as its client wrote it: `7`, `"7"` and `7.0` are three.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Id(Box<str>);

impl Id {
    /// The id of a request, if it is one: a text or a number.
    pub(super) fn read(written: &RawValue) -> Option<Self> {
        let text = written.get();
        let is_id = matches!(text.as_bytes().first(), Some(b'"' | b'-' | b'0'..=b'9'));
        (is_id && text.len() <= BYTES_MAX).then(|| Self(text.into()))
    }

    /// Its JSON text.
    pub(super) fn json(&self) -> &str {
        &self.0
    }

    /// Whether a response means it. Servers may write a number in another way than its client.
    pub(super) fn is(&self, written: &RawValue) -> bool {
        let value = |text| serde_json::from_str::<Value>(text).ok();
        match (value(&self.0), value(written.get())) {
            (Some(Value::Number(a)), Some(Value::Number(b))) => {
                a == b || a.as_f64().is_some_and(|a| b.as_f64() == Some(a))
            }
            (Some(a), Some(b)) => a == b,
            _ => false,
        }
    }

    /// A response with this id instead of its own, and not one byte changed besides; `None` if it is no response.
    pub(super) fn put_into(&self, message: &[u8]) -> Option<Bytes> {
        let text = std::str::from_utf8(message).ok()?;
        let response = Response::read(text)?;
        let Some(id) = response.id.map(RawValue::get) else {
            let (before, after) = text.split_once('{')?;
            return Some(format!("{before}{{\"id\":{},{after}", self.0).into());
        };
        // The member was borrowed from the text, so this is where it stands.
        let at = id.as_ptr() as usize - text.as_ptr() as usize;
        let (before, after) = (&text[..at], &text[at + id.len()..]);
        Some(format!("{before}{}{after}", self.0).into())
    }
}

/// A JSON-RPC response: it has a result or an error, and no method.
#[derive(Deserialize)]
pub(super) struct Response<'a> {
    #[serde(borrow, default, deserialize_with = "there")]
    pub(super) id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "there")]
    pub(super) result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "there")]
    pub(super) error: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "there")]
    method: Option<&'a RawValue>,
}

impl<'a> Response<'a> {
    pub(super) fn read(text: &'a str) -> Option<Self> {
        let read: Self = serde_json::from_str(text).ok()?;
        let is_response = read.method.is_none() && (read.result.is_some() || read.error.is_some());
        is_response.then_some(read)
    }
}

/// A member that is there, `null` included.
fn there<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}
