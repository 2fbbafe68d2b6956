//! CloudEvents 1.0 in binary, structured and batched mode.

use std::collections::BTreeMap;

use bytes::Bytes;
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use semel_core::Fingerprint;
use semel_core::fingerprint::Builder;
use semel_core::identity::PART_BYTES_MAX;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Raw, Refusal, scalar};
use crate::source::HeaderField;

/// The media type of one event.
const STRUCTURED: &str = "application/cloudevents+json";
/// The media type of a batch.
const BATCH: &str = "application/cloudevents-batch+json";
/// What stands before the names of attributes in binary mode: HTTP and NATS, Kafka, AMQP. Some producers use the prefix of another protocol.
const PREFIXES: [&str; 4] = ["ce-", "ce_", "cloudEvents:", "cloudEvents_"];
/// The most events in a batch.
const BATCH_MAX: usize = 500;
/// In a source `#` ends it, so its own are encoded.
const SOURCE: &AsciiSet = &CONTROLS.add(b'#').add(b'%');

/// What an event says about itself.
#[derive(Debug, Default)]
pub(super) struct CloudEvent {
    /// Source and id as one text.
    pub(super) id: Option<String>,
    pub(super) kind: Option<String>,
    pub(super) lane: Option<String>,
    pub(super) sequence: Option<String>,
    /// In structured mode, what the event is about.
    data: Option<Box<RawValue>>,
    is_structured: bool,
}

impl CloudEvent {
    /// The event that was delivered; nothing if it is none.
    pub(super) fn of(raw: &Raw) -> Result<Option<Self>, Refusal> {
        if raw.media_type().as_deref() == Some(STRUCTURED) {
            return Self::structured(raw).map(Some);
        }
        let has = |prefix: &str, name: &str| raw.header(&format!("{prefix}{name}")).is_some();
        let mut prefixes = PREFIXES.iter();
        let found = prefixes.find(|prefix| has(prefix, "id") || has(prefix, "specversion"));
        found.map(|prefix| Self::binary(raw, prefix)).transpose()
    }

    fn binary(raw: &Raw, prefix: &str) -> Result<Self, Refusal> {
        let attribute = |name: &str| {
            let value = raw.header(&format!("{prefix}{name}"))?;
            if !raw.is_percent_encoded {
                return Some(value.to_owned());
            }
            let decoded = percent_encoding::percent_decode_str(value).decode_utf8();
            Some(decoded.map_or_else(|_| value.to_owned(), Into::into))
        };
        Self::new(attribute)
    }

    fn structured(raw: &Raw) -> Result<Self, Refusal> {
        let bad = |_| Refusal::invalid("the event is not an object of JSON");
        let fields: BTreeMap<String, Box<RawValue>> =
            serde_json::from_slice(raw.body()).map_err(bad)?;
        let attribute = |name: &str| {
            let value: Value = serde_json::from_str(fields.get(name)?.get()).ok()?;
            scalar(&value)
        };
        let mut event = Self::new(attribute)?;
        let data = fields.get("data").or_else(|| fields.get("data_base64"));
        event.data = data.cloned();
        event.is_structured = true;
        Ok(event)
    }

    fn new(attribute: impl Fn(&str) -> Option<String>) -> Result<Self, Refusal> {
        let (source, id) = (attribute("source"), attribute("id"));
        let (Some(source), Some(id)) = (source, id) else {
            return Err(Refusal::invalid(
                "a CloudEvent has a source and an id, and both together identify it",
            ));
        };
        Ok(Self {
            id: Some(identity(&source, &id)),
            kind: attribute("type"),
            lane: attribute("partitionkey"),
            sequence: attribute("sequence"),
            data: None,
            is_structured: false,
        })
    }

    /// The fingerprint of what the event is about. Attributes such as trace ids may differ when it comes again.
    pub(super) fn fingerprint(&self, raw: &Raw) -> Fingerprint {
        match (self.is_structured, &self.data) {
            (true, Some(data)) => Fingerprint::of_json_text(data.get().as_bytes()),
            (true, None) => Fingerprint::of_bytes(b""),
            (false, _) => super::fingerprint(raw),
        }
    }
}

/// Source and id as one text, or its hash if that is too long for a key.
fn identity(source: &str, id: &str) -> String {
    let text = format!("{}#{id}", utf8_percent_encode(source, SOURCE));
    match text.len() <= PART_BYTES_MAX {
        true => text,
        false => {
            let parts = Builder::default()
                .part("source", source.as_bytes())
                .part("id", id.as_bytes());
            format!("cloudevent:{}", parts.finish())
        }
    }
}

/// Whether a delivery holds a batch of events.
pub(super) fn is_batch(raw: &Raw) -> bool {
    raw.media_type().as_deref() == Some(BATCH)
}

/// The events of a batch, each as if it had been delivered by itself; anything else as it is.
pub(crate) fn split(raw: Raw) -> Result<Vec<Raw>, Refusal> {
    if !is_batch(&raw) {
        return Ok(vec![raw]);
    }
    let bad = |_| Refusal::invalid("a batch of events is an array of JSON objects");
    let events: Vec<Box<RawValue>> = serde_json::from_slice(raw.body()).map_err(bad)?;
    if events.is_empty() || events.len() > BATCH_MAX {
        return Err(Refusal::invalid(format!(
            "a batch has 1 to {BATCH_MAX} events, found {}",
            events.len()
        )));
    }
    let headers = raw.headers.iter();
    let mut headers: Vec<HeaderField> = headers
        .filter(|(name, _)| !name.eq_ignore_ascii_case("content-type"))
        .cloned()
        .collect();
    headers.push((
        "content-type".into(),
        Some(Bytes::from_static(STRUCTURED.as_bytes())),
    ));
    let one = |event: Box<RawValue>| Raw {
        payload: Some(Bytes::from(String::from(Box::<str>::from(event)))),
        headers: headers.clone(),
        is_batched: true,
        ..raw.clone()
    };
    Ok(events.into_iter().map(one).collect())
}
