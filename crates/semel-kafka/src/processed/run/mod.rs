//! The task: takes deliveries, runs what is new, and acknowledges with what is published.

mod publish;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use semel_core::inbox::{Disposition, Message, Receipt, State};
use semel_core::{Error, Fence, Result, duration};
use semel_inbox::Rule;
use semel_inbox::engine::Solo;
use semel_inbox::source::{
    Batch, Delivery, Event, Gone, OPEN_MAX, Partition, Retained, Source as _, Want,
};
use tokio::sync::{oneshot, watch};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};

use super::Topics;
use super::board::Board;
use super::ids::{Ids, Seen};
use super::lanes::{Job, Lanes};
use super::load;
use super::record;
use crate::facts::Inspector;
use crate::source::{KafkaSource, Options};

/// The most deliveries that are asked for at once.
const BATCH: usize = 500;
/// The most bytes that are asked for at once.
const BYTES: usize = 8 * 1024 * 1024;
/// The pause after something failed, and after something that does not pass by itself.
const PAUSES: [Duration; 2] = [Duration::from_millis(500), Duration::from_secs(30)];
/// How often expired ids are forgotten.
const EXPIRY: Duration = Duration::from_secs(5);

/// What the task is made of.
pub(super) struct Parts {
    pub(super) source: KafkaSource,
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
type Leaving = (Vec<i32>, oneshot::Sender<()>);

pub(super) struct Run {
    parts: Parts,
    owned: HashMap<i32, Owned>,
    board: Board,
    lanes: Lanes,
    runs: JoinSet<(Job, Ended)>,
    leaving: Vec<Leaving>,
    /// Numbers attempts, so that a later one of this process has a higher fence.
    fence: u64,
}

impl Run {
    pub(super) fn new(parts: Parts) -> Self {
        // Fences of a later process are higher, as far as clocks go.
        let now_ms = u64::try_from(parts.solo.clock().now().as_millis()).unwrap_or_default();
        Self {
            fence: now_ms << 16,
            parts,
            owned: HashMap::new(),
            board: Board::default(),
            lanes: Lanes::default(),
            runs: JoinSet::new(),
            leaving: Vec::new(),
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
        let mut expiry = interval(EXPIRY);
        expiry.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            self.start();
            let room = OPEN_MAX.saturating_sub(self.board.len());
            let want = Want {
                count: room.min(BATCH),
                bytes: BYTES,
            };
            tokio::select! {
                Some(ended) = self.runs.join_next() => match ended {
                    Ok((job, ended)) => self.ended(&job, ended),
                    Err(error) => tracing::error!(%error, "an attempt ended badly"),
                },
                event = self.parts.source.next(want) => match event {
                    Ok(event) => self.event(event).await,
                    Err(error) => self.failed("Kafka cannot be read", &error).await,
                },
                _ = expiry.tick() => self.expire(),
            }
        }
    }

    /// Opens the source, once its topics are such that ids are remembered for long enough.
    async fn open(&self) {
        loop {
            match self.try_open().await {
                Ok(()) => return,
                Err(error) => {
                    self.failed("a consumer with a log cannot begin", &error)
                        .await
                }
            }
        }
    }

    async fn try_open(&self) -> Result<()> {
        let (options, log) = (self.parts.options.clone(), self.parts.topics.log.clone());
        let keep = self.parts.solo.consumer().plan.retention.keep();
        self.remembers(&log, keep).await?;
        blocking(move || load::check(&options, &log)).await?;
        self.parts.source.open(Vec::new()).await?;
        let facts = self.parts.source.facts().await?;
        for warning in &facts.warnings {
            tracing::warn!(consumer = %self.consumer(), warning);
        }
        match facts.refusal(keep, true) {
            Some(why) => Err(Error::invalid(why)),
            None => Ok(()),
        }
    }

    /// Refuses a log that forgets ids before their retention ends.
    async fn remembers(&self, log: &str, keep: Duration) -> Result<()> {
        let inspector = Inspector::new(self.parts.options.of_topic(log));
        match inspector.retained().await? {
            Some(Retained::For(kept)) if kept < keep => Err(Error::invalid(format!(
                "the log {log:?} forgets ids after {}, and they are to be remembered for {}: it needs cleanup.policy=compact",
                duration::show(kept),
                duration::show(keep)
            ))),
            _ => Ok(()),
        }
    }

    async fn failed(&self, what: &str, error: &Error) {
        let pause = PAUSES[usize::from(!error.is_retryable())];
        tracing::warn!(consumer = %self.consumer(), %error, pause_ms = pause.as_millis(), "{what}");
        sleep(pause).await;
    }

    async fn event(&mut self, event: Event) {
        match event {
            Event::Batch(Batch { deliveries, .. }) => {
                for delivery in deliveries {
                    self.delivered(delivery).await;
                }
            }
            Event::Gone(gone) => self.lose(gone),
            _ => {}
        }
    }

    async fn delivered(&mut self, delivery: Delivery) {
        let Delivery { raw, handle, .. } = delivery;
        // Every message of Kafka has a partition.
        let partition = raw.origin.partition.unwrap_or_default();
        self.own(partition).await;
        let messages = self.parts.rule.messages(self.parts.solo.consumer(), &raw);
        let raw = Arc::new(raw);
        let count = messages.len();
        let delivery = self.board.add(handle, raw, partition, count);
        for message in messages {
            let job = Job {
                delivery,
                partition,
                digest: record::digest(&message),
                fingerprint: record::fingerprint(&message),
                message: Arc::new(message),
            };
            self.submit(job);
        }
    }

    /// Reads the log of a partition before anything of it runs, however long that takes.
    async fn own(&mut self, partition: i32) {
        while !self.owned.contains_key(&partition) {
            let (options, log) = (self.parts.options.clone(), self.parts.topics.log.clone());
            match blocking(move || load::load(&options, &log, partition)).await {
                Ok(ids) => {
                    let (consumer, count) = (self.consumer(), ids.len());
                    tracing::info!(%consumer, partition, ids = count, "the log of a partition was read");
                    let (leaving, _) = watch::channel(false);
                    self.owned.insert(partition, Owned { ids, leaving });
                }
                Err(error) => {
                    self.failed(
                        "nothing of a partition runs, because its log cannot be read",
                        &error,
                    )
                    .await
                }
            }
        }
    }

    /// Looks a message up: what is known does not run.
    fn submit(&mut self, job: Job) {
        let Some(owned) = self.owned.get(&job.partition) else {
            return;
        };
        let watch = self.parts.solo.watch();
        match owned.ids.seen(&job.digest, job.fingerprint) {
            Seen::Duplicate => {
                let state = State::Completed;
                watch.received(&job.message, Receipt::Duplicate { state });
                self.dealt_with(&job);
            }
            Seen::Conflict => {
                watch.received(&job.message, Receipt::Conflict);
                let why = "the id is known with another content";
                self.dead(&job, "conflict", why);
            }
            Seen::New => match job.message.unreadable() {
                Some(why) => {
                    let why = why.to_owned();
                    self.dead(&job, "unreadable", &why);
                }
                None => self.lanes.add(job),
            },
        }
    }

    fn start(&mut self) {
        let workers = self.parts.solo.consumer().workers;
        while let Some(job) = self.lanes.start(workers) {
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
        for job in self.lanes.lose(&numbers) {
            self.submit(job);
        }
        match gone.flushed {
            Some(flushed) => self.leaving.push((numbers, flushed)),
            None => self.forget(&numbers),
        }
        self.flush();
    }

    fn forget(&mut self, partitions: &[i32]) {
        for digest in self.board.lose(partitions) {
            self.let_go(&digest);
        }
    }

    /// Tells the source of partitions of which nothing runs any more.
    fn flush(&mut self) {
        let (board, lanes) = (&self.board, &self.lanes);
        let is_running = |(numbers, _): &mut Leaving| {
            lanes.is_running(|delivery| board.is_of(delivery, numbers))
        };
        let done: Vec<Leaving> = self
            .leaving
            .extract_if(.., |one| !is_running(one))
            .collect();
        for (numbers, flushed) in done {
            self.forget(&numbers);
            // A source that no longer waits goes on by itself.
            let _ = flushed.send(());
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
    ended.unwrap_or_else(|error| Err(Error::new(semel_core::Kind::Internal, error.to_string())))
}
