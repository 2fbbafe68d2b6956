//! The suite that every source passes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use lapin::BasicProperties;
use lapin::options::BasicPublishOptions;
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};
use semel_amqp::AmqpSource;
use semel_core::Inbox;
use semel_inbox::Source;
use semel_sqlite::{Config, SqliteStore};
use semel_testkit::sources::{Ability, Broker, Doing, Published, Subject};
use tempfile::TempDir;

use crate::world::World;

pub(crate) struct Rabbit {
    world: World,
    dir: TempDir,
}

async fn fresh() -> Subject {
    Subject::new(Rabbit::fresh().await)
}

impl Rabbit {
    pub(crate) async fn fresh() -> Self {
        Self {
            world: World::new().await,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn url(&self) -> String {
        self.world.url("")
    }
}

fn properties(message: &Published) -> BasicProperties {
    let mut properties = BasicProperties::default().with_delivery_mode(2);
    if !message.id.is_empty() {
        properties = properties.with_message_id(message.id.as_str().into());
    }
    let mut table: BTreeMap<ShortString, AMQPValue> = BTreeMap::new();
    for (name, value) in &message.headers {
        let value = match value {
            Some(value) if name == "content-type" => {
                let text = std::str::from_utf8(value).unwrap();
                properties = properties.with_content_type(text.into());
                continue;
            }
            Some(value) => AMQPValue::LongString(LongString::from(&value[..])),
            None => AMQPValue::Void,
        };
        table.insert(name.as_str().into(), value);
    }
    properties.with_headers(FieldTable::from(table))
}

impl Broker for Rabbit {
    fn abilities(&self) -> &[Ability] {
        &[
            Ability::NullHeaders,
            Ability::Order,
            Ability::GiveBack,
            Ability::Lag,
            Ability::Proxy,
        ]
    }

    fn publish(&self, messages: Vec<Published>) -> Doing<'_, ()> {
        Box::pin(async move {
            let mut confirms = Vec::new();
            for message in messages {
                let (properties, payload) =
                    (properties(&message), message.payload.unwrap_or_default());
                let queue = self.world.queue.as_str().into();
                let options = BasicPublishOptions::default();
                let sent = self.world.channel.basic_publish(
                    "".into(),
                    queue,
                    options,
                    &payload,
                    properties,
                );
                confirms.push(sent.await.unwrap());
            }
            for confirm in confirms {
                confirm.await.unwrap();
            }
        })
    }

    fn source(&self) -> Arc<dyn Source> {
        Arc::new(AmqpSource::from_url(&self.url(), "reader").unwrap())
    }

    fn source_through(&self, proxy: SocketAddr) -> Arc<dyn Source> {
        let url = self.world.url_through(proxy, "timeout=2s");
        Arc::new(AmqpSource::from_url(&url, "reader").unwrap())
    }

    fn addr(&self) -> SocketAddr {
        self.world.socket()
    }

    fn term(&self) -> Duration {
        Duration::from_secs(1)
    }

    fn recreate(&self) -> Doing<'_, ()> {
        Box::pin(async {
            self.world.delete().await;
            self.world.create().await;
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

semel_testkit::source_conformance!("RabbitMQ", fresh().await);
