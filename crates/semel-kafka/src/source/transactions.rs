//! Commits that are transactions: offsets and what is published because of them, or neither.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::config::{FromClientConfigAndContext as _, RDKafkaLogLevel};
use rdkafka::consumer::ConsumerGroupMetadata;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ProducerContext, ThreadedProducer};
use rdkafka::{ClientConfig, ClientContext, TopicPartitionList};

use super::publication::{Publication, Queued};
use crate::{error, log};

/// How long the broker may take to let a producer in: it ends what a process of the same name left open.
const INIT: Duration = Duration::from_secs(20);
/// How long one call may take.
const CALL: Duration = Duration::from_secs(5);
/// How long all calls of one transaction may take together.
const TOTAL: Duration = Duration::from_secs(20);
/// After how long the broker ends a transaction whose process is gone. Until then readers of committed messages wait at it.
const TIMEOUT_MS: &str = "15000";

/// A producer whose messages and offsets are committed together.
pub(super) struct Transactions(ThreadedProducer<Reports>);

/// A message that the broker, or librdkafka for it, does not take for what it is: its size or its content.
#[derive(Debug)]
pub(super) struct Refused {
    /// Its place in the transaction.
    pub(super) at: usize,
    pub(super) code: Code,
}

/// Notes what is refused in the transaction that is open; what else fails is known by its end.
struct Reports {
    name: String,
    refused: Mutex<Vec<Refused>>,
}

impl Reports {
    fn refused(&self) -> MutexGuard<'_, Vec<Refused>> {
        // It is whole after every statement.
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, at: usize, error: &KafkaError) {
        if let Some(code) = error::code(error).filter(|code| is_of_its_own(*code)) {
            self.refused().push(Refused { at, code });
        }
    }
}

impl ClientContext for Reports {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        log::line(&self.name, level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(name = self.name, %error, "librdkafka: {reason}");
    }
}

impl ProducerContext for Reports {
    /// The place of the message in the transaction.
    type DeliveryOpaque = usize;

    fn delivery(&self, result: &DeliveryResult<'_>, at: usize) {
        if let Err((error, _)) = result {
            self.note(at, error);
        }
    }
}

/// How a transaction ended that did not commit.
#[derive(Debug)]
pub(super) enum Ended {
    /// It certainly changed nothing. Of these messages it is known that they were refused.
    Aborted(KafkaError, Vec<Refused>),
    /// It may have been committed, and this producer cannot find out.
    Unknown(KafkaError),
}

impl Transactions {
    /// Opens a producer of this name, which fences an earlier one of the same name.
    pub(super) fn open(mut config: ClientConfig, id: &str) -> KafkaResult<Self> {
        config
            .set("transactional.id", id)
            .set("transaction.timeout.ms", TIMEOUT_MS)
            // Nothing may take longer than the transaction that it is part of.
            .set("socket.timeout.ms", "10000")
            .set("message.timeout.ms", "10000")
            .set("linger.ms", "1")
            .set("message.max.bytes", crate::MESSAGE_MAX)
            .set("partitioner", "murmur2_random");
        let context = Reports {
            name: id.to_owned(),
            refused: Mutex::default(),
        };
        let producer = ThreadedProducer::from_config_and_context(&config, context)?;
        producer.init_transactions(INIT)?;
        Ok(Self(producer))
    }

    /// Publishes and commits, or neither.
    pub(super) fn commit(
        &self,
        queued: &[Queued],
        offsets: &TopicPartitionList,
        group: &ConsumerGroupMetadata,
    ) -> Result<(), Ended> {
        self.0.context().refused().clear();
        self.0.begin_transaction().map_err(Ended::Unknown)?;
        let prepared = self
            .publish_all(queued)
            .and_then(|()| self.0.flush(TOTAL))
            .and_then(|()| retried(|| self.0.send_offsets_to_transaction(offsets, group, CALL)));
        if let Err(error) = prepared {
            return Err(self.abort(error));
        }
        match retried(|| self.0.commit_transaction(CALL)) {
            Ok(()) => Ok(()),
            Err(error) if requires_abort(&error) => Err(self.abort(error)),
            Err(error) => Err(Ended::Unknown(error)),
        }
    }

    fn publish_all(&self, queued: &[Queued]) -> KafkaResult<()> {
        let begun = now();
        for (at, one) in queued.iter().enumerate() {
            // The broker refuses whole batches: only of what was alone is it known that it was meant.
            let is_alone = one.is_suspect && begun.elapsed() < TOTAL / 2;
            if is_alone {
                self.0.flush(CALL)?;
            }
            self.publish(at, &one.publication)?;
            if is_alone {
                self.0.flush(CALL)?;
            }
        }
        Ok(())
    }

    fn publish(&self, at: usize, publication: &Publication) -> KafkaResult<()> {
        let begun = now();
        loop {
            match self.0.send(record(at, publication)) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(Code::QueueFull), _))
                    if begun.elapsed() < TOTAL =>
                {
                    self.0.flush(CALL).ok();
                }
                Err((error, _)) => {
                    self.0.context().note(at, &error);
                    return Err(error);
                }
            }
        }
    }

    /// Ends the transaction without effect. A transaction of which even that cannot be said may still be ended by the broker either way.
    fn abort(&self, because: KafkaError) -> Ended {
        match retried(|| self.0.abort_transaction(CALL)) {
            Ok(()) => {
                let refused = std::mem::take(&mut *self.0.context().refused());
                Ended::Aborted(because, refused)
            }
            Err(error) => Ended::Unknown(error),
        }
    }
}

/// Whether a message is refused for what it is, and not for where it goes or when.
const fn is_of_its_own(code: Code) -> bool {
    matches!(
        code,
        Code::MessageSizeTooLarge
            | Code::MessageBatchTooLarge
            | Code::InvalidMessageSize
            | Code::InvalidMessage
            | Code::InvalidRecord
    )
}

fn record(at: usize, publication: &Publication) -> BaseRecord<'_, [u8], [u8], usize> {
    let mut headers = OwnedHeaders::new_with_capacity(publication.headers.len());
    for (key, value) in &publication.headers {
        let value = value.as_deref();
        headers = headers.insert(Header { key, value });
    }
    let mut record = BaseRecord::with_opaque_to(&publication.topic, at).headers(headers);
    (record.partition, record.key) = (publication.partition, publication.key.as_deref());
    record.payload = publication.payload.as_deref();
    record
}

/// Calls again what librdkafka says may be called again, within the time of one transaction.
fn retried(call: impl Fn() -> KafkaResult<()>) -> KafkaResult<()> {
    let begun = now();
    loop {
        match call() {
            Err(KafkaError::Transaction(error))
                if error.is_retriable() && begun.elapsed() < TOTAL => {}
            ended => return ended,
        }
    }
}

fn requires_abort(error: &KafkaError) -> bool {
    matches!(error, KafkaError::Transaction(error) if error.txn_requires_abort())
}

#[expect(
    clippy::disallowed_methods,
    reason = "bounds how often a call is repeated; nothing else is decided by it"
)]
fn now() -> Instant {
    Instant::now()
}
