//! Places for calls: so many run at once, and so many wait for a run of another call.
//!
//! A call has a place among the runs from the moment it asks for a claim until it has its reply. A duplicate that
//! waits has none: it gives it back first and takes one among the waiting, so that waiting duplicates, however many,
//! keep no other operation from running.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::answer::Refusal;
use crate::budget::{Budget, Permit};
use crate::identity::Digest;

/// How many calls may run and wait at once. Cheap to clone; clones share it.
#[derive(Debug, Clone)]
pub struct Places(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    runs: Budget,
    waiting: Budget,
    /// How many may wait for one key.
    key_max: AtomicUsize,
    /// How many do. Only duplicates that wait come here, so the lock is on no other call's way.
    keys: Mutex<HashMap<Digest, usize>>,
}

impl Places {
    /// So many runs, so many waiting duplicates, and of these so many for one key.
    pub fn new(runs: Budget, waiting: Budget, waiting_per_key_max: usize) -> Self {
        Self(Arc::new(Inner {
            runs,
            waiting,
            key_max: AtomicUsize::new(waiting_per_key_max),
            keys: Mutex::default(),
        }))
    }

    /// As many as there are.
    pub fn unlimited() -> Self {
        Self::new(Budget::unlimited(), Budget::unlimited(), usize::MAX)
    }

    /// The runs, with those whose claim is being asked for.
    pub fn runs(&self) -> &Budget {
        &self.0.runs
    }

    /// Duplicates that wait.
    pub fn waiting(&self) -> &Budget {
        &self.0.waiting
    }

    /// Changes how many may wait for one key.
    pub fn set_waiting_per_key_max(&self, max: usize) {
        self.0.key_max.store(max, Ordering::Release);
    }

    pub(super) fn run(&self) -> Option<Permit> {
        self.0.runs.take()
    }

    /// A place to wait for `digest`. A key that too many wait for already has its own answer: it is in progress.
    pub(super) fn wait(&self, digest: Digest, busy: Refusal) -> Result<Waiting, Refusal> {
        let place = self.0.waiting.take().ok_or(Refusal::TooManyWaiting)?;
        let mut keys = self.0.keys();
        let count = keys.entry(digest).or_default();
        if *count >= self.0.key_max.load(Ordering::Acquire) {
            if *count == 0 {
                keys.remove(&digest);
            }
            return Err(busy);
        }
        *count += 1;
        Ok(Waiting {
            places: self.clone(),
            digest,
            _place: place,
        })
    }
}

impl Inner {
    fn keys(&self) -> MutexGuard<'_, HashMap<Digest, usize>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A duplicate's place while it waits.
#[derive(Debug)]
pub(super) struct Waiting {
    places: Places,
    digest: Digest,
    _place: Permit,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let mut keys = self.places.0.keys();
        if let Some(count) = keys.get_mut(&self.digest) {
            *count -= 1;
            if *count == 0 {
                keys.remove(&self.digest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::identity::Identity;

    #[test]
    fn a_place_to_wait_is_given_back_with_its_key() {
        let places = Places::new(Budget::new(1), Budget::new(3), 2);
        let digest = |key| Identity::parse("t", "s", key).unwrap().digest();
        let wait = |key| {
            let busy = Refusal::InProgress {
                retry_after: Duration::ZERO,
            };
            places.wait(digest(key), busy)
        };
        let two = [wait("a").unwrap(), wait("a").unwrap()];
        assert!(matches!(wait("a"), Err(Refusal::InProgress { .. })));
        let other = wait("b").unwrap();
        assert!(matches!(wait("c"), Err(Refusal::TooManyWaiting)));
        assert_eq!((places.waiting().used(), places.0.keys().len()), (3, 2));
        drop((two, other));
        assert_eq!((places.waiting().used(), places.0.keys().len()), (0, 0));
        places.set_waiting_per_key_max(0);
        assert!(matches!(wait("a"), Err(Refusal::InProgress { .. })));
        assert!(places.0.keys().is_empty());
    }
}
