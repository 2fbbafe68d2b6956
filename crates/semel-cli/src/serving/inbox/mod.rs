//! Consumers and intents: the engine, the door for posted messages, and their end.
//!
//! - `brokers` makes sources and outlets of the brokers that the file names.
//! - `parts` and `target` turn what the file says into what the engine takes; `expected` are its alerts, `paused` its pauses, `observer` what it
//!   reports.
//! - `door` listens for messages that are posted.
//! - `processed` has the consumers that need no store: their processed ids are in a topic.
//! - `messages` has the engine at work, and replaces it when the file changes.

mod brokers;
mod door;
mod expected;
mod messages;
mod observer;
mod parts;
mod paused;
mod processed;
mod target;

pub(crate) use brokers::{group as broker_group, grouped as broker_source};
pub(super) use messages::Messages;

pub(crate) use parts::rule;

use std::sync::Arc;
use std::time::Duration;

use semel_core::Scope;
use semel_core::inbox::Inbox;
use semel_inbox::{Ack, Engine, HttpClient, Observer, Settings, Source};
use semel_policy::value::SourceUrl;
use semel_policy::{CompiledConsumer, CompiledTarget, File};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serving::Process;

/// What the file names for the engine.
struct Named {
    consumers: Vec<CompiledConsumer>,
    /// The consumers whose processed ids are in a topic.
    logs: Vec<CompiledConsumer>,
    targets: Vec<CompiledTarget>,
}

impl Named {
    /// What `semel serve` has to do; consumers of programs that use the library are not its business.
    fn of(file: &File) -> Result<Option<Self>> {
        let bad = |error: semel_policy::Error| Error::new(Exit::Configuration, error.to_string());
        let consumers = file.consumers().map_err(bad)?;
        let (logs, mut consumers): (Vec<_>, Vec<_>) = consumers
            .into_iter()
            .partition(|consumer| consumer.processed_log.is_some());
        consumers.retain(|consumer| consumer.has_inbox && consumer.is_served());
        let targets = file.targets().map_err(bad)?;
        let is_something = !consumers.is_empty() || !logs.is_empty() || !targets.is_empty();
        Ok(is_something.then_some(Self {
            consumers,
            logs,
            targets,
        }))
    }

    /// Whether something needs the inbox: consumers without a log of their own, and targets that no consumer with a log publishes to.
    fn needs_engine(&self) -> bool {
        let is_published = |target: &CompiledTarget| {
            let mut logs = self.logs.iter();
            logs.any(|log| processed::publishes(log, target))
        };
        !self.consumers.is_empty() || !self.targets.iter().all(is_published)
    }
}

/// How many consumers and targets `semel serve` would serve; refuses what the engine would refuse.
pub(crate) fn served(file: &File) -> Result<(usize, usize)> {
    let Some(named) = Named::of(file)? else {
        return Ok((0, 0));
    };
    for consumer in &named.consumers {
        parts::deliver(consumer)?;
        parts::source(consumer)?;
    }
    for log in &named.logs {
        drop(processed::log(log, &named.targets)?);
    }
    parts::webhooks(&named.consumers, file.inbox.timeouts.body.0)?;
    for target in &named.targets {
        target::target(target)?.check()?;
    }
    Ok((
        named.consumers.len() + named.logs.len(),
        named.targets.len(),
    ))
}

/// Whether something that `semel serve` would serve needs an inbox.
pub(crate) fn needs_inbox(file: &File) -> Result<bool> {
    Ok(Named::of(file)?.is_some_and(|named| named.needs_engine()))
}

/// A consumer that reads a broker.
pub(crate) struct AtBroker {
    pub(crate) consumer: Scope,
    pub(crate) source: Arc<dyn Source>,
    /// How long its ids are remembered.
    pub(crate) keep: Duration,
    pub(crate) after_effect: bool,
}

/// The consumers that `semel serve` would read from brokers. Nothing is connected.
pub(crate) fn at_brokers(file: &File) -> Result<Vec<AtBroker>> {
    let Some(named) = Named::of(file)? else {
        return Ok(Vec::new());
    };
    let mut all = Vec::new();
    for consumer in named.consumers.iter().chain(&named.logs) {
        if let Some(SourceUrl::Broker(url)) = &consumer.source {
            all.push(AtBroker {
                consumer: consumer.name().clone(),
                source: brokers::source(consumer.name(), url)?,
                keep: consumer.policy.plan.retention.keep(),
                after_effect: consumer.policy.ack == Ack::AfterEffect,
            });
        }
    }
    Ok(all)
}

/// Makes the views of processed messages that policies name.
async fn expose(inbox: &dyn Inbox, consumers: &[CompiledConsumer]) -> Result<()> {
    for consumer in consumers {
        if let Some(view) = &consumer.processed_view {
            inbox
                .expose_processed(view.clone())
                .await
                .map_err(|error| {
                    let name = consumer.name();
                    Error::from(error).when(&format!("cannot make the view of consumer {name}"))
                })?;
        }
    }
    Ok(())
}

/// The client that all deliveries share.
fn client() -> Result<HttpClient> {
    let client = semel_inbox::client_builder().build();
    client.map_err(|error| {
        let message = format!("the HTTP client cannot be made: {error}");
        Error::new(Exit::Configuration, message)
    })
}

fn engine(
    process: &Process,
    file: &File,
    named: &Named,
    inbox: Arc<dyn Inbox>,
    observer: Arc<dyn Observer>,
) -> Result<Engine> {
    let client = client()?;
    let mut engine = Engine::builder(inbox)
        .clock(process.opened.clock.clone())
        .watch(observer)
        .traced(process.tracer.clone())
        .client(client.clone())
        .settings(Settings {
            drain: file.inbox.timeouts.drain.0,
            ..Settings::default()
        });
    for consumer in &named.consumers {
        let handler = parts::handler(consumer, &client)?;
        engine = engine.consumer(consumer.policy.clone(), handler);
        if let Some(source) = parts::source(consumer)? {
            engine = engine.source(consumer.name().clone(), source, parts::rule(consumer));
        }
    }
    for target in &named.targets {
        engine = engine.target(target::target(target)?);
    }
    Ok(engine.build()?)
}
