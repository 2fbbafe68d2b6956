//! Intents over HTTP: the document that an answer may be.

use crate::policy::retry::Failure;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

use crate::intents::Draft;

/// The type of the document.
pub(super) const MEDIA_TYPE: &str = "application/vnd.semel.intents+json";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Document<'a> {
    #[serde(borrow, default)]
    result: Option<&'a RawValue>,
    #[serde(borrow, default)]
    intents: Vec<Wanted<'a>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted<'a> {
    name: String,
    target: String,
    #[serde(borrow, default)]
    body: Option<&'a RawValue>,
    #[serde(default)]
    body_text: Option<String>,
    #[serde(default)]
    body_base64: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    key: Option<String>,
}

/// The result and the intents of an answer.
pub(super) fn parse(body: &[u8]) -> Result<(Bytes, Vec<Draft>), Failure> {
    let bad = |line: usize, column: usize| {
        Failure::terminal(format!(
            "the answer is not a valid document of {MEDIA_TYPE}: line {line}, column {column}"
        ))
    };
    // An array would be taken for the fields in their order.
    if !body.trim_ascii_start().starts_with(b"{") {
        return Err(bad(1, 1));
    }
    // Of the error only its place: its text may quote what it found.
    let document: Document<'_> =
        serde_json::from_slice(body).map_err(|error| bad(error.line(), error.column()))?;
    let result = document.result.map_or("", RawValue::get);
    let result = Bytes::from(result.to_owned());
    let intents = document.intents.into_iter().map(draft);
    Ok((result, intents.collect::<Result<_, _>>()?))
}

fn draft(wanted: Wanted<'_>) -> Result<Draft, Failure> {
    let name = &wanted.name;
    let (payload, kind) = match (wanted.body, wanted.body_text, wanted.body_base64) {
        (Some(json), None, None) => (Bytes::from(json.get().to_owned()), "application/json"),
        (None, Some(text), None) => (Bytes::from(text), "text/plain; charset=utf-8"),
        (None, None, Some(text)) => {
            let bytes = STANDARD.decode(text).map_err(|_| {
                Failure::terminal(format!("body_base64 of intent {name:?} is not base64"))
            })?;
            (Bytes::from(bytes), "application/octet-stream")
        }
        (None, None, None) => (Bytes::new(), ""),
        _ => {
            return Err(Failure::terminal(format!(
                "intent {name:?} has one of body, body_text and body_base64, found several"
            )));
        }
    };
    let typed = wanted
        .headers
        .keys()
        .any(|name| name.eq_ignore_ascii_case("content-type"));
    let mut draft = Draft::new(wanted.target, wanted.name, payload);
    if !typed && !kind.is_empty() {
        draft = draft.header("content-type", kind);
    }
    for (name, value) in wanted.headers {
        draft = draft.header(name, value);
    }
    if let Some(key) = wanted.key {
        draft = draft.key(key);
    }
    Ok(match wanted.id {
        Some(id) => draft.id(id),
        None => draft,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_and_bodies_keep_their_spelling() {
        let body = br#"{"result": {"total": 1.10},
            "intents": [{"name": "a", "target": "t", "body": {"amount": 12345678901234567890.10}}]}"#;
        let (result, intents) = parse(body).unwrap();
        assert_eq!(result, r#"{"total": 1.10}"#);
        assert_eq!(intents.len(), 1);
        let (result, intents) = parse(b"{}").unwrap();
        assert!(result.is_empty() && intents.is_empty());
    }

    #[test]
    fn what_is_not_understood_is_terminal_and_never_quoted() {
        for body in [
            "[]",
            r#"{"intent": []}"#,
            r#"{"intents": [{"name": "a"}]}"#,
            r#"{"intents": [{"name": "a", "target": "t", "body": 1, "body_text": "x"}]}"#,
            r#"{"intents": [{"name": "a", "target": "t", "body_base64": "?"}]}"#,
            "s3cret",
        ] {
            let failure = parse(body.as_bytes()).unwrap_err();
            assert!(!failure.error.as_str().contains("s3cret"), "{body}");
        }
    }
}
