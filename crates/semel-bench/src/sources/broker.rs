//! The brokers that can be measured.

use std::fmt;

/// A broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Broker {
    /// Apache Kafka, by `HOST:PORT`.
    Kafka,
    /// RabbitMQ, by `amqp://…`.
    RabbitMq,
    /// NATS JetStream, by `nats://…`.
    Nats,
    /// What speaks as Amazon SQS does and asks for no credentials, by its endpoint.
    Sqs,
    /// Redis Streams, by `redis://…`.
    RedisStreams,
}

impl Broker {
    /// Of so many messages per turn, how many this one has. A call of SQS carries ten, so its turns would be long; a client of Kafka has tens
    /// of thousands in memory before it gives the first one out, so few of them would only measure its memory.
    pub(crate) fn messages(self, asked: usize) -> usize {
        match self {
            Self::Sqs => asked.div_ceil(10),
            Self::Kafka => asked * 5,
            Self::RabbitMq | Self::Nats | Self::RedisStreams => asked,
        }
    }
}

impl fmt::Display for Broker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kafka => "Kafka",
            Self::RabbitMq => "RabbitMQ",
            Self::Nats => "NATS JetStream",
            Self::Sqs => "SQS",
            Self::RedisStreams => "Redis Streams",
        })
    }
}
