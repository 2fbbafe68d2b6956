//! Kafka: one topic, a group per turn.

use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use semel_core::store::Answer;
use semel_core::{Error, Kind, Result};
use tokio::task::spawn_blocking;

use super::super::lap::Lap;
use super::super::letters::Published;
use super::{Bare, TURN_MAX, failed};
use crate::timing::Stopwatch;

const PARTITIONS: i32 = 4;
/// How long one request may take.
const ASK: Duration = Duration::from_secs(30);
/// How long one poll waits.
const POLL: Duration = Duration::from_millis(100);
/// A member of a group as `semel-kafka` is one, but for commits: the library makes them, as often.
const MEMBER: [(&str, &str); 11] = [
    ("auto.offset.reset", "earliest"),
    ("enable.auto.commit", "true"),
    ("auto.commit.interval.ms", "150"),
    ("isolation.level", "read_committed"),
    ("group.protocol", "classic"),
    ("partition.assignment.strategy", "cooperative-sticky"),
    ("session.timeout.ms", "45000"),
    ("queued.max.messages.kbytes", "16384"),
    ("fetch.queue.backoff.ms", "20"),
    ("fetch.wait.max.ms", "100"),
    ("socket.nagle.disable", "true"),
];

pub(super) struct Kafka {
    address: String,
    topic: String,
    admin: AdminClient<DefaultClientContext>,
}

impl Kafka {
    pub(super) async fn connect(address: &str, topic: &str) -> Result<Self> {
        let admin: AdminClient<_> = config(address).create().map_err(failed("Kafka"))?;
        let new = NewTopic::new(topic, PARTITIONS, TopicReplication::Fixed(1));
        // Not longer than ids are remembered, as the engine asks.
        let new = new.set("retention.ms", "3600000");
        let made = admin.create_topics(&[new], &asking()).await;
        let made = made.map_err(failed("making a topic"))?;
        for made in made {
            made.map_err(|(_, code)| failed("making a topic")(code.to_string()))?;
        }
        Ok(Self {
            address: address.to_owned(),
            topic: topic.to_owned(),
            admin,
        })
    }
}

impl Bare for Kafka {
    fn fill<'a>(&'a self, messages: &'a [Published]) -> Answer<'a, ()> {
        let (address, topic) = (self.address.clone(), self.topic.clone());
        let messages = messages.to_vec();
        Box::pin(blocking(move || publish(&address, &topic, &messages)))
    }

    fn url(&self, _: &str) -> String {
        format!("kafka://{}/{}", self.address, self.topic)
    }

    fn drain<'a>(&'a self, turn: &'a str, count: usize) -> Answer<'a, Duration> {
        let mut config = config(&self.address);
        config.set("group.id", turn);
        for (name, value) in MEMBER {
            config.set(name, value);
        }
        let topic = self.topic.clone();
        Box::pin(blocking(move || drain(&config, &topic, count)))
    }

    fn end<'a>(&'a self, turn: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            // A group that its member has not left yet stays; the broker forgets it by itself.
            let _ = self.admin.delete_groups(&[turn], &asking()).await;
            Ok(())
        })
    }

    fn clean(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let removed = self.admin.delete_topics(&[&self.topic], &asking()).await;
            let removed = removed.map_err(failed("removing a topic"))?;
            for removed in removed {
                removed.map_err(|(_, code)| failed("removing a topic")(code.to_string()))?;
            }
            Ok(())
        })
    }
}

fn config(address: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", address);
    config
}

fn asking() -> AdminOptions {
    AdminOptions::new()
        .request_timeout(Some(ASK))
        .operation_timeout(Some(ASK))
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let crashed = |e| Error::new(Kind::Internal, "a thread of Kafka panicked").caused_by(e);
    spawn_blocking(work).await.map_err(crashed)?
}

fn publish(address: &str, topic: &str, messages: &[Published]) -> Result<()> {
    let producer: BaseProducer = config(address).create().map_err(failed("Kafka"))?;
    for (message, partition) in messages.iter().zip((0..PARTITIONS).cycle()) {
        send(&producer, topic, partition, message).map_err(failed("publishing"))?;
    }
    producer.flush(TURN_MAX).map_err(failed("publishing"))?;
    let mut there = 0;
    for partition in 0..PARTITIONS {
        let marks = producer.client().fetch_watermarks(topic, partition, ASK);
        there += marks.map_err(failed("publishing"))?.1;
    }
    match there == messages.len() as i64 {
        true => Ok(()),
        false => Err(failed("publishing")(format!(
            "{} messages expected, found {there}",
            messages.len()
        ))),
    }
}

fn send(
    producer: &BaseProducer,
    topic: &str,
    partition: i32,
    message: &Published,
) -> KafkaResult<()> {
    let (key, value) = ("message-id", Some(message.id.as_str()));
    let headers = OwnedHeaders::new().insert(Header { key, value });
    let record: BaseRecord<'_, (), str> = BaseRecord::to(topic);
    let mut record = record
        .partition(partition)
        .headers(headers)
        .payload(message.payload.as_str());
    let begun = Stopwatch::start();
    loop {
        match producer.send(record) {
            Ok(()) => return Ok(()),
            // The library's queue is full until the broker has taken some.
            Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), back))
                if begun.elapsed() < ASK =>
            {
                producer.poll(POLL);
                record = back;
            }
            Err((error, _)) => return Err(error),
        }
    }
}

/// Polls, and drops what it gets. Dropping the consumer leaves the group, with what was read committed.
fn drain(config: &ClientConfig, topic: &str, count: usize) -> Result<Duration> {
    let consumer: BaseConsumer = config.create().map_err(failed("Kafka"))?;
    consumer.subscribe(&[topic]).map_err(failed("reading"))?;
    let (begun, lap) = (Stopwatch::start(), Lap::default());
    let (mut seen, mut last) = (0, None);
    while seen < count {
        match consumer.poll(POLL) {
            Some(Ok(_)) => {
                lap.begin();
                seen += 1;
            }
            // The library goes on by itself after most errors; the others end with the time.
            Some(Err(error)) => last = Some(error),
            None => {}
        }
        if begun.elapsed() > TURN_MAX {
            let said = last.map_or_else(String::new, |error| format!(": {error}"));
            let message = format!("{count} messages expected in time, found {seen}{said}");
            return Err(Error::new(Kind::Unavailable, message));
        }
    }
    Ok(lap.took())
}
