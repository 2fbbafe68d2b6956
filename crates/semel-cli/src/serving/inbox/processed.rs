//! Consumers that need no store: their processed ids are in a compacted topic of Kafka.

use std::sync::Arc;

use semel_inbox::Observer;
use semel_kafka::ProcessedLog;
use semel_kafka::processed::{RunningLog, are_beside};
use semel_policy::{CompiledConsumer, CompiledTarget, File};
use tokio::task::JoinHandle;

use super::{Named, client, parts};
use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serving::Process;

/// Consumers that can start.
pub(super) type Ready = Vec<(ProcessedLog, Arc<dyn semel_inbox::Handler>)>;
/// Consumers that run, once those before them have ended.
pub(super) type Started = JoinHandle<Vec<RunningLog>>;

/// The consumer of a log; its handler may publish to the targets that are topics of the same brokers.
pub(super) fn log(consumer: &CompiledConsumer, targets: &[CompiledTarget]) -> Result<ProcessedLog> {
    let name = consumer.name();
    let refused = |error| {
        let message = format!("consumer {name}: processed_log: {error}");
        Error::new(Exit::Configuration, message)
    };
    let Some(found) = &consumer.processed_log else {
        return Err(refused(semel_core::Error::invalid("there is none")));
    };
    let (source, policy) = (found.source.expose(), consumer.policy.clone());
    let mut log = ProcessedLog::new(source, &found.topic, &found.dead_letters, policy)
        .map_err(refused)?
        .rule(parts::rule(consumer));
    for target in targets {
        if let Some(url) = target.url.broker() {
            log = log.target_at(&target.name, url.expose());
        }
    }
    Ok(log)
}

/// Whether the handler of a log can publish to a target: a topic of the same brokers.
pub(super) fn publishes(consumer: &CompiledConsumer, target: &CompiledTarget) -> bool {
    let source = consumer.processed_log.as_ref().map(|log| &log.source);
    source
        .zip(target.url.broker())
        .is_some_and(|(source, topic)| are_beside(source.expose(), topic.expose()))
}

/// Everything that the file names of this kind.
pub(super) fn ready(
    process: &Process,
    file: &File,
    named: &Named,
    watch: &Arc<dyn Observer>,
) -> Result<Ready> {
    if named.logs.is_empty() {
        return Ok(Vec::new());
    }
    let client = client()?;
    let one = |consumer: &CompiledConsumer| {
        let log = log(consumer, &named.targets)?
            .clock(process.opened.clock.clone())
            .watch(watch.clone())
            .traced(process.tracer.clone())
            .drain(file.inbox.timeouts.drain.0);
        let handler = parts::handler(consumer, &client)?;
        Ok((log, Arc::new(handler) as _))
    };
    named.logs.iter().map(one).collect()
}

/// Starts consumers once those before them have left their groups: a static member cannot be in its group twice.
pub(super) fn start(before: Option<Started>, ready: Ready) -> Started {
    tokio::spawn(async move {
        end(before).await;
        let mut running = Vec::new();
        for (log, handler) in ready {
            match log.start(handler) {
                Ok(log) => running.push(log),
                Err(error) => tracing::error!(%error, "a consumer with a log cannot start"),
            }
        }
        running
    })
}

/// Ends consumers: what runs may finish, and what is done is committed.
pub(super) async fn end(started: Option<Started>) {
    let Some(started) = started else {
        return;
    };
    for log in started.await.unwrap_or_default() {
        log.shutdown().await;
    }
}
