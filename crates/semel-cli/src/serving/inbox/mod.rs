//! Consumers and intents: the engine, the door for posted messages, and their end.
//!
//! - `parts` and `target` turn what the file says into what the engine takes; `expected` are its alerts, `paused` its pauses, `observer` what it
//!   reports.
//! - `door` listens for messages that are posted.
//! - `messages` has the engine at work, and replaces it when the file changes.

mod door;
mod expected;
mod messages;
mod observer;
mod parts;
mod paused;
mod target;

pub(super) use messages::Messages;

pub(crate) use parts::rule;

use std::sync::Arc;

use semel_core::inbox::Inbox;
use semel_inbox::{Engine, HttpHandler, Observer, Settings};
use semel_policy::{CompiledConsumer, CompiledTarget, File};

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serving::Process;

/// What the file names for the engine.
struct Named {
    consumers: Vec<CompiledConsumer>,
    targets: Vec<CompiledTarget>,
}

impl Named {
    /// What `semel serve` has to do; consumers of programs that use the library are not its business.
    fn of(file: &File) -> Result<Option<Self>> {
        let bad = |error: semel_policy::Error| Error::new(Exit::Configuration, error.to_string());
        let mut consumers = file.consumers().map_err(bad)?;
        consumers.retain(|consumer| consumer.has_inbox && consumer.is_served());
        let targets = file.targets().map_err(bad)?;
        let is_something = !consumers.is_empty() || !targets.is_empty();
        Ok(is_something.then_some(Self { consumers, targets }))
    }
}

/// How many consumers and targets `semel serve` would serve; refuses what the engine would refuse.
pub(crate) fn served(file: &File) -> Result<(usize, usize)> {
    let Some(named) = Named::of(file)? else {
        return Ok((0, 0));
    };
    for consumer in &named.consumers {
        parts::deliver(consumer)?;
    }
    parts::webhooks(&named.consumers, file.inbox.timeouts.body.0)?;
    for target in &named.targets {
        target::target(target)?.check()?;
    }
    Ok((named.consumers.len(), named.targets.len()))
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

fn engine(
    process: &Process,
    file: &File,
    named: &Named,
    inbox: Arc<dyn Inbox>,
    observer: Arc<dyn Observer>,
) -> Result<Engine> {
    let client = semel_inbox::client_builder().build();
    let client = client.map_err(|error| {
        let message = format!("the HTTP client cannot be made: {error}");
        Error::new(Exit::Configuration, message)
    })?;
    let mut engine = Engine::builder(inbox)
        .clock(process.opened.clock.clone())
        .watch(observer)
        .client(client.clone())
        .settings(Settings {
            drain: file.inbox.timeouts.drain.0,
            ..Settings::default()
        });
    for consumer in &named.consumers {
        let deliver = parts::deliver(consumer)?;
        let handler = HttpHandler::with_client(deliver.url.as_str(), client.clone())?;
        let handler = parts::dressed(handler, deliver)?;
        engine = engine.consumer(consumer.policy.clone(), handler);
        if let Some(source) = parts::file_source(consumer) {
            engine = engine.source(consumer.name().clone(), source, parts::rule(consumer));
        }
    }
    for target in &named.targets {
        engine = engine.target(target::target(target)?);
    }
    Ok(engine.build()?)
}
