//! NATS JetStream: one stream, a durable consumer per turn.
//!
//! Acknowledgements are confirmed by the server, as ours are: the same promise to the same client.

use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, pull};
use async_nats::jetstream::{self, AckKind, Context, stream};
use async_nats::{Client, HeaderMap};
use futures_util::StreamExt;
use futures_util::future::try_join_all;
use semel_core::store::Answer;
use semel_core::{Error, Kind, Result};
use semel_inbox::source::OPEN_MAX;

use super::super::lap::Lap;
use super::super::letters::Published;
use super::{BATCH, Bare, failed};

pub(super) struct Nats {
    address: String,
    stream: String,
    client: Client,
    context: Context,
}

impl Nats {
    pub(super) async fn connect(address: &str, name: &str) -> Result<Self> {
        let client = async_nats::connect(address).await.map_err(failed("NATS"))?;
        let context = jetstream::new(client.clone());
        let config = stream::Config {
            name: name.to_owned(),
            subjects: vec![subject(name)],
            ..stream::Config::default()
        };
        let made = context.create_stream(config).await;
        made.map_err(failed("making a stream"))?;
        Ok(Self {
            address: address.trim_end_matches('/').to_owned(),
            stream: name.to_owned(),
            client,
            context,
        })
    }

    async fn publish(&self, messages: &[Published]) -> Result<(), async_nats::Error> {
        let subject = subject(&self.stream);
        for some in messages.chunks(BATCH) {
            let mut confirms = Vec::with_capacity(some.len());
            for message in some {
                let mut headers = HeaderMap::new();
                headers.insert("Nats-Msg-Id", message.id.as_str());
                let payload = message.payload.clone().into();
                let sent = self
                    .context
                    .publish_with_headers(subject.clone(), headers, payload);
                confirms.push(sent.await?.into_future());
            }
            try_join_all(confirms).await?;
        }
        Ok(())
    }

    async fn consume(
        &self,
        turn: &str,
        count: usize,
    ) -> Result<Option<Duration>, async_nats::Error> {
        let config = pull::Config {
            durable_name: Some(turn.to_owned()),
            ack_policy: AckPolicy::Explicit,
            max_ack_pending: i64::try_from(OPEN_MAX).unwrap_or(i64::MAX),
            ..pull::Config::default()
        };
        let stream = self.context.get_stream(&self.stream).await?;
        let consumer = stream.create_consumer(config).await?;
        let messages = consumer
            .stream()
            .max_messages_per_batch(BATCH)
            .messages()
            .await?;
        let mut arrived = messages.ready_chunks(BATCH);
        let (lap, mut seen) = (Lap::default(), 0);
        while seen < count {
            let Some(some) = arrived.next().await else {
                return Ok(None);
            };
            lap.begin();
            let mut acks = Vec::with_capacity(some.len());
            for message in some {
                let reply = message?.reply.clone();
                let ack = reply.map(|reply| self.client.request(reply, AckKind::Ack.into()));
                acks.extend(ack);
            }
            seen += acks.len();
            try_join_all(acks).await?;
        }
        Ok(Some(lap.took()))
    }
}

impl Bare for Nats {
    fn fill<'a>(&'a self, messages: &'a [Published]) -> Answer<'a, ()> {
        Box::pin(async { self.publish(messages).await.map_err(failed("publishing")) })
    }

    fn url(&self, _: &str) -> String {
        format!("{}/{}", self.address, self.stream)
    }

    fn drain<'a>(&'a self, turn: &'a str, count: usize) -> Answer<'a, Duration> {
        Box::pin(async move {
            let took = self.consume(turn, count).await.map_err(failed("reading"))?;
            took.ok_or_else(|| Error::new(Kind::Unavailable, "reading: the stream has ended"))
        })
    }

    fn clean(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let removed = self.context.delete_stream(&self.stream).await;
            removed.map(drop).map_err(failed("removing a stream"))
        })
    }
}

fn subject(stream: &str) -> String {
    format!("{stream}.orders")
}
