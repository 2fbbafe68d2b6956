//! Wakes duplicates that wait in the same process when the run of their operation has ended.
//!
//! A wake-up is a hint and nothing more: the duplicate then asks the store. A duplicate of a run in
//! another process is never woken and polls the store.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::identity::Digest;

/// What duplicates wait on, by the identity of each run of this process.
#[derive(Debug, Default)]
pub(super) struct Waiters(Mutex<HashMap<Digest, Arc<Notify>>>);

impl Waiters {
    fn table(&self) -> MutexGuard<'_, HashMap<Digest, Arc<Notify>>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to wait on for `digest`; `None` if this process does not run it.
    pub(super) fn of(&self, digest: Digest) -> Option<Arc<Notify>> {
        self.table().get(&digest).cloned()
    }

    /// Announces a run; [`Waiters::end`] takes the returned value back.
    pub(super) fn begin(&self, digest: Digest) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        self.table().insert(digest, notify.clone());
        notify
    }

    /// Ends a run, unless a newer one has taken its place, and wakes its duplicates.
    pub(super) fn end(&self, digest: Digest, run: &Arc<Notify>) {
        let mut table = self.table();
        if table
            .get(&digest)
            .is_some_and(|found| Arc::ptr_eq(found, run))
        {
            table.remove(&digest);
        }
        drop(table);
        run.notify_waiters();
    }
}
