//! The brokers that this binary knows, by the URLs of the file.

use std::sync::Arc;

use semel_amqp::{AmqpOutlet, AmqpSource};
use semel_core::Scope;
use semel_inbox::Source;
use semel_inbox::intents::Outlet;
use semel_kafka::{KafkaOutlet, KafkaSource};
use semel_nats::{NatsOutlet, NatsSource};
use semel_policy::value::{Broker, BrokerUrl};
use semel_redis_streams::{RedisStreamsOutlet, RedisStreamsSource};
use semel_sqs::{SqsOutlet, SqsSource};

use crate::error::{Error, Result};
use crate::exit::Exit;

/// The source of a consumer at a broker. Nothing is connected yet; what the URL says wrongly is refused.
pub(super) fn source(consumer: &Scope, url: &BrokerUrl) -> Result<Arc<dyn Source>> {
    grouped(consumer, &group(consumer), url)
}

/// The group of a consumer: its name. A later version is another consumer, which reads everything again.
pub(crate) fn group(consumer: &Scope) -> String {
    match consumer.version() {
        1 => consumer.name().to_owned(),
        _ => consumer.to_string(),
    }
}

/// The same, in a group of this name unless the URL names one.
pub(crate) fn grouped(consumer: &Scope, name: &str, url: &BrokerUrl) -> Result<Arc<dyn Source>> {
    let text = url.expose();
    let made: semel_core::Result<Arc<dyn Source>> = match url.broker() {
        Broker::Kafka => KafkaSource::from_url(text, name).map(arc),
        Broker::RabbitMq => AmqpSource::from_url(text, name).map(arc),
        Broker::Nats => NatsSource::from_url(text, name).map(arc),
        Broker::Sqs => SqsSource::from_url(text, name).map(arc),
        Broker::RedisStreams => RedisStreamsSource::from_url(text, name).map(arc),
        other => return Err(unknown(other)),
    };
    made.map_err(|error| refused(&format!("consumer {consumer}: source"), &error))
}

/// The outlet of a target at a broker, in the same way.
pub(super) fn outlet(target: &str, url: &BrokerUrl) -> Result<Arc<dyn Outlet>> {
    let text = url.expose();
    let made: semel_core::Result<Arc<dyn Outlet>> = match url.broker() {
        Broker::Kafka => KafkaOutlet::from_url(text).map(|outlet| Arc::new(outlet) as _),
        Broker::RabbitMq => AmqpOutlet::from_url(text).map(|outlet| Arc::new(outlet) as _),
        Broker::Nats => NatsOutlet::from_url(text).map(|outlet| Arc::new(outlet) as _),
        Broker::Sqs => SqsOutlet::from_url(text).map(|outlet| Arc::new(outlet) as _),
        Broker::RedisStreams => {
            RedisStreamsOutlet::from_url(text).map(|outlet| Arc::new(outlet) as _)
        }
        other => return Err(unknown(other)),
    };
    made.map_err(|error| refused(&format!("intents.{target}.url"), &error))
}

fn arc(source: impl Source) -> Arc<dyn Source> {
    Arc::new(source)
}

fn refused(key: &str, error: &semel_core::Error) -> Error {
    Error::new(Exit::Configuration, format!("{key}: {error}"))
}

fn unknown(broker: Broker) -> Error {
    let message = format!("{} is not built into this version", broker.name());
    Error::new(Exit::Configuration, message)
}
