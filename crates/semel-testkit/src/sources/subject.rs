//! The broker under test, as its crate presents it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use semel_core::Inbox;
use semel_inbox::Source;
use semel_inbox::source::HeaderField;

use super::reader::Reader;
use crate::conformance::decline;

/// A future of a test's broker.
pub type Doing<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// A message that a test publishes. Its payload begins with its id, so that tests know it again.
#[derive(Debug, Clone)]
pub struct Published {
    /// Its id, published as the header `message-id`.
    pub id: String,
    /// Its key, if it has one.
    pub key: Option<Bytes>,
    /// Its other headers.
    pub headers: Vec<HeaderField>,
    /// Its payload.
    pub payload: Option<Bytes>,
}

impl Published {
    /// A message whose payload is JSON that holds its id.
    pub fn new(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            key: None,
            headers: Vec::new(),
            payload: Some(Bytes::from(format!("{{\"id\":\"{id}\"}}"))),
        }
    }
}

/// What only some brokers can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Ability {
    /// Headers that repeat.
    RepeatedHeaders,
    /// Headers without a value.
    NullHeaders,
    /// Messages without a payload.
    NullPayloads,
    /// Keys of any bytes.
    BinaryKeys,
    /// Order per key over several readers.
    Order,
    /// Coordinates that are never used again.
    Coordinates,
    /// Leases that can be extended.
    Extend,
    /// Deliveries that expire while their reader lives.
    Expiry,
    /// A late answer of an expired delivery that the broker refuses.
    LateAnswers,
    /// Deliveries that are given back come again while their reader lives.
    GiveBack,
    /// Counts what waits.
    Lag,
    /// Readers can be led through a proxy.
    Proxy,
}

impl Ability {
    /// Its name in the table of results.
    const fn name(self) -> &'static str {
        match self {
            Self::RepeatedHeaders => "repeated headers",
            Self::NullHeaders => "null headers",
            Self::NullPayloads => "null payloads",
            Self::BinaryKeys => "binary keys",
            Self::Order => "order",
            Self::Coordinates => "coordinates",
            Self::Extend => "extend",
            Self::Expiry => "expiry",
            Self::LateAnswers => "late answers",
            Self::GiveBack => "give back",
            Self::Lag => "lag",
            Self::Proxy => "proxy",
        }
    }
}

/// How a broker's crate serves the suite. One value has one topic, queue or stream of its own, and one group.
pub trait Broker: Send + Sync + 'static {
    /// What it can do.
    fn abilities(&self) -> &[Ability];

    /// Publishes messages in their order, durably when it returns.
    fn publish(&self, messages: Vec<Published>) -> Doing<'_, ()>;

    /// A new source of the group. Its leases are `term`, where the broker has leases and lets them be set.
    fn source(&self) -> Arc<dyn Source>;

    /// The same through this address instead of the broker's own.
    fn source_through(&self, proxy: std::net::SocketAddr) -> Arc<dyn Source> {
        let _ = proxy;
        self.source()
    }

    /// Where the broker listens.
    fn addr(&self) -> std::net::SocketAddr;

    /// How long a delivery stays open without a word, or, without leases, after how long a reader that has crashed is given up.
    fn term(&self) -> Duration;

    /// Deletes the topic, queue or stream and makes it anew.
    fn recreate(&self) -> Doing<'_, ()>;

    /// An empty inbox for the tests with an engine.
    fn inbox(&self) -> Arc<dyn Inbox>;
}

/// The subject of one test.
pub struct Subject {
    pub(super) broker: Box<dyn Broker>,
}

impl Subject {
    /// A fresh topic of this broker.
    pub fn new(broker: impl Broker) -> Self {
        Self {
            broker: Box::new(broker),
        }
    }

    /// Whether the broker can do this; a test of what it cannot do has nothing to say, and the table of results says so.
    pub(super) fn can(&self, ability: Ability) -> bool {
        let can = self.broker.abilities().contains(&ability);
        if !can {
            decline(ability.name());
        }
        can
    }

    /// An open reader.
    pub(super) async fn reader(&self) -> Reader {
        Reader::open(self.broker.source()).await
    }

    /// Publishes messages with these ids.
    pub(super) async fn publish(&self, ids: &[&str]) {
        let messages = ids.iter().map(|id| Published::new(id)).collect();
        self.broker.publish(messages).await;
    }

    /// Publishes messages numbered from 0; their ids.
    pub(super) async fn publish_many(&self, count: usize) -> Vec<String> {
        let ids: Vec<String> = (0..count).map(|n| format!("m-{n:05}")).collect();
        let messages = ids.iter().map(|id| Published::new(id)).collect();
        self.broker.publish(messages).await;
        ids
    }
}

impl std::fmt::Debug for Subject {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Subject")
    }
}
