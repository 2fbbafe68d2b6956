//! Topics of a real broker, messages in them, and readers of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::admin::{AdminClient, AdminOptions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer};
use rdkafka::{Offset, TopicPartitionList};
use semel_inbox::Source;
use semel_inbox::source::{Delivery, Event, Gone, Handle, HeaderField, Settle, Settled, Want};
use semel_kafka::KafkaSource;
use tokio::time::{Instant, sleep, timeout};

pub(crate) const ASK: Duration = Duration::from_secs(20);
pub(crate) const MUCH: Want = Want {
    count: 500,
    bytes: 8 * 1024 * 1024,
};

/// Where the broker listens.
pub(crate) fn broker() -> String {
    std::env::var("SEMEL_TEST_KAFKA")
        .expect("SEMEL_TEST_KAFKA is not set; start it with `cargo xtask services up kafka`")
}

fn config(broker: &str) -> ClientConfig {
    let mut config = ClientConfig::new();
    config.set("bootstrap.servers", broker);
    config
}

fn url(broker: &str, topic: &str, options: &str) -> String {
    let session = match options.contains("session=") {
        true => "",
        false => "&session=6s",
    };
    let options = format!("{session}{options}");
    format!(
        "kafka://{broker}/{topic}?{}",
        options.trim_start_matches('&')
    )
}

/// A topic of one test.
pub(crate) struct Topic {
    pub(crate) name: String,
    broker: String,
    partitions: i32,
    settings: Vec<(&'static str, &'static str)>,
    admin: AdminClient<DefaultClientContext>,
    producer: BaseProducer,
}

/// A message to publish; without a partition its key decides.
#[derive(Clone, Default)]
pub(crate) struct Message {
    pub(crate) partition: Option<i32>,
    pub(crate) key: Option<Vec<u8>>,
    pub(crate) headers: Vec<HeaderField>,
    pub(crate) payload: Option<Vec<u8>>,
}

impl Topic {
    pub(crate) async fn new(partitions: i32) -> Self {
        Self::with(partitions, &[]).await
    }

    pub(crate) async fn with(partitions: i32, settings: &[(&'static str, &'static str)]) -> Self {
        Self::at(broker(), partitions, settings).await
    }

    /// A topic of this broker.
    pub(crate) async fn at(
        broker: String,
        partitions: i32,
        settings: &[(&'static str, &'static str)],
    ) -> Self {
        static LAST: AtomicU32 = AtomicU32::new(0);
        let number = LAST.fetch_add(1, Ordering::Relaxed);
        let since = std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos();
        let topic = Self {
            name: format!("t-{since:x}-{number}"),
            partitions,
            settings: settings.to_vec(),
            admin: config(&broker).create().unwrap(),
            producer: config(&broker).create().unwrap(),
            broker,
        };
        topic.create().await;
        topic
    }

    async fn create(&self) {
        let until = Instant::now() + ASK;
        loop {
            let mut new = NewTopic::new(&self.name, self.partitions, TopicReplication::Fixed(1));
            for (name, value) in &self.settings {
                new = new.set(name, value);
            }
            let options = AdminOptions::new().operation_timeout(Some(ASK));
            let created = self.admin.create_topics(&[new], &options).await.unwrap();
            match &created[0] {
                Ok(_) => break,
                // It is still being deleted.
                Err(error) => assert!(Instant::now() < until, "{error:?}"),
            }
            sleep(Duration::from_millis(100)).await;
        }
        // The broker creates it, and learns of it a moment later.
        let is_known = || {
            let metadata = self.producer.client().fetch_metadata(Some(&self.name), ASK);
            let metadata = metadata.unwrap();
            let found = metadata.topics().iter();
            found.flat_map(|topic| topic.partitions()).count()
                == usize::try_from(self.partitions).unwrap()
        };
        crate::support::until("the topic is there", is_known).await;
    }

    /// Deletes it and makes it anew.
    pub(crate) async fn recreate(&self) {
        let options = AdminOptions::new().operation_timeout(Some(ASK));
        let deleted = self.admin.delete_topics(&[&self.name], &options).await;
        assert!(deleted.unwrap()[0].is_ok());
        self.create().await;
    }

    pub(crate) fn publish(&self, messages: &[Message]) {
        for message in messages {
            let mut headers = OwnedHeaders::new();
            for (key, value) in &message.headers {
                let value = value.as_deref();
                headers = headers.insert(Header { key, value });
            }
            let record: BaseRecord<'_, [u8], [u8]> = BaseRecord::to(&self.name);
            let mut record = record.headers(headers);
            (record.partition, record.key) = (message.partition, message.key.as_deref());
            record.payload = message.payload.as_deref();
            self.producer
                .send(record)
                .map_err(|(error, _)| error)
                .unwrap();
        }
        self.producer.flush(ASK).unwrap();
    }

    /// Publishes numbered messages, each with its id, over all partitions in turn.
    pub(crate) fn publish_ids(&self, numbers: std::ops::Range<usize>) -> Vec<String> {
        let ids: Vec<String> = numbers.clone().map(|n| format!("m-{n:06}")).collect();
        let message = |(number, id): (usize, &String)| Message {
            partition: Some(i32::try_from(number).unwrap() % self.partitions),
            headers: vec![("message-id".to_owned(), Some(id.clone().into()))],
            payload: Some(id.clone().into_bytes()),
            ..Message::default()
        };
        let messages: Vec<Message> = numbers.zip(&ids).map(message).collect();
        self.publish(&messages);
        ids
    }

    /// A source of the group that has the topic's name.
    pub(crate) fn source(&self, options: &str) -> KafkaSource {
        Self::source_of(&self.broker, &self.name, options)
    }

    /// The same, for a process that has not made the topic.
    pub(crate) fn source_of(broker: &str, name: &str, options: &str) -> KafkaSource {
        KafkaSource::from_url(&url(broker, name, options), name).unwrap()
    }

    /// The address of its source.
    pub(crate) fn url(&self, options: &str) -> String {
        url(&self.broker, &self.name, options)
    }

    pub(crate) async fn reader(&self, options: &str) -> Reader {
        let source = Arc::new(self.source(options));
        source.open(Vec::new()).await.unwrap();
        Reader { source }
    }

    /// What the group has committed, partition by partition.
    pub(crate) fn committed(&self) -> Vec<Option<i64>> {
        let mut config = config(&self.broker);
        let group: BaseConsumer = config.set("group.id", &self.name).create().unwrap();
        let mut list = TopicPartitionList::new();
        list.add_partition_range(&self.name, 0, self.partitions - 1);
        let until = Instant::now() + ASK;
        let found = loop {
            match group.committed_offsets(list.clone(), ASK) {
                Ok(found) => break found,
                // A group that is new has its coordinator a moment later.
                Err(error) => assert!(Instant::now() < until, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        };
        let offset = |offset| match offset {
            Offset::Offset(offset) => Some(offset),
            _ => None,
        };
        found
            .elements()
            .iter()
            .map(|e| offset(e.offset()))
            .collect()
    }
}

/// An open source.
pub(crate) struct Reader {
    pub(crate) source: Arc<KafkaSource>,
}

impl Reader {
    /// The next event; nothing if none comes in this time.
    pub(crate) async fn event(&self, want: Want, time: Duration) -> Option<Event> {
        let event = timeout(time, self.source.next(want)).await;
        event
            .ok()
            .map(|event| event.expect("the source can be read"))
    }

    /// So many deliveries; anything else is a failure.
    pub(crate) async fn take(&self, count: usize) -> Vec<Delivery> {
        let mut all = Vec::new();
        while all.len() < count {
            let want = Want {
                count: count - all.len(),
                ..MUCH
            };
            match self.event(want, ASK).await {
                Some(Event::Batch(batch)) => all.extend(batch.deliveries),
                other => panic!(
                    "{count} deliveries expected, found {} and {other:?}",
                    all.len()
                ),
            }
        }
        all
    }

    /// What was lost, after whatever else comes.
    pub(crate) async fn gone(&self) -> Gone {
        match self.event(Want::NOTHING, ASK).await {
            Some(Event::Gone(gone)) => gone,
            other => panic!("a loss expected, found {other:?}"),
        }
    }

    pub(crate) async fn settle(&self, all: &[Delivery], how: Settle) -> Vec<Settled> {
        let handle = |delivery: &Delivery| (Handle::clone(&delivery.handle), how);
        let items = all.iter().map(handle).collect();
        self.source.settle(items).await.unwrap()
    }

    pub(crate) async fn close(self) {
        self.source.close().await.unwrap();
    }
}

/// The id that a message was published with.
pub(crate) fn id(delivery: &Delivery) -> String {
    let mut headers = delivery.raw.headers.iter();
    let id = headers.find(|(name, _)| name == "message-id");
    let id = id.and_then(|(_, value)| value.clone()).expect("an id");
    String::from_utf8(id.to_vec()).unwrap()
}

pub(crate) fn ids(all: &[Delivery]) -> Vec<String> {
    let mut ids: Vec<String> = all.iter().map(id).collect();
    ids.sort_unstable();
    ids
}

pub(crate) async fn until(what: &str, is_so: impl Fn() -> bool) {
    until_within(Duration::from_secs(60), what, is_so).await;
}

pub(crate) async fn until_within(time: Duration, what: &str, is_so: impl Fn() -> bool) {
    let end = Instant::now() + time;
    while !is_so() {
        assert!(Instant::now() < end, "this did not happen: {what}");
        sleep(Duration::from_millis(50)).await;
    }
}
