//! A queue of its own for every test.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use lapin::options::{
    BasicPublishOptions, ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::{AMQPValue, FieldTable, ShortString};
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use semel_amqp::AmqpSource;
use semel_inbox::Source;
use semel_testkit::sources::taking::fresh_name;

/// A queue at a broker.
pub(crate) struct World {
    url: String,
    pub(crate) queue: String,
    arguments: FieldTable,
    pub(crate) channel: Channel,
    _connection: Connection,
}

impl World {
    /// A durable queue of the shared broker.
    pub(crate) async fn new() -> Self {
        Self::with(&[]).await
    }

    /// The same with arguments such as `x-queue-type`.
    pub(crate) async fn with(arguments: &[(&str, AMQPValue)]) -> Self {
        let url = std::env::var("SEMEL_TEST_RABBITMQ");
        let url = url.expect(
            "SEMEL_TEST_RABBITMQ is not set; start it with `cargo xtask services up rabbitmq`",
        );
        Self::at(&url, arguments).await
    }

    /// A queue of this broker.
    pub(crate) async fn at(url: &str, arguments: &[(&str, AMQPValue)]) -> Self {
        let (connection, channel) = connect(url).await;
        let world = Self {
            url: url.to_owned(),
            queue: fresh_name(),
            arguments: table(arguments),
            channel,
            _connection: connection,
        };
        world.create().await;
        world
    }

    /// A queue that is there already.
    pub(crate) async fn again(url: &str, queue: &str) -> Self {
        let (connection, channel) = connect(url).await;
        Self {
            url: url.to_owned(),
            queue: queue.to_owned(),
            arguments: FieldTable::default(),
            channel,
            _connection: connection,
        }
    }

    pub(crate) async fn create(&self) {
        let options = QueueDeclareOptions {
            durable: true,
            ..QueueDeclareOptions::default()
        };
        let queue = self.queue.as_str().into();
        self.channel
            .queue_declare(queue, options, self.arguments.clone())
            .await
            .unwrap();
    }

    pub(crate) async fn delete(&self) {
        let queue = self.queue.as_str().into();
        self.channel
            .queue_delete(queue, QueueDeleteOptions::default())
            .await
            .unwrap();
    }

    /// The address of the queue with options such as `prefetch=10`.
    pub(crate) fn url(&self, options: &str) -> String {
        format!("{}?queue={}&{options}", self.url, self.queue)
    }

    /// The same through another address.
    pub(crate) fn url_through(&self, proxy: SocketAddr, options: &str) -> String {
        let old = self.socket().to_string();
        self.url(options).replace(&old, &proxy.to_string())
    }

    pub(crate) fn source(&self, options: &str) -> AmqpSource {
        AmqpSource::from_url(&self.url(options), "reader").unwrap()
    }

    /// An open source.
    pub(crate) async fn open(&self, options: &str) -> AmqpSource {
        let source = self.source(options);
        source.open(Vec::new()).await.unwrap();
        source
    }

    pub(crate) async fn publish(&self, ids: &[&str]) {
        for id in ids {
            let properties = BasicProperties::default()
                .with_message_id((*id).into())
                .with_delivery_mode(2);
            self.publish_as(properties, id.as_bytes()).await;
        }
    }

    pub(crate) async fn publish_as(&self, properties: BasicProperties, payload: &[u8]) {
        let options = BasicPublishOptions::default();
        let queue = self.queue.as_str().into();
        let sent = self
            .channel
            .basic_publish("".into(), queue, options, payload, properties);
        sent.await.unwrap().await.unwrap();
    }

    pub(crate) fn socket(&self) -> SocketAddr {
        let rest = self.url.split("://").nth(1).unwrap();
        let host = rest.split('/').next().unwrap();
        let host = host.rsplit('@').next().unwrap();
        host.parse().expect("an address of loopback")
    }

    /// Removes the queue at the end of a test.
    pub(crate) async fn end(self) {
        let queue = self.queue.as_str().into();
        let _ = self
            .channel
            .queue_delete(queue, QueueDeleteOptions::default())
            .await;
    }
}

async fn connect(url: &str) -> (Connection, Channel) {
    let connection = Connection::connect(url, ConnectionProperties::default()).await;
    let connection = connection.expect("the broker answers");
    let channel = connection.create_channel().await.unwrap();
    let confirm = ConfirmSelectOptions::default();
    channel.confirm_select(confirm).await.unwrap();
    (connection, channel)
}

/// A table of typed values.
pub(crate) fn table(values: &[(&str, AMQPValue)]) -> FieldTable {
    let values = values.iter();
    let values = values.map(|(name, value)| (ShortString::from(*name), value.clone()));
    FieldTable::from(values.collect::<BTreeMap<_, _>>())
}
