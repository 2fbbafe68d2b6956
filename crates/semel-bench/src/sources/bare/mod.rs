//! Bare consumers: each reads with its client library as ours does, with as much in flight, acknowledges, and does nothing else.
//!
//! Logs (Kafka, JetStream, Redis Streams) are filled once and read by a new group in each turn; queues (RabbitMQ, SQS) are made and filled anew for
//! each turn. Everything has the name of its run or turn and is removed afterwards.

mod kafka;
mod nats;
mod rabbitmq;
mod redis;
mod sqs;

use std::time::Duration;

use semel_core::store::Answer;
use semel_core::{Error, Kind, Result};

use super::Broker;
use super::letters::Published;

/// The longest that one step at a broker may take.
pub(super) const TURN_MAX: Duration = Duration::from_secs(120);
/// How many deliveries the engine asks for at once.
const BATCH: usize = 500;

/// A broker as its client library sees it.
pub(super) trait Bare: Send + Sync {
    /// Publishes what all turns read.
    fn fill<'a>(&'a self, messages: &'a [Published]) -> Answer<'a, ()> {
        let _ = messages;
        Box::pin(async { Ok(()) })
    }

    /// Makes what only this turn reads.
    fn begin<'a>(&'a self, turn: &'a str, messages: &'a [Published]) -> Answer<'a, ()> {
        let _ = (turn, messages);
        Box::pin(async { Ok(()) })
    }

    /// Where a source of ours finds the messages of a turn.
    fn url(&self, turn: &str) -> String;

    /// Takes and acknowledges `count` messages; how long that took from the first one on.
    fn drain<'a>(&'a self, turn: &'a str, count: usize) -> Answer<'a, Duration>;

    /// Removes what only this turn had.
    fn end<'a>(&'a self, turn: &'a str) -> Answer<'a, ()> {
        let _ = turn;
        Box::pin(async { Ok(()) })
    }

    /// Removes everything.
    fn clean(&self) -> Answer<'_, ()>;
}

/// Connects, and makes what is read under `name`.
pub(super) async fn connect(broker: Broker, address: &str, name: &str) -> Result<Box<dyn Bare>> {
    Ok(match broker {
        Broker::Kafka => Box::new(kafka::Kafka::connect(address, name).await?),
        Broker::RabbitMq => Box::new(rabbitmq::RabbitMq::connect(address).await?),
        Broker::Nats => Box::new(nats::Nats::connect(address, name).await?),
        Broker::Sqs => Box::new(sqs::Sqs::connect(address)),
        Broker::RedisStreams => Box::new(redis::RedisStreams::connect(address, name).await?),
    })
}

/// Gives up on a step that does not end.
pub(super) async fn within<T>(
    what: &'static str,
    step: impl Future<Output = Result<T>>,
) -> Result<T> {
    let limit = || {
        let message = format!("{what} must end within {} s", TURN_MAX.as_secs());
        Error::new(Kind::Unavailable, message)
    };
    let ended = tokio::time::timeout(TURN_MAX, step).await;
    ended.map_err(|_| limit())?
}

/// Says what was being done when the client library failed.
fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    doing: &'static str,
) -> impl Fn(E) -> Error {
    move |error| {
        let error: Box<dyn std::error::Error + Send + Sync> = error.into();
        Error::new(Kind::Unavailable, format!("{doing}: {error}"))
    }
}
