//! A queue as a source.

mod channel;
mod message;
mod reader;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use lapin::options::QueueDeclareOptions;
use lapin::types::FieldTable;
use semel_core::store::Answer;
use semel_core::{Error, Result};
use semel_inbox::Source;
use semel_inbox::source::{
    Event, Facts, Handle, OPEN_MAX, Partition, Position, Retained, Settle, Settled, SourceLease,
    Want,
};

use crate::connection::{self, Connection};
use crate::error;
use crate::url::Address;
use reader::Reader;

/// How long RabbitMQ lets a delivery be unacknowledged unless its operator says otherwise (`consumer_timeout`).
const ACK_TIMEOUT: Duration = Duration::from_secs(30 * 60);
/// The shortest and the longest of these.
const ACK_TIMEOUTS: RangeInclusive<Duration> =
    RangeInclusive::new(Duration::from_secs(1), Duration::from_secs(7 * 86_400));

/// A queue of RabbitMQ.
///
/// The address is `amqp[s]://[USER:PASSWORD@]HOST[:PORT][/VHOST]?queue=QUEUE&OPTION=VALUE…`. Options: `prefetch`, `ack_timeout`, and for
/// the connection `ca` and `timeout`.
pub struct AmqpSource {
    name: String,
    ack_timeout: Duration,
    place: Arc<Place>,
    /// An async lock, because `next` waits while it reads; the trait allows one `next` at a time.
    reader: tokio::sync::Mutex<Reader>,
}

/// What reading and facts share.
struct Place {
    connection: Connection,
    queue: String,
    prefetch: u16,
    /// What operators of the broker see as the consumer's tag.
    consumer: String,
    /// How many deliveries wait here until the pump asks for them.
    held: AtomicUsize,
    /// Whether the queue counts deliveries, as a quorum queue does.
    counts: AtomicBool,
}

impl AmqpSource {
    /// A source that connects when it is opened. `consumer` names the connection and the consumer for the broker's operators.
    pub fn from_url(url: &str, consumer: &str) -> Result<Self> {
        let mut address = Address::parse(url)?;
        let queue = address
            .take_name("queue")?
            .filter(|queue| !queue.is_empty());
        let queue =
            queue.ok_or_else(|| Error::invalid("an address to read from has the option queue"))?;
        let options = &mut address.options;
        let ack_timeout = options.take_duration("ack_timeout", ACK_TIMEOUTS)?;
        let most = u16::try_from(OPEN_MAX).unwrap_or(u16::MAX);
        let prefetch = options.take_number("prefetch", 1..=most)?.unwrap_or(most);
        address.finish("ack_timeout, prefetch, queue")?;
        let name = address.named(&queue);
        let place = Place {
            connection: Connection::new(address, &format!("semel {consumer} {name}")),
            queue,
            prefetch,
            consumer: consumer.chars().take(60).collect(),
            held: AtomicUsize::new(0),
            counts: AtomicBool::new(false),
        };
        Ok(Self {
            name,
            ack_timeout: ack_timeout.unwrap_or(ACK_TIMEOUT),
            place: Arc::new(place),
            reader: tokio::sync::Mutex::default(),
        })
    }
}

impl std::fmt::Debug for AmqpSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AmqpSource")
            .field("name", &self.name)
            .field("address", self.place.connection.address())
            .finish_non_exhaustive()
    }
}

impl Source for AmqpSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn lease(&self) -> Option<SourceLease> {
        Some(SourceLease::fixed(self.ack_timeout))
    }

    fn open(&self, _: Vec<(Partition, Position)>) -> Answer<'_, ()> {
        Box::pin(async {
            self.place.waiting().await?;
            tracing::info!(source = self.name, "a queue is read");
            Ok(())
        })
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        Box::pin(async move {
            let mut reader = self.reader.lock().await;
            reader.next(&self.name, &self.place, want).await
        })
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        Box::pin(async move { Ok(channel::settle(items).await) })
    }

    fn facts(&self) -> Answer<'_, Facts> {
        Box::pin(self.place.facts())
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let mut reader = self.reader.lock().await;
            reader.close(&self.place).await;
            self.place.connection.close().await;
            Ok(())
        })
    }
}

impl Place {
    async fn facts(&self) -> Result<Facts> {
        let waiting = self.waiting().await?;
        let held = u64::try_from(self.held.load(Ordering::Relaxed)).unwrap_or(u64::MAX);
        let mut facts = Facts::default();
        facts.retained = Some(Retained::UntilAcked);
        facts.lag = Some(waiting.saturating_add(held));
        if self.counts.load(Ordering::Relaxed) {
            facts.warnings.push(format!(
                "the queue {} counts deliveries as quorum queues do; its delivery limit (20 since RabbitMQ 4) cannot be read over AMQP, \
                 and what reaches it is dropped unless the queue has a dead letter exchange",
                self.queue
            ));
        }
        Ok(facts)
    }

    /// How many messages of the queue are delivered to no consumer.
    async fn waiting(&self) -> Result<u64> {
        let channel = self.connection.channel().await?;
        let passive = QueueDeclareOptions {
            passive: true,
            ..QueueDeclareOptions::default()
        };
        let declared =
            channel.queue_declare(self.queue.as_str().into(), passive, FieldTable::default());
        let declared = tokio::time::timeout(self.connection.address().timeout, declared).await;
        let what = format!("the queue {:?} cannot be read", self.queue);
        let declared = declared.map_err(|_| error::away(&what, "no answer in time"))?;
        let declared = declared.map_err(|error| error::of(&what, &error))?;
        connection::close(&channel).await;
        Ok(u64::from(declared.message_count()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_to_read_from_has_a_queue() {
        for (url, expected) in [
            ("amqp://h", "the option queue"),
            ("amqp://h?queue=", "the option queue"),
            ("amqp://h?queue=q&prefetch=0", "from 1 to 1000"),
            ("amqp://h?queue=q&prefetch=1001", "from 1 to 1000"),
            ("amqp://h?queue=q&ack_timeout=long", "ack_timeout"),
            ("amqp://h?queue=q&exchange=e", "not known"),
        ] {
            let error = AmqpSource::from_url(url, "c").unwrap_err().to_string();
            assert!(error.contains(expected), "{url}: {error}");
        }
        let source = AmqpSource::from_url("amqp://h/v?queue=q&ack_timeout=5m", "c").unwrap();
        assert_eq!(source.name(), "amqp:v/q");
        assert_eq!(
            source.lease(),
            Some(SourceLease::fixed(Duration::from_secs(300)))
        );
    }
}
