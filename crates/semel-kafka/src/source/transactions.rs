//! Commits that are transactions: offsets and what is published because of them, or neither.

use std::time::{Duration, Instant};

use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::consumer::ConsumerGroupMetadata;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::message::{Header, OwnedHeaders};
use rdkafka::producer::{BaseRecord, Producer as _, ThreadedProducer};
use rdkafka::{ClientConfig, TopicPartitionList};

use super::publication::Publication;
use crate::log::Named;

/// How long the broker may take to let a producer in: it ends what a process of the same name left open.
const INIT: Duration = Duration::from_secs(20);
/// How long one call may take.
const CALL: Duration = Duration::from_secs(5);
/// How long all calls of one transaction may take together.
const TOTAL: Duration = Duration::from_secs(20);
/// After how long the broker ends a transaction whose process is gone. Until then readers of committed messages wait at it.
const TIMEOUT_MS: &str = "15000";

/// A producer whose messages and offsets are committed together.
pub(super) struct Transactions(ThreadedProducer<Named>);

/// How a transaction ended that did not commit.
#[derive(Debug)]
pub(super) enum Ended {
    /// It certainly changed nothing.
    Aborted(KafkaError),
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
            .set("partitioner", "murmur2_random");
        let context = Named(id.to_owned());
        let producer = ThreadedProducer::from_config_and_context(&config, context)?;
        producer.init_transactions(INIT)?;
        Ok(Self(producer))
    }

    /// Publishes and commits, or neither.
    pub(super) fn commit<'a>(
        &self,
        mut publications: impl Iterator<Item = &'a Publication>,
        offsets: &TopicPartitionList,
        group: &ConsumerGroupMetadata,
    ) -> Result<(), Ended> {
        self.0.begin_transaction().map_err(Ended::Unknown)?;
        let prepared = publications
            .try_for_each(|one| self.publish(one))
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

    fn publish(&self, publication: &Publication) -> KafkaResult<()> {
        let begun = now();
        loop {
            match self.0.send(record(publication)) {
                Ok(()) => return Ok(()),
                Err((KafkaError::MessageProduction(Code::QueueFull), _))
                    if begun.elapsed() < TOTAL =>
                {
                    self.0.flush(CALL).ok();
                }
                Err((error, _)) => return Err(error),
            }
        }
    }

    /// Ends the transaction without effect. A transaction of which even that cannot be said may still be ended by the broker either way.
    fn abort(&self, because: KafkaError) -> Ended {
        match retried(|| self.0.abort_transaction(CALL)) {
            Ok(()) => Ended::Aborted(because),
            Err(error) => Ended::Unknown(error),
        }
    }
}

fn record(publication: &Publication) -> BaseRecord<'_, [u8], [u8]> {
    let mut headers = OwnedHeaders::new_with_capacity(publication.headers.len());
    for (key, value) in &publication.headers {
        let value = value.as_deref();
        headers = headers.insert(Header { key, value });
    }
    let mut record = BaseRecord::to(&publication.topic).headers(headers);
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
