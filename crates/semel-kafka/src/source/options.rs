//! How a source is a member of its group.

use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use rdkafka::ClientConfig;
use semel_core::Result;

use crate::url::{self, Address};

const KNOWN: &str = "group, instance, from, session, poll, tls, ca, sasl";
/// How long a member may be silent before its partitions are given to others.
const SESSION: Duration = Duration::from_secs(45);
/// How long a member may take for a rebalance.
const POLL: Duration = Duration::from_secs(300);
/// The longest name of a group or an instance.
const NAME_MAX: usize = 249;
/// The longest that the group waits for what was delivered before.
const FLUSH_MAX: Duration = Duration::from_secs(10);

/// Where a group begins to read a partition of which it has no offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// With the oldest message.
    Earliest,
    /// With what comes from now on.
    Latest,
}

/// All that a URL says about a source.
#[derive(Debug, Clone)]
pub(crate) struct Options {
    pub(crate) address: Address,
    pub(crate) group: String,
    instance: Option<String>,
    pub(crate) from: From,
    session: Duration,
    poll: Duration,
    /// The name of the producer whose transactions the commits are; without one they are plain.
    pub(crate) transactional: Option<String>,
    /// Where what cannot be published goes, with transactions.
    pub(crate) dead_letters: Option<Arc<str>>,
}

impl Options {
    pub(crate) fn parse(url: &str, consumer: &str) -> Result<Self> {
        let (address, mut rest) = url::parse(url)?;
        let group = rest.take_text("group", 1..=NAME_MAX)?;
        let instance = rest.take_text("instance", 1..=NAME_MAX)?;
        let from = [("earliest", From::Earliest), ("latest", From::Latest)];
        let from = rest.take_word("from", &from)?.unwrap_or(From::Earliest);
        let second = Duration::from_secs(1);
        let session = rest.take_duration("session", second..=second * 1_800)?;
        let session = session.unwrap_or(SESSION);
        let poll = rest.take_duration("poll", session..=second * 86_400)?;
        let poll = poll.unwrap_or_else(|| POLL.max(session));
        rest.finish(KNOWN)?;
        Ok(Self {
            address,
            group: group.unwrap_or_else(|| consumer.to_owned()),
            instance,
            from,
            session,
            poll,
            transactional: None,
            dead_letters: None,
        })
    }

    /// The same, but commits are transactions. A static member has a name that lasts, so that the broker ends at once what its process left open.
    pub(crate) fn transactional(mut self, dead_letters: &str) -> Self {
        let member = match &self.instance {
            Some(instance) => instance.clone(),
            None => random(),
        };
        self.dead_letters = Some(dead_letters.into());
        self.transactional = Some(format!("semel-{}-{member}", self.group));
        self
    }

    /// The same for another topic of the same brokers.
    pub(crate) fn of_topic(&self, topic: &str) -> Self {
        let mut other = self.clone();
        other.address.topics = vec![topic.to_owned()];
        other
    }

    /// How long a rebalance waits until what was delivered of the partitions that go is stored.
    pub(crate) fn flush_max(&self) -> Duration {
        FLUSH_MAX.min(self.session / 3)
    }

    /// The configuration of a member of the group.
    pub(crate) fn member(&self) -> ClientConfig {
        let mut config = self.bystander();
        let heartbeat = (self.session / 4).min(Duration::from_secs(3));
        config
            .set("group.protocol", "classic")
            .set("partition.assignment.strategy", "cooperative-sticky")
            .set("session.timeout.ms", ms(self.session))
            .set("heartbeat.interval.ms", ms(heartbeat))
            .set("max.poll.interval.ms", ms(self.poll))
            .set("enable.partition.eof", "false")
            // What is fetched and not yet taken stays small: the source has a buffer of its own.
            .set("queued.max.messages.kbytes", "16384")
            // By default a partition whose messages fill that room is fetched again only after a second, however fast they are taken.
            .set("fetch.queue.backoff.ms", "20")
            .set("fetch.wait.max.ms", "100")
            .set("topic.metadata.refresh.interval.ms", "30000");
        if let Some(instance) = &self.instance {
            config.set("group.instance.id", instance);
        }
        config
    }

    /// The configuration of a client that asks about the group and is no member of it.
    pub(crate) fn bystander(&self) -> ClientConfig {
        let mut config = self.address.config();
        let reset = match self.from {
            From::Earliest => "earliest",
            From::Latest => "latest",
        };
        config
            .set("group.id", &self.group)
            .set("auto.offset.reset", reset)
            .set("enable.auto.commit", "false")
            .set("enable.auto.offset.store", "false")
            .set("isolation.level", "read_committed")
            .set("allow.auto.create.topics", "false");
        config
    }
}

/// A name that no other process has.
fn random() -> String {
    // The standard library draws the keys of every hasher anew; no other randomness is needed here.
    let draw = || RandomState::new().hash_one(std::process::id());
    format!("{:016x}{:016x}", draw(), draw())
}

fn ms(time: Duration) -> String {
    time.as_millis().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_the_consumer_unless_it_is_named() {
        let options = Options::parse("kafka://h/t", "billing").unwrap();
        assert_eq!(options.group, "billing");
        assert_eq!(options.from, From::Earliest);
        let config = options.member();
        for (name, value) in [
            ("group.id", "billing"),
            ("auto.offset.reset", "earliest"),
            ("enable.auto.commit", "false"),
            ("enable.auto.offset.store", "false"),
            ("isolation.level", "read_committed"),
            ("partition.assignment.strategy", "cooperative-sticky"),
            ("session.timeout.ms", "45000"),
        ] {
            assert_eq!(config.get(name), Some(value), "{name}");
        }
        assert_eq!(options.flush_max(), FLUSH_MAX);
        let url = "kafka://h/t?group=g&instance=i-1&from=latest&session=6s&poll=10s";
        let options = Options::parse(url, "billing").unwrap();
        let config = options.member();
        assert_eq!(config.get("group.instance.id"), Some("i-1"));
        assert_eq!(config.get("max.poll.interval.ms"), Some("10000"));
        assert_eq!(options.flush_max(), Duration::from_secs(2));
        assert_eq!(options.bystander().get("group.instance.id"), None);
    }

    #[test]
    fn options_out_of_bounds_are_refused() {
        for url in [
            "kafka://h/t?from=middle",
            "kafka://h/t?session=1ms",
            "kafka://h/t?session=60s&poll=30s",
            "kafka://h/t?group=",
            "kafka://h/t?offset=3",
        ] {
            assert!(Options::parse(url, "c").is_err(), "{url}");
        }
    }
}
