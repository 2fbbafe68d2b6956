//! The suite that every broker's source is held to.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_sqs::types::MessageAttributeValue;
use semel_core::Inbox;
use semel_inbox::Source;
use semel_inbox::intents::{Outgoing, Outlet, Sent};
use semel_sqlite::{Config, SqliteStore};
use semel_sqs::SqsSource;
use semel_testkit::sources::{Ability, Broker, Doing, Published, Subject};
use tempfile::TempDir;

use crate::common::Queue;

const OPTIONS: &str = "wait=1s&visibility=3s&pollers=2&timeout=3s";

pub(crate) struct Sqs {
    queue: Queue,
    dir: TempDir,
}

async fn fresh() -> Subject {
    Subject::new(Sqs::fresh().await)
}

impl Sqs {
    pub(crate) async fn fresh() -> Self {
        Self {
            queue: Queue::new().await,
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub(crate) fn url(&self) -> String {
        self.queue.url(OPTIONS)
    }
}

impl Broker for Sqs {
    /// A standard queue has no keys and no order, and may take the late deletion of an expired delivery.
    fn abilities(&self) -> &[Ability] {
        &[
            Ability::RepeatedHeaders,
            Ability::NullHeaders,
            Ability::NullPayloads,
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
            // One without an id is sent as another program would.
            let (known, unknown): (Vec<_>, Vec<_>) = messages
                .into_iter()
                .partition(|message| !message.id.is_empty());
            for message in unknown {
                let body = message.payload.map(|payload| payload.to_vec()).unwrap();
                let mut send = self.queue.client.send_message().queue_url(&self.queue.url);
                for (name, value) in message.headers {
                    let value = String::from_utf8(value.unwrap().to_vec()).unwrap();
                    let attribute = MessageAttributeValue::builder().data_type("String");
                    let attribute = attribute.string_value(value).build().unwrap();
                    send = send.message_attributes(name, attribute);
                }
                let body = String::from_utf8(body).unwrap();
                send.message_body(body).send().await.unwrap();
            }
            let known = known.into_iter().map(|message| Outgoing {
                id: message.id,
                key: message.key,
                kind: None,
                headers: message.headers,
                payload: message.payload,
            });
            let sent = self.queue.outlet().send(known.collect()).await;
            assert!(
                sent.iter().all(|sent| matches!(sent, Sent::Done(_))),
                "{sent:?}"
            );
        })
    }

    fn source(&self) -> Arc<dyn Source> {
        Arc::new(SqsSource::from_url(&self.url(), "billing").unwrap())
    }

    fn source_through(&self, proxy: SocketAddr) -> Arc<dyn Source> {
        let url = self.queue.url_at(&format!("http://{proxy}"), OPTIONS);
        Arc::new(SqsSource::from_url(&url, "billing").unwrap())
    }

    fn addr(&self) -> SocketAddr {
        self.queue.addr()
    }

    fn term(&self) -> Duration {
        Duration::from_secs(3)
    }

    fn recreate(&self) -> Doing<'_, ()> {
        Box::pin(self.queue.recreate())
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

semel_testkit::source_conformance!("Amazon SQS", fresh().await);
