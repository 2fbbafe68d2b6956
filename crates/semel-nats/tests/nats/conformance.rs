//! The suite that every source passes.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use semel_core::Inbox;
use semel_inbox::Source;
use semel_nats::NatsSource;
use semel_sqlite::{Config, SqliteStore};
use semel_testkit::sources::{Ability, Broker, Doing, Published, Subject};
use tempfile::TempDir;

use crate::world::World;

const TERM: Duration = Duration::from_secs(2);

pub(crate) struct Nats {
    world: World,
    dir: TempDir,
}

async fn fresh() -> Subject {
    Subject::new(Nats::fresh().await)
}

impl Nats {
    pub(crate) async fn fresh() -> Self {
        Self {
            world: World::new().await,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn url(&self) -> String {
        self.world.url("ack_wait=2s")
    }
}

impl Broker for Nats {
    fn abilities(&self) -> &[Ability] {
        &[
            Ability::Order,
            Ability::Coordinates,
            Ability::Extend,
            Ability::Expiry,
            Ability::GiveBack,
            Ability::Lag,
            Ability::Proxy,
        ]
    }

    fn publish(&self, messages: Vec<Published>) -> Doing<'_, ()> {
        Box::pin(async move {
            let mut acks = Vec::new();
            for message in messages {
                let mut headers = HeaderMap::new();
                if !message.id.is_empty() {
                    headers.insert("message-id", message.id.as_str());
                }
                for (name, value) in message.headers {
                    let value = value.unwrap_or_default();
                    headers.append(name, std::str::from_utf8(&value).unwrap());
                }
                let payload = message.payload.unwrap_or_default();
                let subject = self.world.subject("suite");
                let sent = self
                    .world
                    .context
                    .publish_with_headers(subject, headers, payload);
                acks.push(sent.await.unwrap());
            }
            for ack in acks {
                ack.await.unwrap();
            }
        })
    }

    fn source(&self) -> Arc<dyn Source> {
        Arc::new(NatsSource::from_url(&self.url(), "reader").unwrap())
    }

    fn source_through(&self, proxy: SocketAddr) -> Arc<dyn Source> {
        let url = format!(
            "nats://{proxy}/{}?ack_wait=2s&timeout=1s",
            self.world.stream
        );
        Arc::new(NatsSource::from_url(&url, "reader").unwrap())
    }

    fn addr(&self) -> SocketAddr {
        self.world.socket()
    }

    fn term(&self) -> Duration {
        TERM
    }

    fn recreate(&self) -> Doing<'_, ()> {
        Box::pin(async {
            self.world.delete().await;
            self.world.create(|_| {}).await;
        })
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

semel_testkit::source_conformance!("NATS JetStream", fresh().await);
