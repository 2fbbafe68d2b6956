//! Where intents go: a service over HTTP, or a broker.

use std::fmt;

use schemars::{Schema, json_schema};

use super::broker_url::BrokerUrl;
use super::url::Endpoint;
use super::word::{Refusal, Text};

/// Where intents go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A service over HTTP.
    Http(Endpoint),
    /// A topic, queue, subject or stream of a broker.
    Broker(BrokerUrl),
}

impl Destination {
    /// The URL of a service over HTTP; empty for a broker, whose URL may hold a password.
    pub fn http(&self) -> &str {
        match self {
            Self::Http(endpoint) => endpoint.as_str(),
            Self::Broker(_) => "",
        }
    }

    /// The broker's URL, if it is one.
    pub const fn broker(&self) -> Option<&BrokerUrl> {
        match self {
            Self::Http(_) => None,
            Self::Broker(url) => Some(url),
        }
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Http(endpoint) => endpoint.fmt(f),
            Self::Broker(url) => url.fmt(f),
        }
    }
}

impl Text for Destination {
    const EXPECTED: &'static str =
        "a URL such as http://127.0.0.1:9000/orders, or the URL of a broker";

    fn parse(text: &str) -> Result<Self, Refusal> {
        match BrokerUrl::is_like(text) {
            true => BrokerUrl::parse(text).map(Self::Broker),
            false => Endpoint::parse(text).map(Self::Http),
        }
    }

    fn schema() -> Schema {
        json_schema!({
            "type": "string",
            "pattern": "^(https?://[^#]+|(kafka|amqps?|nats|tls|sqs|rediss?-streams)://.+)$"
        })
    }
}
