//! Consumers whose processed ids are in a compacted topic of Kafka.

use super::at;
use crate::file::Consumer;
use crate::file::consumer::{Alerts, By};
use crate::tree::read::Fault;
use crate::value::{Broker, BrokerUrl, SourceUrl};

/// Where processed ids are remembered, without any database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessedLog {
    /// The topic that is read.
    pub source: BrokerUrl,
    /// The compacted topic.
    pub topic: String,
    /// The topic for what a person must look at.
    pub dead_letters: String,
}

/// The log of a consumer. Faults are relative to it.
pub(super) fn compile(written: &Consumer) -> Result<Option<ProcessedLog>, Fault> {
    let Some(log) = &written.processed_log else {
        return Ok(None);
    };
    let source = match written.source.as_deref() {
        Some(SourceUrl::Broker(url)) if url.broker() == Broker::Kafka => url.clone(),
        _ => {
            let message =
                "expected a source of Kafka, because the ids are written with its offsets";
            return Err(Fault::said(at(["processed_log"]), message));
        }
    };
    if written.deliver.is_none() {
        let message = "expected deliver, because without an inbox nothing waits for a program";
        return Err(Fault::said(at(["processed_log"]), message));
    }
    needs_inbox(written)?;
    Ok(Some(ProcessedLog {
        source,
        topic: log.topic.0.0.clone(),
        dead_letters: log.dead_letters.0.0.clone(),
    }))
}

/// Refuses what only stored messages can have.
fn needs_inbox(written: &Consumer) -> Result<(), Fault> {
    let is_by_sequence = written
        .order
        .as_ref()
        .is_some_and(|order| order.by == By::Sequence);
    let settings = [
        ("order", is_by_sequence, at(["order"])),
        (
            "dedup.table",
            written.dedup.table.is_some(),
            at(["dedup", "table"]),
        ),
        (
            "backlog_max",
            written.backlog_max.is_some(),
            at(["backlog_max"]),
        ),
        ("paused", written.paused == Some(true), at(["paused"])),
        (
            "alerts",
            written.alerts != Alerts::default(),
            at(["alerts"]),
        ),
        (
            "inbox.enabled",
            written.inbox.enabled == Some(true),
            at(["inbox", "enabled"]),
        ),
        (
            "ackAfterInboxInsert",
            written.inbox.ack_after_inbox_insert == Some(true),
            at(["inbox", "ackAfterInboxInsert"]),
        ),
    ];
    match settings.into_iter().find(|(_, is_written, _)| *is_written) {
        None => Ok(()),
        Some((name, _, path)) => {
            let message =
                format!("expected none beside processed_log, because {name} needs stored messages");
            Err(Fault::said(path, message).beside(at(["processed_log"])))
        }
    }
}
