//! Reads the log of one partition back, to its end.
//!
//! The end is where the partition ended when the read began, open transactions included: a process that lost the partition may have a transaction whose
//! outcome is not visible yet. Reading waits until it is; the broker ends what a dead process left open.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::{Message as _, Offset, TopicPartitionList};
use semel_core::{Error, Kind, Result};

use super::ids::{Ids, LOADED_MAX};
use super::record;
use crate::error;
use crate::log::Named;
use crate::source::Options;

/// How long the broker may take to answer.
const ASK: Duration = Duration::from_secs(10);
/// How long an open transaction is waited for: longer than the broker takes to end one.
const OPEN_MAX: Duration = Duration::from_secs(90);
/// How often the end of open transactions is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// How long reading may stand still.
const SILENCE_MAX: Duration = Duration::from_secs(30);

/// Which part of the log is read.
pub(super) struct Part<'a> {
    pub(super) log: &'a str,
    pub(super) partition: i32,
    /// What was processed before this time, in milliseconds since 1970, has expired.
    pub(super) before_ms: i64,
    /// Ends the reading: the partition is not ours any more.
    pub(super) is_abandoned: &'a AtomicBool,
}

impl Part<'_> {
    fn go_on(&self) -> Result<()> {
        match self.is_abandoned.load(Ordering::Relaxed) {
            true => Err(Error::new(
                Kind::Unavailable,
                "the partition is not ours any more",
            )),
            false => Ok(()),
        }
    }
}

/// The ids of one partition. It blocks.
pub(super) fn load(options: &Options, part: &Part<'_>) -> Result<Ids> {
    let (log, partition) = (part.log, part.partition);
    let doing = format!("the log {log:?} cannot be read");
    let failed = |error| error::map(&doing, error);
    let reader = reader(options, "read_committed").map_err(failed)?;
    let (first, end) = reader_of_all(options, log, partition).map_err(failed)?;
    if first == end {
        return Ok(Ids::default());
    }
    wait_for_open(&reader, part, end).map_err(failed)??;
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(log, partition, Offset::Beginning)
        .map_err(failed)?;
    reader.assign(&list).map_err(failed)?;
    read(&reader, part)
}

/// Refuses a log whose partitions are others than those of the topic, and topics to write that are not there.
pub(super) fn check(options: &Options, log: &str, written: &[Arc<str>]) -> Result<()> {
    let topic = &options.address.topics[0];
    let reader = reader(options, "read_committed");
    let reader = reader.map_err(|error| error::map("the topics cannot be described", error))?;
    let [own, its] = [topic.as_str(), log].map(|name| count(&reader, name));
    let (own, its) = (own?, its?);
    for name in written {
        count(&reader, name)?;
    }
    match own == its {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "the log {log:?} has {its} partitions and the topic {topic:?} has {own}: a log has as many as its topic"
        ))),
    }
}

fn count(reader: &BaseConsumer<Named>, topic: &str) -> Result<usize> {
    let metadata = reader.fetch_metadata(Some(topic), ASK);
    let doing = format!("the topic {topic:?} cannot be described");
    let metadata = metadata.map_err(|error| error::map(&doing, error))?;
    let found = metadata.topics().iter().find(|found| found.name() == topic);
    let refused = found.and_then(|found| found.error()).map(Code::from);
    if let Some(code) = refused.filter(|code| *code != Code::UnknownTopicOrPartition) {
        return Err(error::map(&doing, KafkaError::MetadataFetch(code)));
    }
    match found.map(|found| found.partitions().len()) {
        None | Some(0) => Err(error::missing(topic)),
        Some(count) => Ok(count),
    }
}

fn reader(options: &Options, isolation: &str) -> KafkaResult<BaseConsumer<Named>> {
    let mut config = options.bystander();
    config
        .set("isolation.level", isolation)
        .set("enable.partition.eof", "true");
    config.create_with_context(Named("processed-log".to_owned()))
}

/// Where a partition begins and ends, open transactions included.
fn reader_of_all(options: &Options, log: &str, partition: i32) -> KafkaResult<(i64, i64)> {
    reader(options, "read_uncommitted")?.fetch_watermarks(log, partition, ASK)
}

fn wait_for_open(
    reader: &BaseConsumer<Named>,
    part: &Part<'_>,
    end: i64,
) -> KafkaResult<Result<()>> {
    let (log, begun) = (part.log, now());
    // With this isolation the broker says where the first open transaction is.
    while reader.fetch_watermarks(log, part.partition, ASK)?.1 < end {
        if let Err(abandoned) = part.go_on() {
            return Ok(Err(abandoned));
        }
        if begun.elapsed() > OPEN_MAX {
            let why = format!("a transaction in the log {log:?} stays open");
            return Ok(Err(Error::new(Kind::Unavailable, why)));
        }
        std::thread::sleep(LOOK);
    }
    Ok(Ok(()))
}

fn read(reader: &BaseConsumer<Named>, part: &Part<'_>) -> Result<Ids> {
    let (log, partition) = (part.log, part.partition);
    let mut ids = Ids::default();
    let mut heard = now();
    loop {
        part.go_on()?;
        match reader.poll(LOOK) {
            Some(Ok(message)) => {
                let record = record::parse(message.key(), message.payload());
                let offset = message.offset();
                let (digest, known) = record.ok_or_else(|| foreign(log, partition, offset))?;
                ids.read(digest, known, part.before_ms);
                if ids.len() > LOADED_MAX {
                    return Err(full(log, partition));
                }
                heard = now();
            }
            Some(Err(KafkaError::PartitionEOF(_))) => return Ok(ids),
            Some(Err(error)) if !error::map(log, error.clone()).is_retryable() => {
                let doing = format!("the log {log:?} cannot be read");
                return Err(error::map(&doing, error));
            }
            _ if heard.elapsed() > SILENCE_MAX => {
                let why = format!("the log {log:?} cannot be read: the broker is silent");
                return Err(Error::new(Kind::Unavailable, why));
            }
            _ => {}
        }
    }
}

fn foreign(log: &str, partition: i32, offset: i64) -> Error {
    Error::invalid(format!(
        "the topic {log:?} is no log of processed ids: something else stands at offset {offset} of partition {partition}"
    ))
}

fn full(log: &str, partition: i32) -> Error {
    Error::invalid(format!(
        "partition {partition} of the log {log:?} has more than {LOADED_MAX} ids: more partitions or a shorter retention are needed"
    ))
}

#[expect(
    clippy::disallowed_methods,
    reason = "bounds how long the broker is waited for; nothing else is decided by it"
)]
fn now() -> Instant {
    Instant::now()
}
