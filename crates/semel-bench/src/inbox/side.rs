//! One side of a comparison: a queue, and which letters it was given so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use semel_core::Result;
use semel_core::inbox::BATCH_MAX;

use super::letter::Letter;
use super::load::drive;
use super::options::InboxOptions;
use crate::baseline::inbox::Queue;
use crate::load::Measured;
use crate::sample::mix;

/// What is not measured takes all the time it needs.
const UNHURRIED: Duration = Duration::MAX;
/// How many work at once when nobody measures.
const FILLERS: usize = 2;

/// A queue with its letters: those numbered below `next` were given to it, and `waiting` of them are not dealt with.
#[derive(Debug, Clone)]
pub(crate) struct Side {
    queue: Arc<dyn Queue>,
    seed: u64,
    next: Arc<AtomicU64>,
    waiting: Arc<AtomicU64>,
}

impl Side {
    /// An empty queue; another `seed` gives other letters.
    pub(crate) fn new(queue: Arc<dyn Queue>, seed: u64) -> Self {
        Self {
            queue,
            seed: mix(seed),
            next: Arc::default(),
            waiting: Arc::default(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.queue.name()
    }

    /// Receives batch after batch until the turn is over or as many as a turn has were received.
    pub(crate) async fn receive(&self, options: &InboxOptions) -> Result<Measured> {
        let (side, batch) = (self.clone(), options.batch);
        let budget = Arc::new(AtomicU64::new(options.messages as u64));
        drive(options.workers, options.turn, move || {
            let (side, count) = (side.clone(), taken(&budget, batch));
            async move { side.receive_batch(count).await }
        })
        .await
    }

    /// Receives what is missing to `wanted` waiting messages. Nobody measures it, so batches are as large as they may be.
    pub(crate) async fn fill(&self, wanted: usize) -> Result<()> {
        let missing = (wanted as u64).saturating_sub(self.waiting());
        let (side, budget) = (self.clone(), Arc::new(AtomicU64::new(missing)));
        drive(FILLERS, UNHURRIED, move || {
            let (side, count) = (side.clone(), taken(&budget, BATCH_MAX));
            async move { side.receive_batch(count).await }
        })
        .await
        .map(drop)
    }

    /// Claims and completes batch after batch until the turn is over or nothing waits.
    pub(crate) async fn deal(&self, options: &InboxOptions, batch: usize) -> Result<Measured> {
        self.deal_for(options.turn, options.workers, batch).await
    }

    /// Completes whatever waits.
    pub(crate) async fn empty(&self) -> Result<()> {
        self.deal_for(UNHURRIED, FILLERS, BATCH_MAX).await.map(drop)
    }

    async fn deal_for(&self, turn: Duration, workers: usize, batch: usize) -> Result<Measured> {
        let side = self.clone();
        drive(workers, turn, move || {
            let side = side.clone();
            async move { side.deal_batch(batch).await }
        })
        .await
    }

    /// Claims and completes one batch; how many messages it had.
    pub(crate) async fn deal_batch(&self, batch: usize) -> Result<usize> {
        let count = self.queue.deal(batch).await?;
        self.dealt(count as u64);
        Ok(count)
    }

    /// Notes that so many messages were completed.
    pub(crate) fn dealt(&self, count: u64) {
        self.waiting.fetch_sub(count, Ordering::Relaxed);
    }

    /// How many messages wait.
    pub(crate) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How many letters were given so far.
    pub(crate) fn given(&self) -> u64 {
        self.next.load(Ordering::Relaxed)
    }

    /// The next `count` letters, which nobody was given before.
    pub(crate) fn letters(&self, count: usize) -> Vec<Letter> {
        let first = self.next.fetch_add(count as u64, Ordering::Relaxed);
        let numbers = first..first + count as u64;
        numbers.map(|n| Letter::new(self.seed, n)).collect()
    }

    async fn receive_batch(&self, count: usize) -> Result<usize> {
        if count > 0 {
            // Before it is there: somebody may deal with it at once.
            self.waiting.fetch_add(count as u64, Ordering::Relaxed);
            self.queue.receive(self.letters(count)).await?;
        }
        Ok(count)
    }
}

/// Takes up to `max` from what is left.
fn taken(left: &AtomicU64, max: usize) -> usize {
    let take = |left: u64| Some(left - left.min(max as u64));
    let before = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take);
    before.map_or(0, |before| before.min(max as u64) as usize)
}
