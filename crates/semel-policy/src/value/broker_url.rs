//! Where a broker is, and what of it is read or published to.
//!
//! Only the scheme is understood here. The crate of the broker reads the rest, and refuses what it does not know.

use std::fmt;

use super::word::Refusal;
use crate::limits::URL_BYTES_MAX;

/// The brokers, by the schemes of their URLs.
const SCHEMES: [(&str, Broker); 8] = [
    ("kafka", Broker::Kafka),
    ("amqp", Broker::RabbitMq),
    ("amqps", Broker::RabbitMq),
    ("nats", Broker::Nats),
    ("tls", Broker::Nats),
    ("sqs", Broker::Sqs),
    ("redis-streams", Broker::RedisStreams),
    ("rediss-streams", Broker::RedisStreams),
];

/// Which broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Broker {
    /// Apache Kafka.
    Kafka,
    /// RabbitMQ, over AMQP 0-9-1.
    RabbitMq,
    /// NATS JetStream.
    Nats,
    /// Amazon SQS.
    Sqs,
    /// Redis Streams.
    RedisStreams,
}

impl Broker {
    /// The name that people know it by.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kafka => "Kafka",
            Self::RabbitMq => "RabbitMQ",
            Self::Nats => "NATS JetStream",
            Self::Sqs => "Amazon SQS",
            Self::RedisStreams => "Redis Streams",
        }
    }
}

/// The URL of something at a broker. It may hold a password, so it is shown without user and parameters.
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    broker: Broker,
    text: String,
}

impl BrokerUrl {
    /// Which broker.
    pub const fn broker(&self) -> Broker {
        self.broker
    }

    /// The URL, for the crate of the broker.
    pub fn expose(&self) -> &str {
        &self.text
    }

    /// The same without the options of the query for which this holds; it is given each as it stands there.
    #[must_use]
    pub fn without_options(&self, is_left_out: impl Fn(&str) -> bool) -> Self {
        let (place, query) = self.text.split_once('?').unwrap_or((&self.text, ""));
        let kept = query.split('&').filter(|option| !is_left_out(option));
        let kept: Vec<&str> = kept.collect();
        Self {
            broker: self.broker,
            text: match kept.join("&") {
                options if options.is_empty() => place.to_owned(),
                options => format!("{place}?{options}"),
            },
        }
    }

    /// Whether the text has a broker's scheme.
    pub(super) fn is_like(text: &str) -> bool {
        of_scheme(text).is_some()
    }

    /// Reads a text with a broker's scheme.
    pub(super) fn parse(text: &str) -> Result<Self, Refusal> {
        let (broker, rest) = of_scheme(text).ok_or(Refusal::Unlike)?;
        let rest = rest.strip_prefix("//").unwrap_or_default();
        match !rest.is_empty() && text.len() <= URL_BYTES_MAX {
            true => Ok(Self {
                broker,
                text: text.to_owned(),
            }),
            // What follows may hold a password.
            false => Err(Refusal::Said(format!(
                "expected a URL of {} with an address of at most {URL_BYTES_MAX} bytes behind ://",
                broker.name()
            ))),
        }
    }
}

fn of_scheme(text: &str) -> Option<(Broker, &str)> {
    let (scheme, rest) = text.split_once(':')?;
    let mut known = SCHEMES.iter();
    let (_, broker) = known.find(|(known, _)| *known == scheme)?;
    Some((*broker, rest))
}

impl fmt::Display for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, rest) = self.text.split_once("://").unwrap_or_default();
        let (rest, parameters) = match rest.split_once('?') {
            // Either the password holds the ?, or a parameter the @: what is before or behind them may be secret.
            Some((_, parameters)) if parameters.contains('@') => ("", "…"),
            Some((rest, _)) => (rest, "?…"),
            None => (rest, ""),
        };
        // A password may hold any character, so everything before the last @ is left out.
        let place = rest.rsplit_once('@').map_or(rest, |(_, place)| place);
        write!(f, "{scheme}://{place}{parameters}")
    }
}

impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BrokerUrl({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broker_is_known_by_its_scheme_and_shown_without_secrets() {
        for (text, broker, shown) in [
            (
                "kafka://u:hunter2@a:1,b:2/t?group=g",
                Broker::Kafka,
                "kafka://a:1,b:2/t?…",
            ),
            (
                "amqps://u:hun@ter2@h/v?queue=q",
                Broker::RabbitMq,
                "amqps://h/v?…",
            ),
            ("kafka://u:hun?ter2@h/t", Broker::Kafka, "kafka://…"),
            ("kafka://u:hun?ter2@h/t?group=g", Broker::Kafka, "kafka://…"),
            ("nats://h/S?token=hunt@er2", Broker::Nats, "nats://…"),
            ("nats://h:4222/ORDERS", Broker::Nats, "nats://h:4222/ORDERS"),
            (
                "sqs://eu-central-1/orders",
                Broker::Sqs,
                "sqs://eu-central-1/orders",
            ),
            (
                "redis-streams://h/s",
                Broker::RedisStreams,
                "redis-streams://h/s",
            ),
        ] {
            let url = BrokerUrl::parse(text).unwrap();
            assert_eq!(url.broker(), broker);
            assert_eq!(url.to_string(), shown);
            assert_eq!(url.expose(), text);
        }
        let url = BrokerUrl::parse("kafka://h/t?group=a&from=latest").unwrap();
        let named = |name: &'static str| move |option: &str| option.starts_with(name);
        let without = |name| url.without_options(named(name)).text;
        assert_eq!(without("group"), "kafka://h/t?from=latest");
        assert_eq!(without("other"), url.text);
        let only = BrokerUrl::parse("kafka://h/t?group=a").unwrap();
        assert_eq!(only.without_options(named("group")).text, "kafka://h/t");
        for text in ["kafka:", "kafka:topic", "kafka://", "mqtt://h/t"] {
            assert!(BrokerUrl::parse(text).is_err(), "{text}");
        }
    }
}
