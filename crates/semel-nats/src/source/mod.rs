//! A stream as a source.

mod advisory;
mod attach;
mod message;
mod reader;
mod settle;
mod wanted;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::context::ConsumerInfoErrorKind;
use semel_core::Result;
use semel_core::store::Answer;
use semel_inbox::Source;
use semel_inbox::source::{
    Event, Facts, Handle, Partition, Position, Settle, Settled, SourceLease, Want,
};
use tokio::sync::Notify;

use crate::connection::Connection;
use crate::url::Address;
use crate::{error, facts};
use attach::Incarnation;
use reader::Reader;
use wanted::Wanted;

/// A JetStream stream that is read through a durable pull consumer.
///
/// The address is `nats://[USER:PASSWORD@|TOKEN@]HOST[:PORT][,HOST…]/STREAM?OPTION=VALUE…`. Options: `durable`, `subject`, `ack_wait`,
/// `create`, `deliver`, and for the connection `tls`, `ca`, `cert` and `key`, `credentials`, `timeout`.
pub struct NatsSource {
    name: String,
    place: Place,
    /// An async lock, because `next` waits while it reads; the trait allows one `next` at a time.
    reader: tokio::sync::Mutex<Reader>,
}

/// What reading, settling and facts share.
struct Place {
    connection: Connection,
    wanted: Wanted,
    term_ms: AtomicU64,
    /// Whether the consumer may no longer be the one that is read.
    doubted: AtomicBool,
    doubt: Notify,
    seen: Mutex<Seen>,
}

/// What is known about the consumer at the server.
#[derive(Default)]
struct Seen {
    current: Option<Arc<Incarnation>>,
    /// The stream's creation time, and up to where everything was acknowledged.
    floor: Option<(i128, u64)>,
}

impl NatsSource {
    /// A source that connects when it is opened. `consumer` names the durable consumer unless the address does.
    pub fn from_url(url: &str, consumer: &str) -> Result<Self> {
        let mut address = Address::parse(url)?;
        let wanted = Wanted::take(&mut address, consumer)?;
        let name = format!("nats:{}/{}", wanted.stream, wanted.durable);
        let place = Place {
            connection: Connection::new(address, &format!("semel {name}")),
            term_ms: AtomicU64::new(millis(wanted.ack_wait)),
            wanted,
            doubted: AtomicBool::new(false),
            doubt: Notify::new(),
            seen: Mutex::default(),
        };
        let reader = tokio::sync::Mutex::new(Reader::new(place.connection.connected()));
        Ok(Self {
            name,
            place,
            reader,
        })
    }
}

impl std::fmt::Debug for NatsSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NatsSource")
            .field("name", &self.name)
            .field("address", self.place.connection.address())
            .finish_non_exhaustive()
    }
}

impl Source for NatsSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn lease(&self) -> Option<SourceLease> {
        let term = self.place.term_ms.load(Ordering::Relaxed);
        Some(SourceLease::extendable(Duration::from_millis(term)))
    }

    fn open(&self, _: Vec<(Partition, Position)>) -> Answer<'_, ()> {
        Box::pin(async {
            let mut reader = self.reader.lock().await;
            reader.attach(&self.place).await?;
            tracing::info!(source = self.name, "a stream is read");
            Ok(())
        })
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        Box::pin(async move {
            let mut reader = self.reader.lock().await;
            reader.next(&self.place, want).await
        })
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        Box::pin(settle::all(&self.place, items))
    }

    fn facts(&self) -> Answer<'_, Facts> {
        Box::pin(self.place.facts())
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let mut reader = self.reader.lock().await;
            let unread = reader.close(&self.place);
            if !unread.is_empty() {
                // Those that cannot be given back come again when their lease ends.
                let _ = settle::all(&self.place, unread).await;
            }
            self.place.connection.close().await;
            Ok(())
        })
    }
}

impl Place {
    /// Makes the reader look whether its consumer is still there.
    fn doubt(&self) {
        self.doubted.store(true, Ordering::Release);
        self.doubt.notify_one();
    }

    async fn facts(&self) -> Result<Facts> {
        let Wanted {
            stream, durable, ..
        } = &self.wanted;
        let jetstream = self.connection.jetstream().await?;
        let found = jetstream.get_stream(stream).await;
        let found = found.map_err(|error| {
            self.doubt();
            error::stream(stream, &error.kind())
        })?;
        let consumer = match found.consumer_info(durable).await {
            Ok(consumer) => consumer,
            Err(error) if error.kind() == ConsumerInfoErrorKind::NotFound => {
                // The first `open` makes it.
                if self.wanted.create && self.seen().current.is_none() {
                    return Ok(facts::of(&found.cached_info().config, None));
                }
                self.doubt();
                return Err(error::consumer_info(durable, &error.kind()));
            }
            Err(error) => return Err(error::consumer_info(durable, &error.kind())),
        };
        let incarnation = Incarnation::of(found.cached_info(), &consumer);
        let mut seen = self.seen();
        match &seen.current {
            Some(current) if current.partition != incarnation.partition => self.doubt(),
            Some(_) => {
                seen.floor = Some((
                    incarnation.stream_created,
                    consumer.ack_floor.stream_sequence,
                ))
            }
            None => {}
        }
        drop(seen);
        Ok(facts::of(&found.cached_info().config, Some(&consumer)))
    }

    fn seen(&self) -> std::sync::MutexGuard<'_, Seen> {
        // Each field is whole after every statement, so a poisoned lock protects nothing.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
