//! Wakes duplicates that wait in the same process when the first one has landed.
//!
//! It is a hint and nothing more: who is woken asks the store, and who is never woken
//! (because the first one runs in another process) polls it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::identity::Digest;

/// The flights of this process, by identity.
#[derive(Debug, Default)]
pub(super) struct Flights(Mutex<HashMap<Digest, Arc<Notify>>>);

impl Flights {
    fn table(&self) -> MutexGuard<'_, HashMap<Digest, Arc<Notify>>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What to wait on for `digest`; `None` if nobody of this process runs it.
    pub(super) fn of(&self, digest: Digest) -> Option<Arc<Notify>> {
        self.table().get(&digest).cloned()
    }

    /// Announces a flight; [`Flights::end`] takes the returned value back.
    pub(super) fn begin(&self, digest: Digest) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        self.table().insert(digest, notify.clone());
        notify
    }

    /// Ends a flight, unless a newer one has taken its place, and wakes who waits.
    pub(super) fn end(&self, digest: Digest, flight: &Arc<Notify>) {
        let mut table = self.table();
        if table
            .get(&digest)
            .is_some_and(|found| Arc::ptr_eq(found, flight))
        {
            table.remove(&digest);
        }
        drop(table);
        flight.notify_waiters();
    }
}
