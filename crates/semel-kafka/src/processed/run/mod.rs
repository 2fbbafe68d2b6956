//! The task: takes deliveries, runs what is new, and acknowledges with what is published.
//!
//! Nothing in its loop waits for the broker or for a handler: `loads` reads logs and `check` asks about topics beside it.

mod check;
mod loads;
mod publish;
mod receive;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{Disposition, Message, Receipt, State};
use semel_core::{Error, Fence, Result};
use semel_inbox::Rule;
use semel_inbox::engine::Solo;
use semel_inbox::source::{Gone, OPEN_MAX, Partition, Source as _, Want};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::Topics;
use super::board::Board;
use super::ids::Ids;
use super::lanes::{Job, Lanes};
use crate::facts::Inspector;
use crate::source::{KafkaSource, Options};
use check::Check;
use loads::Loads;

/// The most deliveries that are asked for at once.
const BATCH: usize = 500;
/// The most bytes that are asked for at once.
const BYTES: usize = 8 * 1024 * 1024;
/// The pause after something failed, and after something that does not pass by itself.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];
/// How often the topics are looked at, as an engine does for its sources.
const CHECK: Duration = Duration::from_secs(30);

/// What the task is made of.
pub(super) struct Parts {
    pub(super) source: Arc<KafkaSource>,
    pub(super) options: Options,
    pub(super) topics: Topics,
    pub(super) rule: Rule,
    pub(super) solo: Arc<Solo>,
    pub(super) drain: Duration,
    pub(super) stopping: watch::Receiver<bool>,
}

/// A partition that is ours.
struct Owned {
    ids: Ids,
    /// Says to what waits for its next attempt that the partition goes.
    leaving: watch::Sender<bool>,
}

/// How a message's attempts ended.
enum Ended {
    Disposition(Box<Disposition>),
    /// The partition goes, or it is time to stop.
    Left,
}

/// Partitions that go, and the source that waits until nothing of them runs.
struct Leaving {
    partitions: Vec<i32>,
    /// The last delivery before they went. The source waits only for a time; later ones may be of another assignment of the same partitions.
    last: u64,
    flushed: oneshot::Sender<()>,
}

pub(super) struct Run {
    parts: Parts,
    owned: HashMap<i32, Owned>,
    board: Board,
    lanes: Lanes,
    runs: JoinSet<(Job, Ended)>,
    leaving: Vec<Leaving>,
    loads: Loads,
    check: Arc<Check>,
    checks: JoinSet<Result<Vec<String>>>,
    /// Why nothing more is taken: ids would be forgotten too early.
    refused: Option<Error>,
    /// What an operator was told last.
    advice: Vec<String>,
    /// Numbers attempts, so that a later one of this process has a higher fence.
    fence: u64,
}

impl Run {
    pub(super) fn new(parts: Parts) -> Self {
        // Fences of a later process are higher, as far as clocks go.
        let now_ms = u64::try_from(parts.solo.clock().now().as_millis()).unwrap_or_default();
        let check = Arc::new(Check {
            source: parts.source.clone(),
            options: parts.options.clone(),
            log: parts.topics.log.clone(),
            written: parts.topics.written(),
            inspector: Inspector::new(parts.options.of_topic(&parts.topics.log)),
            keep: parts.solo.consumer().plan.retention.keep(),
        });
        Self {
            fence: now_ms << 16,
            check,
            parts,
            owned: HashMap::new(),
            board: Board::default(),
            lanes: Lanes::default(),
            runs: JoinSet::new(),
            leaving: Vec::new(),
            loads: Loads::new(),
            checks: JoinSet::new(),
            refused: None,
            advice: Vec::new(),
        }
    }

    pub(super) async fn run(mut self) {
        let mut stopping = self.parts.stopping.clone();
        tokio::select! {
            _ = stopping.wait_for(|stop| *stop) => {}
            () = self.work() => {}
        }
        self.drain().await;
        if let Err(error) = self.parts.source.close().await {
            tracing::warn!(consumer = %self.consumer(), %error, "the group was not left well; what was done last may run again");
        }
    }

    async fn work(&mut self) {
        self.open().await;
        let (mut asks_at, mut expires_at) = (Instant::now(), Instant::now());
        let mut checks_at = Instant::now() + CHECK;
        loop {
            self.start();
            let (source, want) = (self.parts.source.clone(), self.want());
            let next = async {
                sleep_until(asks_at).await;
                source.next(want).await
            };
            tokio::select! {
                Some(ended) = self.runs.join_next() => match ended {
                    Ok((job, ended)) => self.ended(&job, ended),
                    Err(error) => tracing::error!(%error, "an attempt ended badly"),
                },
                Some(loaded) = self.loads.next() => self.loaded(loaded),
                Some(checked) = self.checks.join_next() => {
                    self.checked(checked.unwrap_or_else(|error| Err(ended_badly(&error))));
                }
                event = next => match event {
                    Ok(event) => self.event(event),
                    Err(error) => {
                        asks_at = Instant::now() + self.failed("Kafka cannot be read", &error);
                    }
                },
                () = sleep_until(checks_at) => {
                    checks_at = Instant::now() + CHECK;
                    self.check_again();
                }
                () = sleep_until(expires_at) => expires_at = Instant::now() + self.expire(),
            }
        }
    }

    /// Opens the source, once its topics are such that ids are remembered for long enough.
    async fn open(&mut self) {
        loop {
            let opened = match self.check.clone().ask().await {
                Ok(advice) => {
                    self.advise(advice);
                    self.parts.source.open(Vec::new()).await
                }
                Err(error) => Err(error),
            };
            match opened {
                Ok(()) => return,
                Err(error) => {
                    sleep(self.failed("a consumer with a log cannot begin", &error)).await;
                }
            }
        }
    }

    /// How much is asked for: nothing while it could not be remembered.
    fn want(&self) -> Want {
        if self.refused.is_some() || self.owned.values().any(|owned| owned.ids.is_full()) {
            return Want::NOTHING;
        }
        let room = OPEN_MAX.saturating_sub(self.board.len() + self.loads.len());
        Want {
            count: room.min(BATCH),
            bytes: BYTES,
        }
    }

    /// Looks at the topics again, and says what keeps deliveries from being taken.
    fn check_again(&mut self) {
        if self.checks.is_empty() {
            self.checks.spawn(self.check.clone().ask());
        }
        let full = self.owned.iter().filter(|(_, owned)| owned.ids.is_full());
        for (partition, _) in full {
            let consumer = self.consumer();
            tracing::error!(%consumer, partition, "nothing is taken: a partition has as many processed ids as can be remembered, until some expire");
        }
    }

    fn checked(&mut self, checked: Result<Vec<String>>) {
        match checked {
            Ok(advice) => {
                self.refused = None;
                self.advise(advice);
            }
            // The broker is away or slow: it says nothing new.
            Err(error) if error.is_retryable() => {
                tracing::warn!(consumer = %self.consumer(), %error, "topics cannot be looked at");
            }
            Err(error) => {
                tracing::error!(consumer = %self.consumer(), %error, "nothing is taken until the topics are right again");
                self.refused = Some(error);
            }
        }
    }

    /// Tells an operator what is new.
    fn advise(&mut self, advice: Vec<String>) {
        for warning in advice.iter().filter(|one| !self.advice.contains(one)) {
            tracing::warn!(consumer = %self.consumer(), warning);
        }
        self.advice = advice;
    }

    /// Says an error; how long to wait before it is tried again.
    fn failed(&self, what: &str, error: &Error) -> Duration {
        let pause = PAUSES[usize::from(!error.is_retryable())];
        tracing::warn!(consumer = %self.consumer(), %error, pause_ms = pause.as_millis(), "{what}");
        pause
    }

    fn start(&mut self) {
        let workers = self.parts.solo.consumer().workers;
        while let Some(job) = self.lanes.start(workers) {
            // The source may have lost the partition and not said so yet.
            let holds = |handle: &_| self.parts.source.holds(handle);
            if !self.board.is_held(job.delivery, holds) {
                self.lanes.ended(&job);
                self.give_up(&job);
                continue;
            }
            let state = State::Received;
            let watch = self.parts.solo.watch();
            watch.received(&job.message, Receipt::Stored { state });
            self.fence += 1;
            let solo = self.parts.solo.clone();
            let leaving = match self.owned.get(&job.partition) {
                Some(owned) => owned.leaving.subscribe(),
                None => watch::channel(true).1,
            };
            let fence = Fence::new(self.fence);
            self.runs.spawn(async move {
                let ended = tried(&solo, &job.message, fence, leaving).await;
                (job, ended)
            });
        }
    }

    fn ended(&mut self, job: &Job, ended: Ended) {
        self.lanes.ended(job);
        match ended {
            Ended::Disposition(disposition) => self.disposed(job, *disposition),
            Ended::Left => self.give_up(job),
        }
        self.flush();
    }

    /// A message whose delivery is gone: it comes again, here or elsewhere.
    fn give_up(&mut self, job: &Job) {
        self.let_go(&job.digest);
    }

    fn let_go(&mut self, digest: &super::ids::Digest) {
        for job in self.lanes.let_go(digest) {
            self.submit(job);
        }
    }

    /// Partitions go: what waits of them is forgotten, and what runs may finish, if the source waits for it.
    fn lose(&mut self, gone: Gone) {
        let numbers: Vec<i32> = gone.partitions.iter().filter_map(number).collect();
        for number in &numbers {
            if let Some(owned) = self.owned.remove(number) {
                owned.leaving.send_replace(true);
            }
        }
        self.loads.lose(&numbers);
        for job in self.lanes.lose(&numbers) {
            self.submit(job);
        }
        let (partitions, last) = (numbers, self.board.last());
        match gone.flushed {
            Some(flushed) => self.leaving.push(Leaving {
                partitions,
                last,
                flushed,
            }),
            None => self.forget(&partitions, last),
        }
        self.flush();
    }

    fn forget(&mut self, partitions: &[i32], last: u64) {
        for digest in self.board.lose(partitions, last) {
            self.let_go(&digest);
        }
    }

    /// Tells the source of partitions of which nothing runs any more.
    fn flush(&mut self) {
        let (board, lanes) = (&self.board, &self.lanes);
        let is_running = |one: &mut Leaving| {
            lanes.is_running(|delivery| {
                delivery <= one.last && board.is_of(delivery, &one.partitions)
            })
        };
        let done: Vec<Leaving> = self
            .leaving
            .extract_if(.., |one| !is_running(one))
            .collect();
        for one in done {
            self.forget(&one.partitions, one.last);
            // A source that no longer waits goes on by itself.
            let _ = one.flushed.send(());
        }
    }

    /// Lets what runs finish; what waits for its next attempt does not.
    async fn drain(&mut self) {
        let until = Instant::now() + self.parts.drain;
        for owned in self.owned.values() {
            owned.leaving.send_replace(true);
        }
        while !self.lanes.is_idle() {
            match timeout_at(until, self.runs.join_next()).await {
                Ok(Some(Ok((job, ended)))) => self.ended(&job, ended),
                Ok(Some(Err(error))) => tracing::error!(%error, "an attempt ended badly"),
                Ok(None) | Err(_) => break,
            }
        }
        self.runs.abort_all();
    }

    fn consumer(&self) -> &semel_core::Scope {
        self.parts.solo.consumer().name()
    }
}

/// Tries a message until it is done, has failed for good, or its partition goes while it waits.
async fn tried(
    solo: &Solo,
    message: &Arc<Message>,
    fence: Fence,
    mut leaving: watch::Receiver<bool>,
) -> Ended {
    let mut attempt = 1;
    loop {
        let disposition = solo.attempt(message.clone(), attempt, fence).await;
        let after = match &disposition {
            Disposition::Retry { after, .. } => {
                attempt += 1;
                *after
            }
            Disposition::NotReached { after, .. } => *after,
            _ => return Ended::Disposition(Box::new(disposition)),
        };
        tokio::select! {
            biased;
            _ = leaving.wait_for(|leaving| *leaving) => return Ended::Left,
            () = sleep(after) => {}
        }
    }
}

/// The number of a partition, which its name ends with.
fn number(partition: &Partition) -> Option<i32> {
    partition.as_str().rsplit('/').next()?.parse().ok()
}

async fn blocking<T: Send + 'static>(
    act: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let ended = spawn_blocking(act).await;
    ended.unwrap_or_else(|error| Err(ended_badly(&error)))
}

fn ended_badly(error: &tokio::task::JoinError) -> Error {
    Error::new(semel_core::Kind::Internal, error.to_string())
}

#[cfg(test)]
mod tests;
