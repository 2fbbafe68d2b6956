//! A message of Kafka as the raw parts of a delivery.

use bytes::{Bytes, BytesMut};
use rdkafka::Message as _;
use rdkafka::message::BorrowedMessage;
use semel_core::Timestamp;
use semel_core::inbox::Origin;
use semel_inbox::source::Raw;

/// Copies a message. Its coordinates are the state's to say, which knows the topic's id.
pub(super) fn raw(message: &BorrowedMessage<'_>) -> Raw {
    let (key, payload) = (message.key(), message.payload());
    let headers = semel_kafka_native::headers(message);
    let values = headers.iter().map(|(_, value)| *value);
    let parts = together([key, payload].into_iter().chain(values));
    let mut parts = parts.into_iter();
    Raw {
        key: parts.next().flatten(),
        payload: parts.next().flatten(),
        headers: headers
            .into_iter()
            .map(|(name, _)| name)
            .zip(parts)
            .collect(),
        origin: Origin {
            topic: message.topic().to_owned(),
            partition: Some(message.partition()),
            offset: Some(message.offset()),
        },
        published_at: message.timestamp().to_millis().map(Timestamp::from_millis),
        ..Raw::default()
    }
}

/// Copies all parts into one allocation: a message has many small ones, and each is counted by the handle and by the delivery.
fn together<'a>(parts: impl Iterator<Item = Option<&'a [u8]>> + Clone) -> Vec<Option<Bytes>> {
    let size = parts.clone().flatten().map(<[u8]>::len).sum();
    let mut all = BytesMut::with_capacity(size);
    let sizes: Vec<Option<usize>> = parts
        .map(|part| {
            all.extend_from_slice(part.unwrap_or_default());
            part.map(<[u8]>::len)
        })
        .collect();
    let mut all = all.freeze();
    let part = |size: Option<usize>| size.map(|size| all.split_to(size));
    sizes.into_iter().map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_stay_what_they_were_together() {
        let parts = [Some(&b"key"[..]), None, Some(b""), Some(b"x")];
        let found = together(parts.into_iter());
        let found: Vec<_> = found.iter().map(Option::as_deref).collect();
        assert_eq!(found, parts);
    }
}
