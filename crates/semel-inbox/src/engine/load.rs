//! How much work one consumer has in this process, and how much it can take.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::inbox::BATCH_MAX;
use tokio::sync::Notify;
use tokio::time::Instant;

/// Work is claimed so far ahead that workers do not wait for the store, but no further: what waits here cannot run elsewhere.
const AHEAD: Duration = Duration::from_millis(100);
/// The most that is claimed ahead.
const AHEAD_MAX: usize = 256;
/// The most bytes of payload that are claimed at the same time, unless a single message has more.
const BYTES_MAX: usize = 32 * 1024 * 1024;
/// A handler that takes so many times the mean does not count as one that will soon be free.
const SLOW: u32 = 4;

/// What a consumer has claimed and not yet handed to its finisher.
#[derive(Debug)]
pub(super) struct Load {
    workers: usize,
    held: Mutex<Held>,
    freed: Notify,
}

#[derive(Debug, Default)]
struct Held {
    claimed: usize,
    bytes: usize,
    /// When attempts began, the oldest first.
    running: BTreeMap<u64, Instant>,
    begun: u64,
    /// A sliding mean of how long handlers take; zero before the first.
    pace: Duration,
}

/// How much may be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Room {
    pub(super) jobs: usize,
    pub(super) bytes: usize,
}

/// An attempt that has begun.
#[derive(Debug)]
pub(super) struct Begun(u64);

impl Load {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers,
            held: Mutex::default(),
            freed: Notify::new(),
        }
    }

    /// Waits until so much can be claimed that it is worth asking; how much that is.
    pub(super) async fn room(&self) -> Room {
        loop {
            let freed = self.freed.notified();
            if let Some(room) = self.room_now() {
                return room;
            }
            freed.await;
        }
    }

    fn room_now(&self) -> Option<Room> {
        let held = self.held();
        let ahead = held.ahead(self.workers);
        let jobs = (self.workers + ahead).saturating_sub(held.claimed);
        let bytes = BYTES_MAX.saturating_sub(held.bytes);
        // Asking for each place that becomes free would be a round trip per message.
        (jobs > ahead / 2 && bytes > 0).then(|| Room {
            jobs: jobs.min(BATCH_MAX),
            bytes,
        })
    }

    /// How many are claimed and have not begun.
    pub(super) fn waiting(&self) -> usize {
        let held = self.held();
        held.claimed.saturating_sub(held.running.len())
    }

    pub(super) fn claimed(&self, bytes: usize) {
        let mut held = self.held();
        held.claimed += 1;
        held.bytes += bytes;
    }

    /// One attempt begins.
    pub(super) fn begun(&self) -> Begun {
        let mut held = self.held();
        held.begun += 1;
        let number = held.begun;
        held.running.insert(number, Instant::now());
        Begun(number)
    }

    /// One attempt has ended, whose message has so many bytes.
    pub(super) fn ended(&self, begun: Begun, bytes: usize) {
        let mut held = self.held();
        if let Some(began) = held.running.remove(&begun.0) {
            let took = began.elapsed().max(Duration::from_micros(1));
            held.pace = match held.pace {
                Duration::ZERO => took,
                pace => pace - pace / 8 + took / 8,
            };
        }
        drop(held);
        self.given_back(bytes);
    }

    /// One claim has ended without an attempt, or after it.
    pub(super) fn given_back(&self, bytes: usize) {
        let mut held = self.held();
        held.claimed = held.claimed.saturating_sub(1);
        held.bytes = held.bytes.saturating_sub(bytes);
        drop(held);
        self.freed.notify_one();
    }

    fn held(&self) -> MutexGuard<'_, Held> {
        // Numbers are whole after every statement, so a poisoned lock protects nothing.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Held {
    /// How much to claim beyond what can run at once: what the workers that are not held up do in [`AHEAD`].
    fn ahead(&self, workers: usize) -> usize {
        if self.pace.is_zero() {
            return 0;
        }
        let slow = AHEAD.max(self.pace * SLOW);
        let running = self.running.values();
        let held_up = running.take_while(|began| began.elapsed() > slow).count();
        let each = AHEAD.as_nanos() / self.pace.as_nanos().max(1);
        let all = usize::try_from(each).unwrap_or(usize::MAX);
        all.saturating_mul(workers.saturating_sub(held_up))
            .min(AHEAD_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::time::advance;

    /// One attempt that takes so long.
    async fn attempt(load: &Load, took: Duration) {
        load.claimed(0);
        let begun = load.begun();
        advance(took).await;
        load.ended(begun, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_handlers_claim_nothing_ahead_and_fast_ones_do() {
        let load = Load::new(4);
        assert_eq!(load.room().await.jobs, 4);
        attempt(&load, Duration::from_secs(2)).await;
        assert_eq!(load.room().await.jobs, 4);
        let fast = Load::new(4);
        attempt(&fast, Duration::from_micros(50)).await;
        assert_eq!(fast.room().await.jobs, 4 + AHEAD_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn fast_handlers_that_begin_to_hang_claim_nothing_ahead_any_more() {
        let load = Load::new(4);
        attempt(&load, Duration::from_micros(50)).await;
        let hanging: Vec<Begun> = (0..4)
            .map(|_| {
                load.claimed(0);
                load.begun()
            })
            .collect();
        assert_eq!(load.room_now().map(|room| room.jobs), Some(AHEAD_MAX));
        advance(AHEAD * 2).await;
        assert_eq!(load.room_now(), None);
        // One that ends is one that works.
        for begun in hanging.into_iter().take(1) {
            load.ended(begun, 0);
        }
        assert!(load.room_now().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn without_room_nothing_is_asked_for_until_something_ends() {
        let load = Load::new(1);
        load.claimed(7);
        let waits = tokio::time::timeout(Duration::from_millis(5), load.room()).await;
        assert!(waits.is_err());
        load.given_back(7);
        assert_eq!(load.room().await.jobs, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn bytes_are_bounded_as_well() {
        let load = Load::new(8);
        load.claimed(BYTES_MAX - 1);
        assert_eq!(load.room().await, Room { jobs: 7, bytes: 1 });
        load.claimed(5);
        assert_eq!(load.room_now(), None);
        load.given_back(5);
        assert_eq!(load.room().await.bytes, 1);
    }
}
