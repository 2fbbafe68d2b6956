//! Redis Streams: one stream, a group per turn.

use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, RedisResult, Value};
use semel_core::store::Answer;
use semel_core::{Error, Result};

use super::super::lap::Lap;
use super::super::letters::Published;
use super::{BATCH, Bare, failed};

/// How long one answer may take.
const ASK: Duration = Duration::from_secs(30);

/// What a read gives: of each stream its name and its entries, each an id and its fields.
type Read = Vec<(String, Vec<(String, Vec<Value>)>)>;

pub(super) struct RedisStreams {
    address: String,
    stream: String,
    connection: MultiplexedConnection,
}

impl RedisStreams {
    pub(super) async fn connect(address: &str, stream: &str) -> Result<Self> {
        let server = address.strip_prefix("redis://");
        let server = server.ok_or_else(|| Error::invalid("Redis is named by redis://…"))?;
        let client = Client::open(address).map_err(failed("Redis"))?;
        let settings = AsyncConnectionConfig::new().set_response_timeout(Some(ASK));
        let connection = client.get_multiplexed_async_connection_with_config(&settings);
        Ok(Self {
            address: server
                .split('?')
                .next()
                .unwrap_or_default()
                .trim_end_matches('/')
                .to_owned(),
            stream: stream.to_owned(),
            connection: connection.await.map_err(failed("Redis"))?,
        })
    }

    async fn publish(&self, messages: &[Published]) -> RedisResult<()> {
        let mut connection = self.connection.clone();
        for some in messages.chunks(BATCH) {
            let mut commands = redis::pipe();
            for Published { id, payload } in some {
                let add = commands.cmd("XADD").arg(&self.stream).arg("*");
                add.arg("message-id")
                    .arg(id)
                    .arg("payload")
                    .arg(payload)
                    .ignore();
            }
            commands.query_async::<()>(&mut connection).await?;
        }
        Ok(())
    }

    async fn consume(&self, group: &str, count: usize) -> RedisResult<Duration> {
        let (mut connection, stream) = (self.connection.clone(), self.stream.as_str());
        let mut make = redis::cmd("XGROUP");
        make.arg("CREATE").arg(stream).arg(group).arg("0");
        make.query_async::<()>(&mut connection).await?;
        let mut read = redis::cmd("XREADGROUP");
        read.arg("GROUP")
            .arg(group)
            .arg("bench")
            .arg("COUNT")
            .arg(BATCH);
        read.arg("STREAMS").arg(stream).arg(">");
        let (lap, mut seen) = (Lap::default(), 0);
        while seen < count {
            let found: Read = read.query_async(&mut connection).await?;
            lap.begin();
            let mut ack = redis::cmd("XACK");
            ack.arg(stream).arg(group);
            let entries = found.iter().flat_map(|(_, entries)| entries);
            entries.for_each(|(id, _)| _ = ack.arg(id));
            seen += ack.query_async::<usize>(&mut connection).await?;
        }
        Ok(lap.took())
    }
}

impl Bare for RedisStreams {
    fn fill<'a>(&'a self, messages: &'a [Published]) -> Answer<'a, ()> {
        Box::pin(async { self.publish(messages).await.map_err(failed("publishing")) })
    }

    fn url(&self, _: &str) -> String {
        format!("redis-streams://{}/{}", self.address, self.stream)
    }

    fn drain<'a>(&'a self, turn: &'a str, count: usize) -> Answer<'a, Duration> {
        Box::pin(async move { self.consume(turn, count).await.map_err(failed("reading")) })
    }

    fn clean(&self) -> Answer<'_, ()> {
        Box::pin(async {
            let (mut connection, mut delete) = (self.connection.clone(), redis::cmd("DEL"));
            let removed = delete
                .arg(&self.stream)
                .query_async::<()>(&mut connection)
                .await;
            removed.map_err(failed("removing a stream"))
        })
    }
}
