//! Puts an engine together, and refuses what cannot work.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use crate::observer::Observer;
use crate::policy::Consumer;
use crate::policy::consumer::WORKERS_MAX;
use semel_core::inbox::{Inbox, WorkerName};
use semel_core::{Clock, Error, Result, Scope, SystemClock, Tracer};

use tokio::sync::watch;

use super::active::{ActiveConsumer, Shared};
use super::backlog::Backlog;
use super::breaker::Breaker;
use super::finals::Finals;
use super::flights::Flights;
use super::running::Running;
use super::settings::Settings;
use crate::exchange;
use crate::handler::Handler;
use crate::intents::{CONSUMER_PREFIX, Sender, Target, Targets};
use crate::log::Log;
use crate::pause;
use crate::receiver::Moves;
use crate::source::{Feed, Rule, Source};

/// What an engine is made of.
#[must_use]
pub struct Builder {
    inbox: Arc<dyn Inbox>,
    clock: Option<Arc<dyn Clock>>,
    watch: Option<Arc<dyn Observer>>,
    tracer: Tracer,
    worker: Option<WorkerName>,
    settings: Settings,
    client: Option<reqwest::Client>,
    consumers: Vec<(Consumer, Arc<dyn Handler>)>,
    targets: Vec<Target>,
    feeds: Vec<Feed>,
}

/// An engine that is ready to start.
pub struct Engine {
    pub(super) shared: Arc<Shared>,
    pub(super) consumers: Vec<Arc<ActiveConsumer>>,
    pub(super) feeds: Vec<Feed>,
}

impl Engine {
    /// An engine on this inbox.
    pub fn builder(inbox: Arc<dyn Inbox>) -> Builder {
        Builder {
            inbox,
            clock: None,
            watch: None,
            tracer: Tracer::off(),
            worker: None,
            settings: Settings::default(),
            client: None,
            consumers: Vec::new(),
            targets: Vec::new(),
            feeds: Vec::new(),
        }
    }

    /// The policies of its consumers, and of the senders of its targets.
    pub fn policies(&self) -> impl Iterator<Item = &Consumer> {
        self.consumers.iter().map(|active| &*active.policy)
    }

    /// Starts all tasks on the current tokio runtime.
    #[must_use = "dropping what runs stops it without a word; shut it down"]
    pub fn start(self) -> Running {
        Running::start(self)
    }
}

impl Builder {
    /// The clock for alerts; by default the machine's. Leases and retries are judged by the store.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Who measures; by default nobody, and alerts and conflicts are logged.
    pub fn watch(mut self, watch: Arc<dyn Observer>) -> Self {
        self.watch = Some(watch);
        self
    }

    /// What begins the spans of messages; by default nothing is traced.
    pub fn traced(mut self, tracer: Tracer) -> Self {
        self.tracer = tracer;
        self
    }

    /// Who works, for people to see; by default a name from the process's id and chance.
    pub fn worker(mut self, worker: WorkerName) -> Self {
        self.worker = Some(worker);
        self
    }

    /// Other times than the defaults.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.settings = settings;
        self
    }

    /// The HTTP client that sends intents; by default one of [`crate::client_builder`].
    pub fn client(mut self, client: reqwest::Client) -> Self {
        self.client = Some(client);
        self
    }

    /// With one more consumer: its policy and what handles its messages.
    pub fn consumer(self, consumer: Consumer, handler: impl Handler) -> Self {
        self.consumer_arc(consumer, Arc::new(handler))
    }

    /// The same for a handler that is shared.
    pub fn consumer_arc(mut self, consumer: Consumer, handler: Arc<dyn Handler>) -> Self {
        self.consumers.push((consumer, handler));
        self
    }

    /// With one more target for intents, which all consumers may use.
    pub fn target(mut self, target: Target) -> Self {
        self.targets.push(target);
        self
    }

    /// With one more source of messages for a consumer; `rule` makes messages of what it delivers.
    pub fn source(mut self, consumer: Scope, source: Arc<dyn Source>, rule: Rule) -> Self {
        self.feeds.push(Feed {
            consumer,
            source,
            rule,
        });
        self
    }

    /// Puts it together.
    pub fn build(self) -> Result<Engine> {
        let keep = self.consumers.iter();
        let keep = keep
            .map(|(consumer, _)| consumer.plan.retention.keep())
            .max();
        let mut consumers = self.consumers;
        for (consumer, _) in &consumers {
            check(consumer)?;
        }
        let targets = senders(&mut consumers, self.targets, self.client, keep)?;
        check_names(&consumers)?;
        check_targets(&consumers, &targets)?;
        let shared = Arc::new(Shared {
            inbox: self.inbox,
            clock: self.clock.unwrap_or_else(|| Arc::new(SystemClock::new())),
            watch: self.watch.unwrap_or_else(|| Arc::new(Log::default())),
            tracer: self.tracer,
            worker: self.worker.map_or_else(worker_name, Ok)?,
            settings: self.settings,
            replaced: AtomicU64::new(0),
            targets: Arc::new(targets),
            flights: Flights::default(),
            finals: Arc::new(Finals::default()),
            nudge: watch::Sender::new(()),
        });
        let consumers = consumers.into_iter().map(|(consumer, handler)| {
            let (name, observer) = (consumer.name().clone(), shared.watch.clone());
            Arc::new(ActiveConsumer {
                breaker: Breaker::new(name, consumer.workers, observer),
                backlog: Backlog::new(consumer.backlog_max),
                policy: Arc::new(consumer),
                handler,
                shared: shared.clone(),
                tally: Arc::default(),
                moves: Moves::default(),
            })
        });
        let consumers: Vec<_> = consumers.collect();
        check_feeds(&self.feeds, &consumers)?;
        Ok(Engine {
            shared,
            consumers,
            feeds: self.feeds,
        })
    }
}

/// Makes a consumer of each target.
fn senders(
    consumers: &mut Vec<(Consumer, Arc<dyn Handler>)>,
    targets: Vec<Target>,
    client: Option<reqwest::Client>,
    keep: Option<Duration>,
) -> Result<Targets> {
    let mut known = Targets::default();
    if targets.is_empty() {
        return Ok(known);
    }
    let client = match client {
        Some(client) => client,
        None => exchange::client_builder().build().map_err(|error| {
            Error::invalid("the HTTP client cannot be made").caused_by(error.without_url())
        })?,
    };
    for target in targets {
        target.check()?;
        let consumer = target.consumer(keep.unwrap_or_default())?;
        known.add(target.name(), consumer.plan.clone(), target.takes_key());
        let sender: Arc<dyn Handler> = Arc::new(Sender::new(target, client.clone()));
        consumers.push((consumer, sender));
    }
    Ok(known)
}

fn check(consumer: &Consumer) -> Result<()> {
    let name = consumer.name();
    if consumer.workers == 0 || consumer.workers > WORKERS_MAX {
        return Err(Error::invalid(format!(
            "consumer {name} has 1 to {WORKERS_MAX} workers, found {}",
            consumer.workers
        )));
    }
    if consumer.deadline.is_zero() {
        return Err(Error::invalid(format!(
            "consumer {name} needs a deadline above zero"
        )));
    }
    if consumer.backlog_max == Some(0) {
        return Err(Error::invalid(format!(
            "consumer {name} needs a largest backlog above zero, or none"
        )));
    }
    if name.name().starts_with(CONSUMER_PREFIX) {
        return Err(Error::invalid(format!(
            "a consumer's name does not begin with {CONSUMER_PREFIX}, found {name}"
        )));
    }
    Ok(())
}

fn check_names(consumers: &[(Consumer, Arc<dyn Handler>)]) -> Result<()> {
    let mut names = HashSet::new();
    for (consumer, _) in consumers {
        if !names.insert(consumer.name()) {
            return Err(Error::invalid(format!(
                "two consumers have the name {}",
                consumer.name()
            )));
        }
    }
    Ok(())
}

/// A policy that wants keys at providers cannot be kept if no provider takes one.
fn check_targets(consumers: &[(Consumer, Arc<dyn Handler>)], targets: &Targets) -> Result<()> {
    let strict = consumers
        .iter()
        .find(|(consumer, _)| consumer.provider_keys_required);
    match strict {
        Some((consumer, _)) if !targets.is_empty() && !targets.any_takes_key() => {
            Err(Error::invalid(format!(
                "the policy of consumer {} wants idempotency keys at providers, but no target takes one",
                consumer.name()
            )))
        }
        _ => Ok(()),
    }
}

fn check_feeds(feeds: &[Feed], consumers: &[Arc<ActiveConsumer>]) -> Result<()> {
    let known = |name: &Scope| consumers.iter().any(|active| active.policy.name() == name);
    match feeds.iter().find(|feed| !known(&feed.consumer)) {
        Some(feed) => Err(Error::invalid(format!(
            "source {} is for consumer {}, which the engine does not have",
            feed.source.name(),
            feed.consumer
        ))),
        None => Ok(()),
    }
}

fn worker_name() -> Result<WorkerName> {
    let chance = (pause::jitter() * f64::from(u32::MAX)) as u32;
    WorkerName::new(format!("{}-{chance:08x}", std::process::id()))
}
