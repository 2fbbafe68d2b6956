//! What a delivery of RabbitMQ becomes.

use bytes::Bytes;
use lapin::message::Delivery;
use semel_core::Timestamp;
use semel_core::inbox::Origin;
use semel_inbox::source::Raw;

use crate::fields;

/// The parts of a message of this queue. RabbitMQ has no coordinates: nothing names a message for ever but its producer's id.
pub(super) fn raw(queue: &str, delivery: Delivery) -> Raw {
    let properties = &delivery.properties;
    let text = |text: &Option<lapin::types::ShortString>| {
        let text = text.as_ref().map(|text| text.as_str().to_owned());
        text.filter(|text| !text.is_empty())
    };
    let mut headers = fields::headers(properties);
    for (name, value) in [
        (fields::EXCHANGE, &delivery.exchange),
        (fields::ROUTING_KEY, &delivery.routing_key),
    ] {
        headers.push((
            name.to_owned(),
            Some(Bytes::copy_from_slice(value.as_str().as_bytes())),
        ));
    }
    let before = fields::delivered_before(properties).unwrap_or(0);
    // A classic queue says only that it was delivered before, not how often.
    let before = before.max(u32::from(delivery.redelivered));
    let published = properties
        .timestamp()
        .and_then(|seconds| i64::try_from(seconds).ok());
    let published = published.and_then(|seconds| seconds.checked_mul(1000));
    Raw {
        id: text(properties.message_id()),
        kind: text(properties.kind()),
        headers,
        origin: Origin {
            topic: queue.to_owned(),
            partition: None,
            offset: None,
        },
        deliveries: Some(before.saturating_add(1)),
        published_at: published.map(Timestamp::from_millis),
        payload: Some(Bytes::from(delivery.data)),
        ..Raw::default()
    }
}
