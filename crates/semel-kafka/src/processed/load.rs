//! Reads the log of one partition back, to its end.
//!
//! The end is where the partition ended when the read began, open transactions included: a process that lost the partition may have a transaction whose
//! outcome is not visible yet. Reading waits until it is; the broker ends what a dead process left open.

use std::time::{Duration, Instant};

use rdkafka::consumer::{BaseConsumer, Consumer as _};
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::{Message as _, Offset, TopicPartitionList};
use semel_core::{Error, Kind, Result};

use super::ids::{IDS_MAX, Ids};
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

/// The ids of one partition. It blocks.
pub(super) fn load(options: &Options, log: &str, partition: i32) -> Result<Ids> {
    let doing = format!("the log {log:?} cannot be read");
    let failed = |error| error::map(&doing, error);
    let reader = reader(options, "read_committed").map_err(failed)?;
    let (first, end) = reader_of_all(options, log, partition).map_err(failed)?;
    if first == end {
        return Ok(Ids::default());
    }
    wait_for_open(&reader, log, partition, end).map_err(failed)??;
    let mut list = TopicPartitionList::new();
    list.add_partition_offset(log, partition, Offset::Beginning)
        .map_err(failed)?;
    reader.assign(&list).map_err(failed)?;
    read(&reader, log, partition)
}

/// Refuses a log whose partitions are others than those of the topic.
pub(super) fn check(options: &Options, log: &str) -> Result<()> {
    let topic = &options.address.topics[0];
    let reader = reader(options, "read_committed");
    let reader = reader.map_err(|error| error::map("the topics cannot be described", error))?;
    let [own, its] = [topic.as_str(), log].map(|name| count(&reader, name));
    let (own, its) = (own?, its?);
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
    log: &str,
    partition: i32,
    end: i64,
) -> KafkaResult<Result<()>> {
    let begun = now();
    // With this isolation the broker says where the first open transaction is.
    while reader.fetch_watermarks(log, partition, ASK)?.1 < end {
        if begun.elapsed() > OPEN_MAX {
            let why = format!("a transaction in the log {log:?} stays open");
            return Ok(Err(Error::new(Kind::Unavailable, why)));
        }
        std::thread::sleep(LOOK);
    }
    Ok(Ok(()))
}

fn read(reader: &BaseConsumer<Named>, log: &str, partition: i32) -> Result<Ids> {
    let mut ids = Ids::default();
    let mut heard = now();
    loop {
        match reader.poll(LOOK) {
            Some(Ok(message)) => {
                let record = record::parse(message.key(), message.payload());
                let offset = message.offset();
                let (digest, known) = record.ok_or_else(|| foreign(log, partition, offset))?;
                match known {
                    None => ids.remove(&digest),
                    Some(known) if !ids.insert(digest, known) => return Err(full(log, partition)),
                    Some(_) => {}
                }
                heard = now();
            }
            Some(Err(KafkaError::PartitionEOF(_))) => return Ok(ids),
            Some(Err(error)) if !error::map(log, error.clone()).is_retryable() => {
                return Err(error::map(
                    &format!("the log {log:?} cannot be read"),
                    error,
                ));
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
        "partition {partition} of the log {log:?} has more than {IDS_MAX} ids: more partitions or a shorter retention are needed"
    ))
}

#[expect(
    clippy::disallowed_methods,
    reason = "bounds how long the broker is waited for; nothing else is decided by it"
)]
fn now() -> Instant {
    Instant::now()
}
