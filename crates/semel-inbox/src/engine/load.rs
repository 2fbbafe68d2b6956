//! How much work one consumer has in this process, and how much it can take.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use semel_core::inbox::BATCH_MAX;
use tokio::sync::Notify;

/// Work is claimed so far ahead that workers do not wait for the store, but no further: what waits here cannot run elsewhere.
const AHEAD: Duration = Duration::from_millis(100);
/// The most that is claimed ahead.
const AHEAD_MAX: usize = 256;

/// What a consumer has claimed and not yet handed to its finisher.
#[derive(Debug)]
pub(super) struct Load {
    workers: usize,
    claimed: AtomicUsize,
    /// A sliding mean of how long handlers take, in microseconds; 0 before the first.
    pace_us: AtomicU64,
    freed: Notify,
}

impl Load {
    pub(super) fn new(workers: usize) -> Self {
        Self {
            workers,
            claimed: AtomicUsize::new(0),
            pace_us: AtomicU64::new(0),
            freed: Notify::new(),
        }
    }

    /// Waits until so much can be claimed that it is worth asking; how much that is.
    pub(super) async fn room(&self) -> usize {
        loop {
            let freed = self.freed.notified();
            let (ahead, claimed) = (self.ahead(), self.claimed.load(Ordering::Acquire));
            let room = (self.workers + ahead).saturating_sub(claimed);
            // Asking for each place that becomes free would be a round trip per message.
            if room > ahead / 2 {
                return room.min(BATCH_MAX);
            }
            freed.await;
        }
    }

    pub(super) fn claimed(&self, jobs: usize) {
        self.claimed.fetch_add(jobs, Ordering::AcqRel);
    }

    /// One attempt has ended.
    pub(super) fn ended(&self, took: Duration) {
        let took = u64::try_from(took.as_micros()).unwrap_or(u64::MAX).max(1);
        let mean = match self.pace_us.load(Ordering::Relaxed) {
            0 => took,
            mean => mean - mean / 8 + took / 8,
        };
        self.pace_us.store(mean.max(1), Ordering::Relaxed);
        self.given_back();
    }

    /// One claim has ended without an attempt.
    pub(super) fn given_back(&self) {
        self.claimed.fetch_sub(1, Ordering::AcqRel);
        self.freed.notify_one();
    }

    /// How much to claim beyond what can run at once: what the workers do in [`AHEAD`].
    fn ahead(&self) -> usize {
        match self.pace_us.load(Ordering::Relaxed) {
            0 => 0,
            pace => {
                let each = AHEAD.as_micros() as u64 / pace;
                let all = usize::try_from(each).unwrap_or(usize::MAX);
                all.saturating_mul(self.workers).min(AHEAD_MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn slow_handlers_claim_nothing_ahead_and_fast_ones_do() {
        let load = Load::new(4);
        assert_eq!(load.room().await, 4);
        load.claimed(4);
        load.ended(Duration::from_secs(2));
        assert_eq!(load.room().await, 1);
        let fast = Load::new(4);
        fast.claimed(1);
        fast.ended(Duration::from_micros(50));
        assert_eq!(fast.room().await, 4 + AHEAD_MAX);
    }

    #[tokio::test]
    async fn without_room_nothing_is_asked_for_until_something_ends() {
        let load = Load::new(1);
        load.claimed(1);
        let waits = tokio::time::timeout(Duration::from_millis(5), load.room()).await;
        assert!(waits.is_err());
        load.given_back();
        assert_eq!(load.room().await, 1);
    }
}
