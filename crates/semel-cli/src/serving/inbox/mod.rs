//! Consumers and intents: the engine, the door for posted messages, and their end.
//!
//! - `parts` and `target` turn what the file says into what the engine takes.
//! - `door` listens for messages that are posted.

mod door;
mod parts;
mod target;

pub(crate) use parts::rule;

use std::sync::Arc;

use semel_core::inbox::{Inbox, Order};
use semel_inbox::Consumer;
use semel_inbox::{Engine, HttpHandler, Running, Settings, alerts};
use semel_policy::{CompiledConsumer, CompiledTarget, File};
use tokio::sync::watch::Receiver;

use crate::error::{Error, Result};
use crate::exit::Exit;
use crate::serving::{Process, ended};
use door::Door;

/// An engine at work, and its door if messages are posted to one of its consumers.
pub(super) struct Messages {
    running: Running,
    door: Option<Door>,
}

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

impl Messages {
    /// Whether the file names something for the engine.
    pub(super) fn are_in(file: &File) -> Result<bool> {
        Ok(Named::of(file)?.is_some())
    }

    /// Starts the engine and opens the door, if the file names consumers or targets of intents.
    pub(super) async fn start(process: &Process, file: &File) -> Result<Option<Self>> {
        let Some(named) = Named::of(file)? else {
            return Ok(None);
        };
        let inbox = process.opened.inbox.clone();
        let inbox = inbox.expect("a store without an inbox was refused before it was opened");
        expose(&*inbox, &named.consumers).await?;
        let engine = engine(process, file, &named, inbox)?;
        let hooks = parts::webhooks(&named.consumers, file.inbox.timeouts.body.0)?;
        let listener = match hooks.is_empty() {
            true => None,
            false => Some(door::bind(file.inbox.listen.0).await?),
        };
        let running = engine.start();
        let door = match listener {
            None => None,
            Some(listener) => Some(Door::new(listener, running.router(hooks)?, &file.inbox)?),
        };
        if let Some(door) = &door {
            tracing::info!(listen = %door.local_addr(), "the inbox listens");
        }
        tracing::info!(
            consumers = named.consumers.len(),
            targets = named.targets.len(),
            "the inbox works"
        );
        Ok(Some(Self { running, door }))
    }

    /// Works until the end has come. The door closes first, so that who waits for an effect may still get it; then
    /// handlers that run may finish, and what was not begun is returned.
    pub(super) async fn serve(self, process: &Process, ending: Receiver<bool>) {
        let part = process.health.part("inbox");
        let draining = async {
            ended(ending).await;
            part.not_ready("draining");
        };
        match self.door {
            Some(door) => door.serve(draining).await,
            None => draining.await,
        }
        // Told once the engine has heard of it: from then on nothing more is begun.
        let told = async { tracing::info!("the inbox lets its handlers finish") };
        tokio::join!(self.running.shutdown(), told);
    }
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

fn engine(process: &Process, file: &File, named: &Named, inbox: Arc<dyn Inbox>) -> Result<Engine> {
    let client = semel_inbox::client_builder().build();
    let client = client.map_err(|error| {
        let message = format!("the HTTP client cannot be made: {error}");
        Error::new(Exit::Configuration, message)
    })?;
    let mut engine = Engine::builder(inbox)
        .clock(process.opened.clock.clone())
        .watch(process.watchers.metrics())
        .client(client.clone())
        .settings(Settings {
            drain: file.inbox.timeouts.drain.0,
            ..Settings::default()
        });
    for consumer in &named.consumers {
        expect_alerts(process, &consumer.policy);
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

/// Alerts that may fire are there from the beginning, so that their absence says nothing.
fn expect_alerts(process: &Process, policy: &Consumer) {
    let (metrics, watched) = (process.watchers.metrics(), policy.alerts);
    let in_order = matches!(policy.plan.order, Order::Sequence { .. });
    for (alert, may_fire) in [
        (alerts::DUPLICATE_SPIKE, watched.duplicate_spike),
        (alerts::SEQUENCE_GAP, watched.sequence_gap && in_order),
        (alerts::PENDING_AGE, watched.pending_age.is_some()),
        (alerts::PARKED, watched.parked.is_some()),
    ] {
        if may_fire {
            metrics.expect_alert(policy.name(), alert);
        }
    }
}
