//! How much of one consumer waits, and whether more may be taken in.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

/// The backlog of one consumer: what the store counted last, and what came and went in this process since.
#[derive(Debug)]
pub(crate) struct Backlog {
    max: Option<u64>,
    pending: Mutex<u64>,
    full: watch::Sender<bool>,
}

impl Backlog {
    pub(crate) fn new(max: Option<u64>) -> Self {
        Self {
            max,
            pending: Mutex::new(0),
            full: watch::Sender::new(false),
        }
    }

    /// Whether nothing more is to be taken in. It is full from its limit on until a tenth of that is done.
    pub(crate) fn is_full(&self) -> bool {
        *self.full.borrow()
    }

    /// Waits until it is not full.
    pub(crate) async fn has_room(&self) {
        // The sender is here, so this cannot fail.
        let _ = self.full.subscribe().wait_for(|full| !full).await;
    }

    /// How many more may be taken in at once.
    pub(crate) fn room(&self) -> usize {
        let left = self.max.map(|max| max.saturating_sub(*self.pending()));
        let left = left.and_then(|left| usize::try_from(left).ok());
        left.unwrap_or(usize::MAX).max(1)
    }

    /// The store has counted so many that wait.
    pub(crate) fn counted(&self, pending: u64) {
        self.change(|known| *known = pending);
    }

    /// So many more wait.
    pub(crate) fn add(&self, messages: u64) {
        self.change(|known| *known = known.saturating_add(messages));
    }

    /// One of them waits no longer.
    pub(crate) fn done(&self) {
        self.change(|known| *known = known.saturating_sub(1));
    }

    fn change(&self, change: impl FnOnce(&mut u64)) {
        let Some(max) = self.max else {
            return;
        };
        let mut pending = self.pending();
        change(&mut pending);
        let is_full = match self.is_full() {
            true => *pending >= max - max / 10,
            false => *pending >= max,
        };
        self.full
            .send_if_modified(|full| std::mem::replace(full, is_full) != is_full);
    }

    fn pending(&self) -> MutexGuard<'_, u64> {
        // A number is always whole, so a poisoned lock protects nothing.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_full_from_its_limit_until_a_tenth_is_done() {
        let backlog = Backlog::new(Some(100));
        for (pending, expected) in [
            (99, false),
            (100, true),
            (95, true),
            (90, true),
            (89, false),
            (95, false),
            (200, true),
        ] {
            backlog.counted(pending);
            assert_eq!(backlog.is_full(), expected, "{pending}");
        }
        (0..111).for_each(|_| backlog.done());
        assert!(!backlog.is_full());
        backlog.add(11);
        assert!(backlog.is_full());
        let without = Backlog::new(None);
        without.counted(u64::MAX);
        assert!(!without.is_full());
    }
}
