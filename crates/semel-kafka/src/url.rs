//! Addresses: `kafka://[USER:PASSWORD@]HOST[:PORT][,HOST[:PORT]…]/TOPIC[,TOPIC…][?name=value&…]`.

use std::collections::BTreeSet;
use std::fmt;

use rdkafka::ClientConfig;
use rdkafka::config::RDKafkaLogLevel;
use semel_core::{Error, Result};
use semel_inbox::source::address::{Options, Parts, User, decode};

const PORT: u16 = 9092;
/// The longest name of a topic that Kafka knows.
const TOPIC_MAX: usize = 249;
/// The most topics of one source.
const TOPICS_MAX: usize = 100;
/// How long a request may stay without an answer.
const SOCKET_MS: &str = "20000";

/// Where the brokers are, who we are to them, and which topics are meant.
#[derive(Clone)]
pub(crate) struct Address {
    /// `HOST:PORT`, one or more with commas.
    servers: String,
    user: Option<(String, String)>,
    sasl: Option<Sasl>,
    tls: bool,
    ca: Option<String>,
    pub(crate) topics: Vec<String>,
}

impl fmt::Debug for Address {
    /// Servers and topics only: the password never reaches a log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Address")
            .field("servers", &self.servers)
            .field("topics", &self.topics)
            .finish_non_exhaustive()
    }
}

/// How we say who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sasl {
    Plain,
    /// With the name of the mechanism.
    Scram(&'static str),
}

const SASL: [(&str, Sasl); 3] = [
    ("plain", Sasl::Plain),
    ("scram-sha-256", Sasl::Scram("SCRAM-SHA-256")),
    ("scram-sha-512", Sasl::Scram("SCRAM-SHA-512")),
];

/// Reads what all addresses have; the options that are the caller's own remain.
pub(crate) fn parse(url: &str) -> Result<(Address, Options)> {
    let parts = Parts::split("a Kafka address", &["kafka"], url)?;
    let (servers, user) = (parts.servers(PORT)?, parts.user()?);
    let topics = parse_topics(parts.path)?;
    let mut options = parts.options;
    let address = Address {
        servers: servers.join(","),
        user: user.map(credentials).transpose()?,
        sasl: options.take_word("sasl", &SASL)?,
        tls: options.take_bool("tls")?.unwrap_or(false),
        ca: options.take("ca")?,
        topics,
    };
    address.check()?;
    Ok((address, options))
}

impl Address {
    fn check(&self) -> Result<()> {
        let has_tls = cfg!(feature = "tls");
        if self.tls && !has_tls {
            return Err(Error::invalid(
                "this build of semel-kafka has no TLS; it comes with the feature `tls`, which needs OpenSSL",
            ));
        }
        if self.ca.is_some() && !self.tls {
            return Err(Error::invalid("the option ca= goes with tls=true"));
        }
        match (self.sasl, &self.user) {
            (None, None) => Ok(()),
            (None, Some(_)) => Err(Error::invalid(
                "a user in a Kafka address needs sasl=plain, sasl=scram-sha-256 or sasl=scram-sha-512",
            )),
            (Some(_), None) => Err(Error::invalid(
                "the option sasl= needs a user and a password: kafka://USER:PASSWORD@HOST/TOPIC",
            )),
            (Some(Sasl::Plain), Some(_)) => Ok(()),
            (Some(Sasl::Scram(_)), Some(_)) if has_tls => Ok(()),
            (Some(Sasl::Scram(_)), Some(_)) => Err(Error::invalid(
                "this build of semel-kafka has no SCRAM, whose hashes are OpenSSL's; it comes with the feature `tls`",
            )),
        }
    }

    /// Whether it is one topic at the same brokers.
    pub(crate) fn is_beside(&self, other: &Self) -> bool {
        let servers = |address: &Self| {
            let named = address.servers.split(',').map(str::to_owned);
            named.collect::<BTreeSet<String>>()
        };
        servers(self) == servers(other) && self.topics.len() == 1
    }

    /// What every client of librdkafka needs in order to reach the brokers.
    pub(crate) fn config(&self) -> ClientConfig {
        let mut config = ClientConfig::new();
        config
            .set("bootstrap.servers", &self.servers)
            .set("client.id", "semel")
            .set("socket.timeout.ms", SOCKET_MS)
            .set("socket.nagle.disable", "true")
            .set("reconnect.backoff.max.ms", "2000")
            .set("security.protocol", self.protocol())
            .set_log_level(RDKafkaLogLevel::Warning);
        if let (Some(sasl), Some((user, password))) = (self.sasl, &self.user) {
            let mechanism = match sasl {
                Sasl::Plain => "PLAIN",
                Sasl::Scram(name) => name,
            };
            config
                .set("sasl.mechanism", mechanism)
                .set("sasl.username", user)
                .set("sasl.password", password);
        }
        if self.tls {
            // An OpenSSL that is part of the program does not know where this machine's certificates are.
            config.set("ssl.ca.location", self.ca.as_deref().unwrap_or("probe"));
        }
        config
    }

    const fn protocol(&self) -> &'static str {
        match (self.tls, self.sasl) {
            (false, None) => "plaintext",
            (true, None) => "ssl",
            (false, Some(_)) => "sasl_plaintext",
            (true, Some(_)) => "sasl_ssl",
        }
    }
}

/// Refuses what Kafka would not take as a topic's name.
pub(crate) fn check_topic(topic: &str) -> Result<()> {
    let is_known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let is_name = (1..=TOPIC_MAX).contains(&topic.len()) && topic.chars().all(is_known);
    match is_name && topic != "." && topic != ".." {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "a topic of Kafka has 1 to {TOPIC_MAX} letters, digits, '.', '_' and '-'; found {topic:?}"
        ))),
    }
}

fn parse_topics(text: &str) -> Result<Vec<String>> {
    let topics: Vec<String> = text
        .split(',')
        .map(|topic| decode("the topic", topic))
        .collect::<Result<_>>()?;
    for (at, topic) in topics.iter().enumerate() {
        check_topic(topic)?;
        if topics[..at].contains(topic) {
            return Err(Error::invalid(format!(
                "a Kafka address names each topic once, found {topic:?} twice"
            )));
        }
    }
    match topics.len() > TOPICS_MAX {
        true => Err(Error::invalid(format!(
            "a Kafka address names at most {TOPICS_MAX} topics, found {}",
            topics.len()
        ))),
        false => Ok(topics),
    }
}

fn credentials((user, password): User) -> Result<(String, String)> {
    let password = password.filter(|_| !user.is_empty());
    let password = password.ok_or_else(|| {
        Error::invalid("the part before the @ of a Kafka address is USER:PASSWORD")
    })?;
    Ok((user, password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_name_brokers_topics_and_options() {
        let (address, mut options) =
            parse("kafka://a,b:1,[::1]:2/orders,case-events?group=g&x=%20").unwrap();
        let config = address.config();
        assert_eq!(config.get("bootstrap.servers"), Some("a:9092,b:1,[::1]:2"));
        assert_eq!(config.get("security.protocol"), Some("plaintext"));
        assert_eq!(address.topics, ["orders", "case-events"]);
        assert_eq!(options.take("group").unwrap().as_deref(), Some("g"));
        assert!(
            options
                .finish("group")
                .unwrap_err()
                .to_string()
                .contains("\"x\"")
        );
    }

    #[test]
    fn users_say_how_they_are_known() {
        let (address, _) = parse("kafka://u%40x:p%3As@h/t?sasl=plain").unwrap();
        let config = address.config();
        assert_eq!(config.get("sasl.username"), Some("u@x"));
        assert_eq!(config.get("sasl.password"), Some("p:s"));
        assert_eq!(config.get("security.protocol"), Some("sasl_plaintext"));
        for (url, has) in [
            ("kafka://u:p@h/t?sasl=scram-sha-512", cfg!(feature = "tls")),
            ("kafka://h/t?tls=true", cfg!(feature = "tls")),
        ] {
            assert_eq!(parse(url).is_ok(), has, "{url}");
        }
    }

    #[test]
    fn bad_urls_are_refused_without_repeating_the_password() {
        for url in [
            "http://u:secret@h/t",
            "kafka://u:secret@/t",
            "kafka://u:secret@h:port/t",
            "kafka://u:secret@h/t",
            "kafka://u:secret@h/t?sasl=none",
            "kafka://u:secret@h?sasl=plain",
            "kafka://u:secret@h/a,,b?sasl=plain",
            "kafka://u:secret@h/a,a?sasl=plain",
            "kafka://u:secret@h/^a.*?sasl=plain",
            "kafka://u:secret@h/t?sasl=plain&ca=/x",
            "kafka://u:secret@h/t?sasl=plain&tls=yes",
            "kafka://secret@h/t?sasl=plain",
            "kafka://h/t?sasl=plain",
        ] {
            let error = parse(url).unwrap_err();
            assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        }
        let (address, _) = parse("kafka://u:secret@h/t?sasl=plain").unwrap();
        assert!(!format!("{address:?}").contains("secret"));
    }
}
