//! Finds or makes the durable consumer, and refuses one that would not do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::datetime::DateTime;
use async_nats::jetstream::Context;
use async_nats::jetstream::consumer::{self, AckPolicy, PullConsumer};
use async_nats::jetstream::context::ConsumerInfoErrorKind;
use async_nats::jetstream::stream::{self, RetentionPolicy, Stream};
use semel_core::{Error, Result};
use semel_inbox::source::Partition;

use super::Place;
use super::wanted::Wanted;
use crate::error;

/// A consumer of a stream, each between its creation and its deletion: one that was made anew under the same name is another one.
#[derive(Debug)]
pub(super) struct Incarnation {
    pub(super) partition: Partition,
    pub(super) stream_created: i128,
    /// What stands before the sequence in the coordinates of its messages.
    pub(super) coordinates: String,
    /// How long its deliveries stay open.
    pub(super) term: Duration,
    gone: AtomicBool,
}

impl Incarnation {
    pub(super) fn of(stream: &stream::Info, consumer: &consumer::Info) -> Self {
        let stream_created = stream.created.unix_timestamp_nanos();
        let made = consumer.created.unix_timestamp_nanos();
        let coordinates = coordinates(&stream.config.name, stream.created);
        // With a backoff each delivery has another lease; the shortest is what can be relied on.
        let shortest = consumer.config.backoff.iter().min();
        Self {
            partition: Partition::new(format!("{coordinates}/{}@{made}", consumer.name)),
            stream_created,
            coordinates,
            term: shortest.copied().unwrap_or(consumer.config.ack_wait),
            gone: AtomicBool::new(false),
        }
    }

    pub(super) fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }

    /// All its handles are worthless from now on.
    pub(super) fn lose(&self) {
        self.gone.store(true, Ordering::Release);
    }
}

/// What stands before the sequence in the coordinates of a stream's messages.
pub(super) fn coordinates(stream: &str, created: DateTime) -> String {
    format!("{stream}@{}", created.unix_timestamp_nanos())
}

/// A consumer that can be read.
pub(super) struct Found {
    pub(super) consumer: PullConsumer,
    pub(super) context: Context,
    pub(super) incarnation: Incarnation,
    pub(super) floor: u64,
}

/// The consumer at the server.
pub(super) async fn find(place: &Place) -> Result<Found> {
    let wanted = &place.wanted;
    let context = place.connection.jetstream().await?;
    let stream = context.get_stream(&wanted.stream).await;
    let stream = stream.map_err(|error| error::stream(&wanted.stream, &error.kind()))?;
    match stream.consumer_info(&wanted.durable).await {
        Ok(info) => check(wanted, &info)?,
        Err(error) if error.kind() == ConsumerInfoErrorKind::NotFound => {
            make(place, &stream).await?
        }
        Err(error) => return Err(error::consumer_info(&wanted.durable, &error.kind())),
    }
    let consumer: PullConsumer = stream
        .get_consumer(&wanted.durable)
        .await
        .map_err(|error| error::away("the consumer cannot be read", error))?;
    let info = consumer.cached_info();
    Ok(Found {
        incarnation: Incarnation::of(stream.cached_info(), info),
        floor: info.ack_floor.stream_sequence,
        consumer,
        context,
    })
}

async fn make(place: &Place, stream: &Stream) -> Result<()> {
    let wanted = &place.wanted;
    let Wanted { durable, .. } = wanted;
    if !wanted.create {
        return Err(Error::invalid(format!(
            "the stream {:?} has no consumer {durable:?}, and the address says create=false",
            wanted.stream
        )));
    }
    let start = start(stream.cached_info(), place.seen().floor);
    let made = stream.create_consumer_strict(wanted.config(start)).await;
    made.map_err(|error| error::create(durable, &error))?;
    tracing::info!(
        stream = wanted.stream,
        durable,
        start,
        "a durable consumer was made"
    );
    Ok(())
}

/// Where a consumer that is made again begins; `floor` is the creation time of its stream, and up to where all was acknowledged.
fn start(stream: &stream::Info, floor: Option<(i128, u64)>) -> Option<u64> {
    // The server takes no start on a work queue, and needs none: what was acknowledged is not in the stream any more.
    if stream.config.retention == RetentionPolicy::WorkQueue {
        return None;
    }
    let created = stream.created.unix_timestamp_nanos();
    let floor = floor.filter(|(of, _)| *of == created);
    floor.map(|(_, floor)| floor.saturating_add(1))
}

/// Refuses a consumer that would lose messages, or deliver others than those asked for.
fn check(wanted: &Wanted, info: &consumer::Info) -> Result<()> {
    let config = &info.config;
    let refuse = |expected: &str, found: &dyn std::fmt::Debug| {
        Err(Error::invalid(format!(
            "the consumer {:?} of the stream {:?} must have {expected}, found {found:?}",
            info.name, wanted.stream
        )))
    };
    if let Some(subject) = &config.deliver_subject {
        return refuse("no deliver subject (it must be a pull consumer)", subject);
    }
    if config.ack_policy != AckPolicy::Explicit {
        return refuse("the ack policy explicit", &config.ack_policy);
    }
    let mut filters: Vec<&str> = config.filter_subjects.iter().map(String::as_str).collect();
    if !config.filter_subject.is_empty() {
        filters.push(&config.filter_subject);
    }
    let expected: &[&str] = match wanted.subject.as_str() {
        "" => &[],
        subject => &[subject],
    };
    // A filter on everything is none.
    if filters != expected && !(expected.is_empty() && filters == [">"]) {
        return refuse(
            &format!("the filter {expected:?} as in the address"),
            &filters,
        );
    }
    if config.headers_only {
        return refuse("payloads", &"headers_only");
    }
    Ok(())
}
