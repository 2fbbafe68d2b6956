//! What a message of a stream becomes.

use async_nats::HeaderMap;
use async_nats::datetime::DateTime;
use async_nats::jetstream::Message;
use async_nats::jetstream::message::StreamMessage;
use bytes::Bytes;
use semel_core::Timestamp;
use semel_core::inbox::Origin;
use semel_inbox::source::{HeaderField, Raw};

/// The header by which the server deduplicates.
pub(crate) const MESSAGE_ID: &str = "Nats-Msg-Id";

/// The parts of a delivery; `coordinates` is what stands before its sequence. `None` if it did not come from a stream.
pub(super) fn raw(message: &Message, coordinates: &str) -> Option<Raw> {
    let info = message.info().ok()?;
    let stored = StreamMessage {
        subject: message.subject.clone(),
        sequence: info.stream_sequence,
        headers: message.headers.clone().unwrap_or_default(),
        payload: message.payload.clone(),
        time: info.published,
    };
    Some(Raw {
        deliveries: u32::try_from(info.delivered).ok(),
        ..self::stored(&stored, coordinates)
    })
}

/// The parts of a message as the stream has it.
pub(super) fn stored(message: &StreamMessage, coordinates: &str) -> Raw {
    Raw {
        id: id(&message.headers),
        headers: headers(&message.headers),
        is_percent_encoded: true,
        payload: Some(message.payload.clone()),
        origin: Origin {
            topic: message.subject.to_string(),
            partition: None,
            offset: i64::try_from(message.sequence).ok(),
        },
        coordinates: Some(format!("{coordinates}/{}", message.sequence)),
        published_at: Some(timestamp(message.time)),
        ..Raw::default()
    }
}

/// The server's time as ours.
pub(super) fn timestamp(time: DateTime) -> Timestamp {
    let ms = time.unix_timestamp_nanos().div_euclid(1_000_000);
    Timestamp::from_millis(i64::try_from(ms).unwrap_or(i64::MAX))
}

fn id(headers: &HeaderMap) -> Option<String> {
    let id = headers.get(MESSAGE_ID)?.as_str();
    (!id.is_empty()).then(|| id.to_owned())
}

/// All headers by name; the client library keeps the order of values, but not that of names.
fn headers(headers: &HeaderMap) -> Vec<HeaderField> {
    let mut names: Vec<_> = headers.iter().collect();
    names.sort_by_key(|(name, _)| name.to_string());
    let fields = names.into_iter().flat_map(|(name, values)| {
        let values = values.iter();
        values.map(move |value| {
            let value = Bytes::copy_from_slice(value.as_str().as_bytes());
            (name.to_string(), Some(value))
        })
    });
    fields.collect()
}
