//! Which stream is read, and through which consumer.

use std::ops::RangeInclusive;
use std::time::Duration;

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, pull};
use semel_core::{Error, Result};
use semel_inbox::source::OPEN_MAX;

use crate::url::Address;

/// How long a delivery stays open unless the address says otherwise.
const ACK_WAIT: Duration = Duration::from_secs(30);

/// The shortest and the longest of these.
const ACK_WAITS: RangeInclusive<Duration> =
    RangeInclusive::new(Duration::from_millis(100), Duration::from_secs(7 * 86_400));

/// What the address asks for.
pub(super) struct Wanted {
    pub(super) stream: String,
    pub(super) durable: String,
    /// Which subjects of the stream; all of them if empty.
    pub(super) subject: String,
    pub(super) ack_wait: Duration,
    /// Whether a consumer that is missing is made.
    pub(super) create: bool,
    /// Whether the stream holds advisories, which stand for messages of other streams.
    pub(super) advisories: bool,
    deliver: DeliverPolicy,
}

impl Wanted {
    pub(super) fn take(address: &mut Address, consumer: &str) -> Result<Self> {
        let durable = address.options.take("durable")?;
        let deliver = [("all", DeliverPolicy::All), ("new", DeliverPolicy::New)];
        let deliver = address.options.take_word("deliver", &deliver)?;
        let wanted = Self {
            stream: address.path.clone(),
            durable: durable.unwrap_or_else(|| durable_name(consumer)),
            subject: address.options.take("subject")?.unwrap_or_default(),
            ack_wait: address
                .options
                .take_duration("ack_wait", ACK_WAITS)?
                .unwrap_or(ACK_WAIT),
            create: address.options.take_bool("create")?.unwrap_or(true),
            advisories: address.options.take_bool("advisories")?.unwrap_or(false),
            deliver: deliver.unwrap_or(DeliverPolicy::All),
        };
        address.finish("ack_wait, advisories, create, deliver, durable, subject")?;
        for (what, name) in [("stream", &wanted.stream), ("durable", &wanted.durable)] {
            if !is_name(name) {
                return Err(Error::invalid(format!(
                    "the {what} is a name without dots, spaces, slashes, * and >, found {name:?}"
                )));
            }
        }
        Ok(wanted)
    }

    /// The consumer that is made if it is missing; `start` is where an earlier one of the same stream stood.
    pub(super) fn config(&self, start: Option<u64>) -> pull::Config {
        pull::Config {
            durable_name: Some(self.durable.clone()),
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.ack_wait,
            filter_subject: self.subject.clone(),
            max_deliver: -1,
            max_ack_pending: i64::try_from(OPEN_MAX).unwrap_or(i64::MAX),
            deliver_policy: start.map_or(self.deliver, |start_sequence| {
                DeliverPolicy::ByStartSequence { start_sequence }
            }),
            ..pull::Config::default()
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(is_name_char)
}

fn is_name_char(c: char) -> bool {
    !c.is_whitespace() && !c.is_control() && !".*>/\\".contains(c)
}

/// A consumer's name as the server allows it.
fn durable_name(consumer: &str) -> String {
    let replaced = consumer.chars();
    replaced
        .map(|c| if is_name_char(c) { c } else { '-' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(url: &str) -> Result<Wanted> {
        Wanted::take(&mut Address::parse(url)?, "orders.v1 billing")
    }

    #[test]
    fn the_durable_is_named_after_the_consumer() {
        let found = wanted("nats://h/S").unwrap();
        assert_eq!(found.durable, "orders-v1-billing");
        assert_eq!(found.ack_wait, ACK_WAIT);
        assert!(found.create);
        let found = wanted("nats://h/S?durable=d&create=false&subject=a.%3E").unwrap();
        assert_eq!(
            (found.durable.as_str(), found.subject.as_str()),
            ("d", "a.>")
        );
        assert!(!found.create);
    }

    #[test]
    fn what_is_no_stream_or_option_is_refused() {
        for (url, expected) in [
            ("nats://h", "the stream is a name"),
            ("nats://h/a.b", "found \"a.b\""),
            ("nats://h/S?durable=a.b", "the durable is a name"),
            ("nats://h/S?ack_wait=0s", "from 100ms to 7d"),
            ("nats://h/S?ack_wait=1s&ack_wait=1s", "twice"),
            ("nats://h/S?deliver=last", "all or new"),
            ("nats://h/S?durabel=d", "not known"),
        ] {
            let error = wanted(url).err().unwrap().to_string();
            assert!(error.contains(expected), "{url}: {error}");
        }
    }
}
