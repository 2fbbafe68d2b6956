//! The outlet: an idempotent producer.
//!
//! librdkafka retries by itself, and the broker drops what it has already, for as long as the producer lives. What a crash of this process leaves
//! unknown is the target's policy, as everywhere; readers recognise a message by its header `message-id`.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rdkafka::config::{FromClientConfigAndContext as _, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use rdkafka::{ClientConfig, ClientContext, Message as _};
use semel_core::{Error, Result};
use semel_inbox::intents::{Outgoing, Outlet, Sending, Sent};
use semel_kafka_native::Persisted;
use tokio::sync::mpsc;

use crate::{error, log, url};

const KNOWN: &str = "timeout, tls, ca, sasl";
/// The header that readers recognise a message by.
const ID: &str = "message-id";
/// How long a message may take to reach the broker, with all retries.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How long the broker may take to say that the topic is there.
const REACH: Duration = Duration::from_secs(5);

type Producer = ThreadedProducer<Context>;

/// A topic of Kafka that intents are published to.
///
/// It connects with the first message, and again by itself. Messages with the same key go to the same partition, the one that Java's producers
/// choose too.
pub struct KafkaOutlet {
    name: String,
    topic: String,
    config: ClientConfig,
    producer: Mutex<Option<Arc<Producer>>>,
    /// Whether the broker was there when it was last heard of. If not, it is asked before anything is sent, so that a message that cannot be sent is
    /// known not to be.
    is_reached: Arc<AtomicBool>,
}

impl std::fmt::Debug for KafkaOutlet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KafkaOutlet")
            .field("topic", &self.topic)
            .finish_non_exhaustive()
    }
}

impl KafkaOutlet {
    /// The outlet that a URL names. Nothing is connected yet.
    ///
    /// # Errors
    /// A URL that is none of Kafka or names several topics, or options that are unknown or out of bounds.
    pub fn from_url(url: &str) -> Result<Self> {
        let (address, mut options) = url::parse(url)?;
        let second = Duration::from_secs(1);
        let timeout = options.take_duration("timeout", second..=second * 3_600)?;
        options.finish(KNOWN)?;
        let [topic] = &address.topics[..] else {
            return Err(Error::invalid(format!(
                "an outlet publishes to one topic, found {}",
                address.topics.len()
            )));
        };
        let mut config = address.config();
        let timeout_ms = timeout.unwrap_or(TIMEOUT).as_millis().to_string();
        config
            .set("enable.idempotence", "true")
            .set("acks", "all")
            .set("message.timeout.ms", timeout_ms)
            .set("linger.ms", "2")
            .set("message.max.bytes", crate::MESSAGE_MAX)
            .set("partitioner", "murmur2_random")
            .set("allow.auto.create.topics", "false");
        Ok(Self {
            name: format!("kafka:{topic}"),
            topic: topic.clone(),
            config,
            producer: Mutex::default(),
            is_reached: Arc::default(),
        })
    }

    fn slot(&self) -> MutexGuard<'_, Option<Arc<Producer>>> {
        // It holds a whole producer or none.
        self.producer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The producer; another one if the last cannot be used any more.
    fn producer(&self) -> Result<Arc<Producer>> {
        let mut slot = self.slot();
        let usable = slot.take();
        let usable = usable.filter(|producer| producer.client().fatal_error().is_none());
        let producer = match usable {
            Some(producer) => producer,
            None => {
                self.is_reached.store(false, Ordering::Relaxed);
                let context = Context {
                    name: self.name.clone(),
                    is_reached: self.is_reached.clone(),
                };
                let made = Producer::from_config_and_context(&self.config, context);
                Arc::new(made.map_err(|error| error::map("Kafka cannot be written", error))?)
            }
        };
        *slot = Some(producer.clone());
        Ok(producer)
    }

    /// Whether messages can be sent now, or what becomes of all of them.
    async fn reach(&self, producer: &Arc<Producer>) -> std::result::Result<(), Sent> {
        if self.is_reached.load(Ordering::Relaxed) {
            return Ok(());
        }
        let (producer, topic) = (producer.clone(), self.topic.clone());
        // librdkafka asks by a call that blocks.
        let asked = tokio::task::spawn_blocking(move || {
            semel_kafka_native::describe(producer.client(), &[&topic], REACH)
        });
        let not_sent = |why: String| Sent::NotSent(format!("the broker was not reached: {why}"));
        let described = match asked.await {
            Ok(Ok(described)) => described,
            Ok(Err(error)) => return Err(not_sent(error.to_string())),
            Err(error) => return Err(not_sent(error.to_string())),
        };
        match described.into_iter().next() {
            Some((_, Ok(_))) => {
                self.is_reached.store(true, Ordering::Relaxed);
                Ok(())
            }
            Some((_, Err(error))) => Err(match error::code(&error) {
                // Brokers learn of a new topic one after the other.
                Some(Code::UnknownTopicOrPartition) => Sent::NotSent(format!(
                    "the broker does not know the topic {:?}",
                    self.topic
                )),
                Some(code) if is_refusal(code) => Sent::Refused(code.to_string()),
                _ => not_sent(error.to_string()),
            }),
            None => Err(not_sent("it said nothing about the topic".to_owned())),
        }
    }

    async fn send(&self, messages: Vec<Outgoing>) -> Vec<Sent> {
        let reached = match self.producer() {
            Ok(producer) => self.reach(&producer).await.map(|()| producer),
            Err(error) => Err(Sent::NotSent(error.to_string())),
        };
        match reached {
            Ok(producer) => self.send_all(&producer, &messages).await,
            Err(sent) => vec![sent; messages.len()],
        }
    }

    /// Sends in rounds: of each key one message, because none may be published after one of its key that failed.
    async fn send_all(&self, producer: &Producer, messages: &[Outgoing]) -> Vec<Sent> {
        let skipped = "a message of the same key before it was not published";
        let mut results = vec![Sent::NotSent(skipped.to_owned()); messages.len()];
        let mut left: Vec<usize> = (0..messages.len()).collect();
        let mut failed: HashSet<Bytes> = HashSet::new();
        while !left.is_empty() {
            let mut keys = HashSet::new();
            let (round, later) = left.into_iter().partition(|at| {
                let key = messages[*at].key.as_ref();
                key.is_none_or(|key| keys.insert(key.clone()))
            });
            for (at, sent) in self.round(producer, messages, round).await {
                if !matches!(sent, Sent::Done(_)) {
                    failed.extend(messages[at].key.clone());
                }
                results[at] = sent;
            }
            left = later;
            let key = |at: &usize| messages[*at].key.as_ref();
            left.retain(|at| key(at).is_none_or(|key| !failed.contains(key)));
        }
        results
    }

    async fn round(
        &self,
        producer: &Producer,
        messages: &[Outgoing],
        round: Vec<usize>,
    ) -> HashMap<usize, Sent> {
        let (reports, mut reported) = mpsc::unbounded_channel();
        let mut results = HashMap::new();
        for at in round {
            let report = Box::new(Report {
                at,
                reports: reports.clone(),
            });
            if let Err(sent) = self.enqueue(producer, &messages[at], report) {
                results.insert(at, sent);
            }
        }
        drop(reports);
        // It ends when every report was given or dropped.
        while let Some((at, sent)) = reported.recv().await {
            results.insert(at, sent);
        }
        results
    }

    fn enqueue(
        &self,
        producer: &Producer,
        message: &Outgoing,
        report: Box<Report>,
    ) -> std::result::Result<(), Sent> {
        let mut record: BaseRecord<'_, [u8], [u8], Box<Report>> =
            BaseRecord::with_opaque_to(&self.topic, report).headers(headers(message)?);
        record.key = message.key.as_deref();
        record.payload = message.payload.as_deref();
        let sent = producer.send(record);
        sent.map_err(|(error, _)| match error::code(&error) {
            Some(code) if is_refusal(code) => Sent::Refused(code.to_string()),
            _ => Sent::NotSent(error.to_string()),
        })
    }
}

impl Outlet for KafkaOutlet {
    fn name(&self) -> &str {
        &self.name
    }

    fn send(&self, messages: Vec<Outgoing>) -> Sending<'_> {
        Box::pin(self.send(messages))
    }
}

/// The id first, then the message's own headers.
fn headers(message: &Outgoing) -> std::result::Result<OwnedHeaders, Sent> {
    let own = message.headers.iter();
    let own = own.filter(|(name, _)| !name.eq_ignore_ascii_case(ID));
    let own = own.map(|(name, value)| (name.as_str(), value.as_deref()));
    let mut headers = OwnedHeaders::new_with_capacity(message.headers.len() + 1);
    for (key, value) in std::iter::once((ID, Some(message.id.as_bytes()))).chain(own) {
        if key.contains('\0') {
            return Err(Sent::Refused(
                "the name of a header has a zero byte, which librdkafka cannot send".to_owned(),
            ));
        }
        headers = headers.insert(Header { key, value });
    }
    Ok(headers)
}

/// Where the result of one message goes.
struct Report {
    at: usize,
    reports: mpsc::UnboundedSender<(usize, Sent)>,
}

struct Context {
    name: String,
    is_reached: Arc<AtomicBool>,
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        log::line(&self.name, level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        if error::code(&error) == Some(Code::AllBrokersDown) {
            self.is_reached.store(false, Ordering::Relaxed);
        }
        tracing::debug!(outlet = self.name, %error, "librdkafka: {reason}");
    }
}

impl ProducerContext for Context {
    type DeliveryOpaque = Box<Report>;

    fn delivery(&self, result: &DeliveryResult<'_>, report: Box<Report>) {
        let sent = match result {
            Ok(message) => {
                let (topic, partition) = (message.topic(), message.partition());
                Sent::Done(format!("{topic}/{partition}/{}", message.offset()))
            }
            Err((error, message)) => {
                self.is_reached.store(false, Ordering::Relaxed);
                let code = error::code(error).unwrap_or(Code::Unknown);
                failed(code, semel_kafka_native::persisted(message))
            }
        };
        // Without a receiver the call was dropped.
        let _ = report.reports.send((report.at, sent));
    }
}

/// What became of a message whose delivery failed.
fn failed(code: Code, persisted: Persisted) -> Sent {
    match persisted {
        Persisted::No if is_refusal(code) => Sent::Refused(code.to_string()),
        Persisted::No => Sent::NotSent(code.to_string()),
        Persisted::Perhaps | Persisted::Yes => Sent::Unknown(code.to_string()),
    }
}

/// Whether the broker, or librdkafka for it, will say no again.
const fn is_refusal(code: Code) -> bool {
    matches!(
        code,
        Code::MessageSizeTooLarge
            | Code::MessageBatchTooLarge
            | Code::InvalidMessageSize
            | Code::InvalidRecord
            | Code::InvalidTimestamp
            | Code::InvalidTopic
            | Code::UnknownTopic
            | Code::UnknownPartition
            | Code::UnknownTopicOrPartition
            | Code::TopicAuthorizationFailed
            | Code::ClusterAuthorizationFailed
            | Code::PolicyViolation
            | Code::UnsupportedForMessageFormat
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_never_sent_is_known_not_to_be() {
        for (code, persisted, expected) in [
            (Code::MessageTimedOut, Persisted::No, "NotSent"),
            (Code::MessageTimedOut, Persisted::Perhaps, "Unknown"),
            (Code::PurgeInflight, Persisted::Perhaps, "Unknown"),
            (Code::PurgeQueue, Persisted::No, "NotSent"),
            (Code::MessageSizeTooLarge, Persisted::No, "Refused"),
            (Code::TopicAuthorizationFailed, Persisted::No, "Refused"),
        ] {
            let sent = failed(code, persisted);
            assert!(
                format!("{sent:?}").starts_with(expected),
                "{code}: {sent:?}"
            );
        }
    }

    #[test]
    fn an_outlet_has_one_topic_and_its_own_options() {
        assert!(KafkaOutlet::from_url("kafka://h/t?timeout=5s").is_ok());
        for url in [
            "kafka://h/a,b",
            "kafka://h/t?group=g",
            "kafka://h/t?timeout=1ms",
        ] {
            assert!(KafkaOutlet::from_url(url).is_err(), "{url}");
        }
    }
}
