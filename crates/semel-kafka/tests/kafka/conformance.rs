//! The suite that every broker's source is held to.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use semel_core::Inbox;
use semel_inbox::Source;
use semel_sqlite::{Config, SqliteStore};
use semel_testkit::sources::{Ability, Broker, Doing, Published, Subject};
use tempfile::TempDir;

use crate::support::{Message, Topic, broker};

pub(crate) struct Kafka {
    topic: Topic,
    dir: TempDir,
}

async fn fresh() -> Subject {
    Subject::new(Kafka::fresh().await)
}

impl Kafka {
    pub(crate) async fn fresh() -> Self {
        Self {
            topic: Topic::new(3).await,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn url(&self, options: &str) -> String {
        self.topic.url(options)
    }
}

impl Broker for Kafka {
    /// Kafka has no leases, and its brokers say their own address, which leads clients past a proxy.
    fn abilities(&self) -> &[Ability] {
        &[
            Ability::RepeatedHeaders,
            Ability::NullHeaders,
            Ability::NullPayloads,
            Ability::BinaryKeys,
            Ability::Order,
            Ability::Coordinates,
            Ability::GiveBack,
            Ability::Lag,
        ]
    }

    fn publish(&self, messages: Vec<Published>) -> Doing<'_, ()> {
        let message = |published: Published| {
            let id = ("message-id".to_owned(), Some(published.id.clone().into()));
            let mut headers = published.headers;
            if !published.id.is_empty() {
                headers.push(id);
            }
            Message {
                partition: None,
                key: published.key.map(Into::into),
                headers,
                payload: published.payload.map(Into::into),
            }
        };
        let messages: Vec<Message> = messages.into_iter().map(message).collect();
        Box::pin(async move { self.topic.publish(&messages) })
    }

    fn source(&self) -> Arc<dyn Source> {
        Arc::new(self.topic.source(""))
    }

    fn addr(&self) -> SocketAddr {
        broker().parse().unwrap()
    }

    /// A source that is dropped leaves its group at once.
    fn term(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn recreate(&self) -> Doing<'_, ()> {
        Box::pin(self.topic.recreate())
    }

    fn inbox(&self) -> Arc<dyn Inbox> {
        inbox(&self.dir.path().join("semel.db"))
    }
}

/// The store in this file.
pub(crate) fn inbox(path: &Path) -> Arc<dyn Inbox> {
    let store: SqliteStore = Config::new(path).open().unwrap();
    Arc::new(store)
}

semel_testkit::source_conformance!("Kafka", fresh().await);
