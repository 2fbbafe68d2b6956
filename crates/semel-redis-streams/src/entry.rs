//! Entries of a stream, and the raw parts of messages that are in them.

use std::sync::Arc;

use bytes::Bytes;
use redis::Value;
use semel_core::inbox::Origin;
use semel_core::{Result, Timestamp};
use semel_inbox::source::Raw;

use crate::error::odd;
use crate::url::Fields;

/// Fields that hold the payload, unless the URL names one; the first that an entry has counts.
pub(crate) const PAYLOADS: [&str; 3] = ["payload", "data", "body"];
/// The field with the key, unless the URL names one.
pub(crate) const KEY: &str = "key";
/// The first part of ids that are times: later than in 2001, as those of every server whose clock is set.
const TIMES: std::ops::Range<u64> = 1_000_000_000_000..100_000_000_000_000;

/// One life of a stream and its group: both are other ones after they were made anew.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Epoch {
    /// The consumer that holds returned entries, which tells the lives apart.
    pub(crate) returned: String,
    /// The same without its prefix.
    pub(crate) id: String,
}

/// What is inside of a handle: which delivery of which entry.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) id: String,
    /// How often it was delivered, this time counted: what tells this delivery from later ones.
    pub(crate) count: u32,
    pub(crate) epoch: Arc<Epoch>,
}

/// An entry as the server gave it.
pub(crate) struct Found {
    pub(crate) id: String,
    pub(crate) fields: Vec<(Bytes, Bytes)>,
    pub(crate) count: u32,
}

/// What `XREADGROUP` gave: entries that were delivered to no one before.
pub(crate) fn fresh(reply: Value) -> Result<Vec<Found>> {
    let Some(streams) = list(reply) else {
        return Ok(Vec::new());
    };
    let stream = streams.into_iter().next().and_then(list);
    let entries = stream
        .and_then(|stream| stream.into_iter().nth(1))
        .and_then(list);
    let entries = entries.ok_or_else(|| odd("the answer to XREADGROUP"))?;
    entries.into_iter().map(|entry| found(entry, 1)).collect()
}

/// What the script `claim` gave for one entry.
pub(crate) fn claimed(entry: Value) -> Result<Found> {
    found(entry, 0)
}

fn found(entry: Value, count: u32) -> Result<Found> {
    let parts = list(entry).map(Vec::into_iter);
    let parts = parts
        .and_then(|mut parts| Some((text(parts.next()?)?, list(parts.next()?)?, parts.next())));
    let (id, fields, said) = parts.ok_or_else(|| odd("an entry"))?;
    let mut values = fields.into_iter().filter_map(bytes);
    let mut fields = Vec::new();
    while let (Some(name), Some(value)) = (values.next(), values.next()) {
        fields.push((name, value));
    }
    let said = said.as_ref().and_then(number);
    Ok(Found {
        id,
        fields,
        count: said.map_or(count, |said| u32::try_from(said).unwrap_or(u32::MAX)),
    })
}

impl Found {
    /// The raw parts: payload and key have fields of their own, all others are headers in their order.
    pub(crate) fn raw(self, stream: &str, epoch: &Epoch, names: &Fields) -> Raw {
        let Self { id, fields, count } = self;
        let has = |name: &str| fields.iter().any(|(known, _)| known == name.as_bytes());
        let payload = match &names.payload {
            Some(name) => Some(name.as_str()),
            None => PAYLOADS.into_iter().find(|name| has(name)),
        };
        let key = names.key.as_deref().unwrap_or(KEY);
        let mut raw = Raw {
            origin: Origin {
                topic: stream.to_owned(),
                ..Origin::default()
            },
            coordinates: Some(format!("{stream}@{}/{id}", epoch.id)),
            deliveries: Some(count),
            published_at: published_at(&id),
            ..Raw::default()
        };
        for (name, value) in fields {
            match std::str::from_utf8(&name) {
                Ok(name) if Some(name) == payload && raw.payload.is_none() => {
                    raw.payload = Some(value)
                }
                Ok(name) if name == key && raw.key.is_none() => raw.key = Some(value),
                Ok(name) => raw.headers.push((name.to_owned(), Some(value))),
                Err(_) => {
                    let name = String::from_utf8_lossy(&name).into_owned();
                    raw.headers.push((name, Some(value)));
                    raw.unreadable = Some("the name of a field is not UTF-8 text".to_owned());
                }
            }
        }
        raw
    }
}

fn published_at(id: &str) -> Option<Timestamp> {
    let (ms, _) = id.split_once('-')?;
    let ms: u64 = ms.parse().ok().filter(|ms| TIMES.contains(ms))?;
    i64::try_from(ms).ok().map(Timestamp::from_millis)
}

/// The values of an array; none of nothing.
pub(crate) fn list(value: Value) -> Option<Vec<Value>> {
    match value {
        Value::Array(values) => Some(values),
        _ => None,
    }
}

/// A value as text.
pub(crate) fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// A value as a number.
pub(crate) fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        Value::BulkString(bytes) => std::str::from_utf8(bytes).ok()?.parse().ok(),
        _ => None,
    }
}

fn bytes(value: Value) -> Option<Bytes> {
    match value {
        Value::BulkString(bytes) => Some(bytes.into()),
        Value::SimpleString(text) => Some(text.into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(fields: &[(&'static [u8], &'static [u8])], names: &Fields) -> Raw {
        let fields = fields.iter();
        let fields =
            fields.map(|(name, value)| (Bytes::from_static(name), Bytes::from_static(value)));
        let found = Found {
            id: "1700000000000-3".to_owned(),
            fields: fields.collect(),
            count: 2,
        };
        let epoch = Epoch {
            returned: "semel-returned-e".to_owned(),
            id: "e".to_owned(),
        };
        found.raw("orders", &epoch, names)
    }

    #[test]
    fn payload_and_key_have_fields_and_the_rest_are_headers() {
        let found = raw(
            &[
                (b"a", b"1"),
                (b"data", b"{}"),
                (b"key", b"\xff"),
                (b"a", b"\0"),
                (b"data", b"2"),
            ],
            &Fields::default(),
        );
        assert_eq!(found.payload.as_deref(), Some(&b"{}"[..]));
        assert_eq!(found.key.as_deref(), Some(&b"\xff"[..]));
        let names: Vec<&str> = found
            .headers
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(names, ["a", "a", "data"]);
        assert_eq!(
            found.coordinates.as_deref(),
            Some("orders@e/1700000000000-3")
        );
        assert_eq!(
            found.published_at,
            Some(Timestamp::from_millis(1_700_000_000_000))
        );
        assert_eq!(found.deliveries, Some(2));
    }

    #[test]
    fn a_named_field_is_the_payload_and_without_it_there_is_none() {
        let names = Fields {
            payload: Some("m".to_owned()),
            key: None,
        };
        assert_eq!(
            raw(&[(b"m", b""), (b"data", b"2")], &names)
                .payload
                .as_deref(),
            Some(&b""[..])
        );
        assert_eq!(raw(&[(b"data", b"2")], &names).payload, None);
        assert!(raw(&[(b"\xff", b"2")], &names).unreadable.is_some());
        assert_eq!(published_at("1-1"), None);
    }
}
