//! What a line says.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use semel_core::inbox::Origin;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::source::{HeaderField, Raw};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Envelope<'a> {
    #[serde(default)]
    id: Option<Text>,
    #[serde(default)]
    tenant: Option<String>,
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    version: Option<u32>,
    #[serde(default)]
    key: Option<Text>,
    #[serde(default)]
    sequence: Option<u64>,
    #[serde(default)]
    headers: BTreeMap<String, Option<String>>,
    #[serde(borrow, default)]
    payload: Option<&'a RawValue>,
    #[serde(default)]
    payload_text: Option<String>,
    #[serde(default)]
    payload_base64: Option<String>,
}

/// A text, or a number that is meant as one.
#[derive(Deserialize)]
#[serde(untagged)]
enum Text {
    Text(String),
    Number(i64),
}

impl Text {
    fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        }
    }
}

/// The raw message of a line, or why there is none. The reason never quotes the line.
pub(super) fn raw(line: &[u8], whole: bool, origin: Origin) -> Result<Raw, String> {
    if whole {
        return Ok(Raw {
            headers: vec![json_type()],
            payload: Some(Bytes::copy_from_slice(line.trim_ascii())),
            origin,
            ..Raw::default()
        });
    }
    let bad = |column: usize| {
        format!(
            "it is no envelope ({{\"id\", \"type\", \"key\", \"sequence\", \"headers\", \"payload\"}}) from column {column} on"
        )
    };
    // An array would be taken for the fields in their order.
    if !line.trim_ascii_start().starts_with(b"{") {
        return Err(bad(1));
    }
    let envelope: Envelope<'_> =
        serde_json::from_slice(line).map_err(|error| bad(error.column()))?;
    let several = "it has one of payload, payload_text and payload_base64, found several";
    let (payload, is_json) = match (
        envelope.payload,
        envelope.payload_text,
        envelope.payload_base64,
    ) {
        (Some(json), None, None) => (Bytes::from(json.get().to_owned()), true),
        (None, Some(text), None) => (Bytes::from(text), false),
        (None, None, Some(text)) => {
            let bytes = STANDARD.decode(text);
            let bytes = bytes.map_err(|_| "payload_base64 is not base64".to_owned())?;
            (Bytes::from(bytes), false)
        }
        (None, None, None) => (Bytes::new(), false),
        _ => return Err(several.to_owned()),
    };
    let headers = envelope.headers.into_iter();
    let mut headers: Vec<HeaderField> = headers
        .map(|(name, value)| (name.to_ascii_lowercase(), value.map(Bytes::from)))
        .collect();
    if is_json && !headers.iter().any(|(name, _)| name == "content-type") {
        headers.push(json_type());
    }
    Ok(Raw {
        id: envelope.id.map(Text::text),
        tenant: envelope.tenant,
        kind: envelope.kind,
        version: envelope.version,
        lane: envelope.key.map(Text::text),
        sequence: envelope.sequence,
        headers,
        payload: Some(payload),
        origin,
        ..Raw::default()
    })
}

fn json_type() -> HeaderField {
    (
        "content-type".to_owned(),
        Some(Bytes::from_static(b"application/json")),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Raw, String> {
        raw(line.as_bytes(), false, Origin::default())
    }

    #[test]
    fn an_envelope_has_all_parts_of_a_message() {
        let line = r#"{"id":17,"type":"t","key":"k","sequence":3,"headers":{"X-A":"1"},"payload":{"n": 1.10}}"#;
        let raw = read(line).unwrap();
        assert_eq!(raw.id.as_deref(), Some("17"));
        assert_eq!(raw.lane.as_deref(), Some("k"));
        assert_eq!((raw.sequence, raw.kind.as_deref()), (Some(3), Some("t")));
        assert_eq!(raw.body(), br#"{"n": 1.10}"#);
        assert_eq!(raw.header("x-a"), Some("1"));
        assert_eq!(raw.header("content-type"), Some("application/json"));
        let bytes = read(r#"{"id":"a","payload_base64":"AAE="}"#).unwrap();
        assert_eq!(bytes.body(), [0, 1]);
    }

    #[test]
    fn what_is_no_envelope_is_refused_without_being_quoted() {
        for line in [
            "s3cret",
            "[]",
            r#"{"id":"a","sequenz":"s3cret"}"#,
            r#"{"id":1.5}"#,
            r#"{"payload":1,"payload_text":"s3cret"}"#,
            r#"{"payload_base64":"s3cret?"}"#,
        ] {
            let why = read(line).map(drop).unwrap_err();
            assert!(!why.contains("s3cret"), "{why}");
        }
    }
}
