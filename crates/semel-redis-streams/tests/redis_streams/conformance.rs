//! The suite that every broker's source is held to.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use semel_core::Inbox;
use semel_inbox::Source;
use semel_redis_streams::RedisStreamsSource;
use semel_sqlite::{Config, SqliteStore};
use semel_testkit::sources::{Ability, Broker, Doing, Published, Subject};
use tempfile::TempDir;

use crate::common::Stream;

const OPTIONS: &str = "create=true&idle=2s";

pub(crate) struct RedisStreams {
    stream: Stream,
    dir: TempDir,
}

async fn fresh() -> Subject {
    Subject::new(RedisStreams::fresh().await)
}

impl RedisStreams {
    pub(crate) async fn fresh() -> Self {
        Self {
            stream: Stream::new().await,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn url(&self) -> String {
        self.stream.url(OPTIONS)
    }

    async fn add(&self, message: Published) {
        let mut add = redis::cmd("XADD");
        add.arg(&self.stream.name).arg("*");
        if !message.id.is_empty() {
            add.arg("message-id").arg(&message.id);
        }
        for (name, value) in &message.headers {
            add.arg(name).arg(value.as_deref().unwrap_or_default());
        }
        if let Some(key) = &message.key {
            add.arg("key").arg(&key[..]);
        }
        if let Some(payload) = &message.payload {
            add.arg("payload").arg(&payload[..]);
        }
        let mut redis = self.stream.redis.clone();
        let _: String = add.query_async(&mut redis).await.unwrap();
    }
}

impl Broker for RedisStreams {
    /// A field of an entry always has a value.
    fn abilities(&self) -> &[Ability] {
        &[
            Ability::RepeatedHeaders,
            Ability::NullPayloads,
            Ability::BinaryKeys,
            Ability::Order,
            Ability::Coordinates,
            Ability::Extend,
            Ability::Expiry,
            Ability::LateAnswers,
            Ability::GiveBack,
            Ability::Lag,
            Ability::Proxy,
        ]
    }

    fn publish(&self, messages: Vec<Published>) -> Doing<'_, ()> {
        Box::pin(async move {
            for message in messages {
                self.add(message).await;
            }
        })
    }

    fn source(&self) -> Arc<dyn Source> {
        Arc::new(RedisStreamsSource::from_url(&self.url(), "billing").unwrap())
    }

    fn source_through(&self, proxy: SocketAddr) -> Arc<dyn Source> {
        let url = self.stream.url_at(&proxy.to_string(), OPTIONS);
        Arc::new(RedisStreamsSource::from_url(&url, "billing").unwrap())
    }

    fn addr(&self) -> SocketAddr {
        self.stream.server().parse().unwrap()
    }

    fn term(&self) -> Duration {
        Duration::from_secs(2)
    }

    fn recreate(&self) -> Doing<'_, ()> {
        Box::pin(self.stream.delete())
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

semel_testkit::source_conformance!("Redis Streams", fresh().await);
