//! RabbitMQ: a durable queue per turn.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::future::try_join_all;
use lapin::options::{
    BasicAckOptions, BasicConsumeOptions, BasicPublishOptions, BasicQosOptions,
    ConfirmSelectOptions, QueueDeclareOptions, QueueDeleteOptions,
};
use lapin::types::FieldTable;
use lapin::{BasicProperties, Channel, Connection, ConnectionProperties};
use semel_core::store::Answer;
use semel_core::{Error, Kind, Result};
use semel_inbox::source::OPEN_MAX;

use super::super::lap::Lap;
use super::super::letters::Published;
use super::{BATCH, Bare, failed};

/// Messages that are kept on disk.
const PERSISTENT: u8 = 2;

pub(super) struct RabbitMq {
    address: String,
    connection: Connection,
    /// For everything but reading.
    channel: Channel,
}

impl RabbitMq {
    pub(super) async fn connect(address: &str) -> Result<Self> {
        let connection = Connection::connect(address, ConnectionProperties::default()).await;
        let connection = connection.map_err(failed("RabbitMQ"))?;
        let channel = connection
            .create_channel()
            .await
            .map_err(failed("RabbitMQ"))?;
        let confirm = channel.confirm_select(ConfirmSelectOptions::default());
        confirm.await.map_err(failed("RabbitMQ"))?;
        Ok(Self {
            address: address.to_owned(),
            connection,
            channel,
        })
    }

    async fn publish(&self, queue: &str, messages: &[Published]) -> lapin::Result<()> {
        for some in messages.chunks(BATCH) {
            let mut confirms = Vec::with_capacity(some.len());
            for message in some {
                let properties = BasicProperties::default()
                    .with_message_id(message.id.as_str().into())
                    .with_delivery_mode(PERSISTENT);
                let (options, payload) =
                    (BasicPublishOptions::default(), message.payload.as_bytes());
                let sent = self.channel.basic_publish(
                    "".into(),
                    queue.into(),
                    options,
                    payload,
                    properties,
                );
                confirms.push(sent.await?);
            }
            try_join_all(confirms).await?;
        }
        Ok(())
    }

    async fn consume(&self, queue: &str, count: usize) -> lapin::Result<Option<Duration>> {
        let channel = self.connection.create_channel().await?;
        let prefetch = u16::try_from(OPEN_MAX).unwrap_or(u16::MAX);
        channel
            .basic_qos(prefetch, BasicQosOptions::default())
            .await?;
        let (options, none) = (BasicConsumeOptions::default(), FieldTable::default());
        let consumer = channel.basic_consume(queue.into(), "bench".into(), options, none);
        let mut arrived = consumer.await?.ready_chunks(BATCH);
        let (lap, mut seen) = (Lap::default(), 0);
        while seen < count {
            let Some(some) = arrived.next().await else {
                return Ok(None);
            };
            lap.begin();
            seen += some.len();
            if let Some(last) = some.into_iter().last() {
                let multiple = BasicAckOptions { multiple: true };
                last?.ack(multiple).await?;
            }
        }
        let took = lap.took();
        channel.close(200, "done".into()).await?;
        Ok(Some(took))
    }
}

impl Bare for RabbitMq {
    fn begin<'a>(&'a self, turn: &'a str, messages: &'a [Published]) -> Answer<'a, ()> {
        Box::pin(async move {
            let options = QueueDeclareOptions {
                durable: true,
                ..QueueDeclareOptions::default()
            };
            let made = self
                .channel
                .queue_declare(turn.into(), options, FieldTable::default());
            made.await.map_err(failed("making a queue"))?;
            self.publish(turn, messages)
                .await
                .map_err(failed("publishing"))
        })
    }

    fn url(&self, turn: &str) -> String {
        format!("{}?queue={turn}", self.address)
    }

    fn drain<'a>(&'a self, turn: &'a str, count: usize) -> Answer<'a, Duration> {
        Box::pin(async move {
            let took = self.consume(turn, count).await.map_err(failed("reading"))?;
            took.ok_or_else(|| Error::new(Kind::Unavailable, "reading: the channel was closed"))
        })
    }

    fn end<'a>(&'a self, turn: &'a str) -> Answer<'a, ()> {
        Box::pin(async move {
            let removed = self
                .channel
                .queue_delete(turn.into(), QueueDeleteOptions::default());
            removed.await.map(drop).map_err(failed("removing a queue"))
        })
    }

    fn clean(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let closed = self.connection.close(200, "done".into()).await;
            closed.map_err(failed("closing the connection"))
        })
    }
}
