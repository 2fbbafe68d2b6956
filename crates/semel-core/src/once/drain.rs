//! Waits for runs that go on after their callers have left.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::timeout;

use super::{Once, Shared};

/// Counts the claims of this process that are being asked for, run under or recorded.
#[derive(Debug, Default)]
pub(super) struct Live {
    count: AtomicUsize,
    /// The count has come to zero.
    none_left: Notify,
}

/// One claim, counted until this is dropped.
#[derive(Debug)]
pub(super) struct Counted(Arc<Shared>);

impl Counted {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        shared.live.count.fetch_add(1, Ordering::AcqRel);
        Self(shared.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let live = &self.0.live;
        if live.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            live.none_left.notify_waiters();
        }
    }
}

impl Live {
    fn count(&self) -> usize {
        self.count.load(Ordering::Acquire)
    }

    async fn none(&self) {
        loop {
            // Listening before looking, so that no wake-up falls in between.
            let none_left = self.none_left.notified();
            if self.count() == 0 {
                return;
            }
            none_left.await;
        }
    }
}

impl Once {
    /// Waits until every run of this value and its clones has ended and its outcome is on record, for at most
    /// `within`. Returns how many had not ended by then: if the process exits now, these become unknown.
    ///
    /// A service calls this when it shuts down, after it has stopped taking work: runs go on when their
    /// callers leave, so the end of all connections is not the end of all runs. New operations are not refused.
    pub async fn drain(&self, within: Duration) -> usize {
        let live = &self.shared.live;
        match timeout(within, live.none()).await {
            Ok(()) => 0,
            Err(_elapsed) => live.count(),
        }
    }
}
