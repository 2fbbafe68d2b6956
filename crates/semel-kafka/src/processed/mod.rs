//! A consumer without a database: the ids that it has processed are in a compacted topic.
//!
//! Each id stands in the partition of that topic, the *log*, which has the number of the message's own. It is written in one transaction with the
//! message's offset and with what its handler publishes to Kafka. The member that is given a partition reads its part of the log to the end before anything
//! runs. Ids are forgotten after the consumer's retention, by tombstones.
//!
//! ```no_run
//! use std::sync::Arc;
//! use semel_inbox::{Consumer, HttpHandler, Rule};
//! use semel_kafka::ProcessedLog;
//!
//! # async fn run() -> semel_core::Result<()> {
//! let consumer = Consumer::new("notification-sender".parse()?);
//! let handler = HttpHandler::new("http://127.0.0.1:9000/notifications")?;
//! let running = ProcessedLog::new("kafka://127.0.0.1:9092/case-events", "case-events.processed", "case-events.dead", consumer)?
//!     .rule(Rule::broker())
//!     .target("billing", "invoices")
//!     .start(Arc::new(handler))?;
//! // … wait for a signal …
//! running.shutdown().await;
//! # Ok(())
//! # }
//! ```
//!
//! # What holds
//! - A message whose id was processed in its partition within the retention does not run again, whether its producer or the broker repeats it. Producers give a message and its
//!   duplicates the same key, so that they are in one partition.
//! - What a handler publishes by intents to targets of this log is published if, and only if, the message is processed.
//! - The effect of a handler *outside of Kafka* is not in the transaction: a process that dies between the two leaves a message that runs again, with the
//!   same `Idempotency-Key`, which its handler hands to the provider of the effect.
//! - Messages of one key run one after another. What fails for good, or cannot be read, goes to the topic of dead letters in the same transaction,
//!   with its headers, its key and why.
//!
//! # What is absent
//! Parked messages, steps, versions, replays and an operator's hand: those need an inbox. Attempts are counted in memory.
//!
//! To read it: `ids` is what was processed, `record` how it is written, `load` reads it back, `lanes` says what may run, `board` keeps the deliveries,
//! `run` does it all.

mod board;
mod ids;
mod lanes;
mod load;
mod record;
mod run;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use semel_core::{Clock, Error, Result, SystemClock, Tracer};
use semel_inbox::engine::Solo;
use semel_inbox::{Consumer, Handler, NoObserver, Observer, Rule};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::source::{KafkaSource, Options};
use crate::url;

/// How long handlers that run may take to finish at the end, unless it is said otherwise.
const DRAIN: Duration = Duration::from_secs(10);

/// A consumer of one topic whose processed ids are in another one. See the [module](self).
#[must_use]
pub struct ProcessedLog {
    options: Options,
    topics: Topics,
    consumer: Consumer,
    rule: Rule,
    clock: Arc<dyn Clock>,
    watch: Arc<dyn Observer>,
    tracer: Tracer,
    drain: Duration,
}

/// The topics that are written.
#[derive(Debug, Clone)]
struct Topics {
    log: Arc<str>,
    dead: Arc<str>,
    /// By the names that handlers use.
    targets: BTreeMap<String, Arc<str>>,
}

/// Whether a target's URL is one topic at the brokers of a source's, so that handlers of [`ProcessedLog`] can publish to it.
pub fn are_beside(source: &str, target: &str) -> bool {
    let addresses = url::parse(source).ok().zip(url::parse(target).ok());
    addresses.is_some_and(|((source, _), (target, _))| target.is_beside(&source))
}

impl Topics {
    /// The topics that are written besides the log.
    fn written(&self) -> Vec<Arc<str>> {
        let dead = std::iter::once(&self.dead);
        dead.chain(self.targets.values()).cloned().collect()
    }
}

impl ProcessedLog {
    /// A consumer of the topic that a URL names, with the topics of its log and of its dead letters at the same brokers. Nothing is connected yet.
    ///
    /// # Errors
    /// A URL that is none of Kafka or names several topics, or topics that cannot be names or are not different.
    pub fn new(url: &str, log: &str, dead: &str, consumer: Consumer) -> Result<Self> {
        let options = Options::parse(url, &consumer.name().to_string())?;
        let [topic] = &options.address.topics[..] else {
            return Err(Error::invalid(
                "a log of processed ids belongs to one topic, because its partitions have the numbers of that topic's",
            ));
        };
        for name in [log, dead] {
            url::check_topic(name)?;
        }
        if topic == log || topic == dead || log == dead {
            return Err(Error::invalid(
                "the topic that is read, its log of processed ids and its dead letters are three topics",
            ));
        }
        Ok(Self {
            options: options.transactional(dead),
            topics: Topics {
                log: log.into(),
                dead: dead.into(),
                targets: BTreeMap::new(),
            },
            consumer,
            rule: Rule::broker(),
            clock: Arc::new(SystemClock::new()),
            watch: Arc::new(NoObserver),
            tracer: Tracer::off(),
            drain: DRAIN,
        })
    }

    /// Where a message says who it is; what producers of brokers send by default.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    /// Lets handlers publish to a topic of the same brokers, by intents of this target.
    pub fn target(mut self, name: &str, topic: &str) -> Self {
        self.topics.targets.insert(name.to_owned(), topic.into());
        self
    }

    /// The same for a target by its URL; one at other brokers, or of several topics, is not for these handlers and is left out.
    pub fn target_at(self, name: &str, url: &str) -> Self {
        match url::parse(url) {
            Ok((address, _)) if address.is_beside(&self.options.address) => {
                let topic = address.topics[0].clone();
                self.target(name, &topic)
            }
            _ => self,
        }
    }

    /// With another clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Reports messages and attempts.
    pub fn watch(mut self, watch: Arc<dyn Observer>) -> Self {
        self.watch = watch;
        self
    }

    /// With what begins the spans of attempts.
    pub fn traced(mut self, tracer: Tracer) -> Self {
        self.tracer = tracer;
        self
    }

    /// How long handlers that run may take to finish at the end; ten seconds by default.
    pub const fn drain(mut self, drain: Duration) -> Self {
        self.drain = drain;
        self
    }

    /// Joins the group and begins, in a task of its own that goes on until [`RunningLog::shutdown`].
    ///
    /// # Errors
    /// A target whose name or topic cannot be one.
    pub fn start(self, handler: Arc<dyn Handler>) -> Result<RunningLog> {
        let targets: Vec<&str> = self.topics.targets.keys().map(String::as_str).collect();
        for topic in self.topics.targets.values() {
            url::check_topic(topic)?;
        }
        let solo = Solo::new(self.consumer, handler, &targets, self.clock, self.watch)?;
        let solo = solo.traced(self.tracer);
        let (stop, stopping) = watch::channel(false);
        let run = run::Run::new(run::Parts {
            source: Arc::new(KafkaSource::new(self.options.clone())),
            options: self.options,
            topics: self.topics,
            rule: self.rule,
            solo: Arc::new(solo),
            drain: self.drain,
            stopping,
        });
        let task = tokio::spawn(run.run());
        Ok(RunningLog { stop, task })
    }
}

/// A consumer at work. Dropping it ends it without waiting.
pub struct RunningLog {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl RunningLog {
    /// Begins nothing more, lets handlers finish, commits, and leaves the group.
    pub async fn shutdown(self) {
        let _ = self.stop.send(true);
        if let Err(error) = self.task.await {
            tracing::error!(%error, "a consumer with a log of processed ids ended badly");
        }
    }
}

impl std::fmt::Debug for RunningLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunningLog").finish_non_exhaustive()
    }
}
