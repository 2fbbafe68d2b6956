//! Receives messages, ten at a time, as long as there is room for them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use aws_sdk_sqs::config::Config;
use aws_sdk_sqs::types::{Message, MessageSystemAttributeName as Name};
use bytes::Bytes;
use semel_core::identity::PART_BYTES_MAX;
use semel_core::inbox::Origin;
use semel_core::{Fingerprint, Result, Timestamp};
use semel_inbox::source::buffer::Waiting;
use semel_inbox::source::{OPEN_MAX, Raw, Settle, Settled};
use tokio::time::{Instant, sleep};

use super::Reader;
use crate::error::failed;
use crate::headers;
use crate::queue::timeouts;

/// The most messages that the service gives at once.
const RECEIVE_MAX: usize = 10;
/// The most deliveries that wait; those that are on their way count.
const WAITING_MAX: usize = OPEN_MAX / 2;
/// The pause after receiving failed, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// The service's own attributes that are kept as headers.
const KEPT: [Name; 3] = [
    Name::SequenceNumber,
    Name::DeadLetterQueueSourceArn,
    Name::AwsTraceHeader,
];

/// What is inside of a handle.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Receipt {
    pub(super) handle: String,
    /// When the service was asked for it, which is when its longest time begins.
    pub(super) asked: Instant,
    /// The group of a FIFO queue's message.
    pub(super) group: Option<String>,
}

/// Receives until it is aborted.
pub(super) async fn run(reader: Arc<Reader>) {
    let mut pause = PAUSES.0;
    loop {
        match receive(&reader).await {
            Ok(()) => pause = PAUSES.0,
            Err(error) => {
                reader.buffer.fail(error);
                sleep(pause).await;
                pause = (pause * 2).min(PAUSES.1);
            }
        }
    }
}

async fn receive(reader: &Reader) -> Result<()> {
    let connected = reader.queue.connected().await?;
    let _room = reader.buffer.reserve(RECEIVE_MAX, WAITING_MAX).await;
    let reading = &reader.reading;
    let seconds = |time: Duration| i32::try_from(time.as_secs()).unwrap_or(i32::MAX);
    let attempt = timeouts(reading.wait + reader.queue.address.timeout);
    let asked = Instant::now();
    let received = connected
        .client
        .receive_message()
        .queue_url(&connected.url)
        .max_number_of_messages(i32::try_from(RECEIVE_MAX).unwrap_or(i32::MAX))
        .visibility_timeout(seconds(reading.visibility))
        .wait_time_seconds(seconds(reading.wait))
        .message_attribute_names("All")
        .message_system_attribute_names(Name::All)
        .customize()
        .config_override(Config::builder().timeout_config(attempt))
        .send()
        .await
        .map_err(|error| failed("receiving", error).error)?;
    let answered = Instant::now();
    // The service counts from the moment it hands a message out, which lies between the two.
    let until = answered.min(asked + reading.wait).max(asked) + reading.visibility;
    let messages = received.messages.unwrap_or_default();
    let waiting = messages
        .into_iter()
        .filter_map(|message| waiting(reader, message, asked, until));
    reader.buffer.push(waiting.collect());
    Ok(())
}

fn waiting(
    reader: &Reader,
    message: Message,
    asked: Instant,
    until: Instant,
) -> Option<Waiting<Receipt>> {
    let handle = message.receipt_handle?;
    let mut system = message.attributes.unwrap_or_default();
    let mut read = headers::read(message.body.unwrap_or_default(), message.message_attributes);
    for name in KEPT {
        if let Some(value) = system.remove(&name) {
            read.headers
                .push((name.as_str().to_owned(), Some(Bytes::from(value))));
        }
    }
    let number = |name: Name| {
        system
            .get(&name)
            .and_then(|value| value.parse::<i64>().ok())
    };
    let arn = reader.arn();
    let coordinates = message.message_id.map(|id| format!("{arn}/{id}"));
    let deliveries = number(Name::ApproximateReceiveCount);
    let published_at = number(Name::SentTimestamp).map(Timestamp::from_millis);
    // The groups of a standard queue share its throughput, and order nothing.
    let group = system.remove(&Name::MessageGroupId);
    let group = group.filter(|_| reader.queue.address.is_fifo());
    let is_by_group = reader.is_by_group.load(Ordering::Relaxed);
    // Only what a producer says is an id: the service's own message id is another one each time a producer tries again.
    let id = system.remove(&Name::MessageDeduplicationId);
    let raw = Raw {
        id: id.map(|id| match group.as_deref().filter(|_| is_by_group) {
            Some(group) => id_within(group, &id),
            None => id,
        }),
        lane: group.clone(),
        headers: read.headers,
        payload: read.payload,
        origin: Origin {
            topic: reader.queue.address.queue.clone(),
            ..Origin::default()
        },
        coordinates,
        deliveries: deliveries.and_then(|count| u32::try_from(count).ok()),
        published_at,
        unreadable: read.unreadable,
        ..Raw::default()
    };
    Some(Waiting {
        raw,
        inside: Receipt {
            handle,
            asked,
            group,
        },
        until: Some(until),
    })
}

/// The id of a message whose deduplication id is unique within its group only. Neither part has a space; both are up to 128 bytes long.
fn id_within(group: &str, id: &str) -> String {
    let whole = format!("{group} {id}");
    match whole.len() <= PART_BYTES_MAX {
        true => whole,
        false => format!("hash:{}", Fingerprint::of_bytes(whole.as_bytes())),
    }
}

/// Keeps invisible to others what waits in the buffer, until it is aborted. What no call has asked for during half a term is given back.
pub(super) async fn keep(reader: Arc<Reader>) {
    let every = reader.reading.visibility / 3;
    loop {
        sleep(every).await;
        let is_wanted = reader.buffer.is_wanted(reader.reading.visibility / 2);
        let (receipts, how) = match is_wanted {
            true => (reader.buffer.waiting(), Settle::Extend),
            false => (reader.buffer.drain(), Settle::Back(Duration::ZERO)),
        };
        if receipts.is_empty() {
            continue;
        }
        let now = Instant::now();
        let extensions = receipts.iter().map(|receipt| reader.extension(receipt));
        let until = extensions.min().map_or(now, |least| now + least);
        let items: Vec<_> = receipts
            .iter()
            .map(|receipt| Some((receipt, how)))
            .collect();
        let Ok(settled) = reader.settle_all(&items).await else {
            // The pollers meet the same error, and `next` reports it.
            continue;
        };
        let those = |wanted: Settled| -> HashSet<&Receipt> {
            let found = receipts.iter().zip(&settled);
            let found = found.filter(|(_, settled)| **settled == wanted);
            found.map(|(receipt, _)| receipt).collect()
        };
        let (kept, gone) = (those(Settled::Done), those(Settled::Gone));
        reader
            .buffer
            .extend(until, |receipt| kept.contains(receipt));
        reader.buffer.forget(|receipt| gone.contains(receipt));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_within_a_group_has_room_in_a_key_and_is_another_one_in_another_group() {
        assert_eq!(id_within("a", "o-1"), "a o-1");
        let (group, id) = ("g".repeat(128), "i".repeat(128));
        let long = id_within(&group, &id);
        assert!(long.len() <= PART_BYTES_MAX, "{long}");
        assert_ne!(long, id_within(&group, &"j".repeat(128)));
        assert_eq!(long, id_within(&group, &id));
    }
}
