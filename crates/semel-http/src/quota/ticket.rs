//! The right to use new keys.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::table::Holder;
use super::{Limit, Quotas};

/// Tokens for new keys. What is left of them when the ticket is dropped goes back, so that what turns out to be a duplicate costs nothing.
#[derive(Debug, Default)]
#[must_use]
pub struct Ticket(Option<Arc<Held>>);

#[derive(Debug)]
struct Held {
    quotas: Quotas,
    holder: Holder,
    left: AtomicU64,
}

impl Ticket {
    pub(super) fn new(quotas: Quotas, holder: Holder, left: u64) -> Self {
        Self(Some(Arc::new(Held {
            quotas,
            holder,
            left: AtomicU64::new(left),
        })))
    }

    /// A claim is granted: its key was new. One for which the ticket has no token left is charged, whether there is one or not: it was promised.
    pub fn used(&mut self) {
        let Some(held) = &self.0 else {
            return;
        };
        let one_less = |left: u64| left.checked_sub(1);
        let left = &held.left;
        let taken = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_less);
        if taken.is_err() {
            held.quotas.charge(&held.holder, Limit::NewKeys, 1);
        }
    }

    /// Gives back what is left of the tokens: a duplicate that waits holds none. A claim that is granted later is charged.
    pub fn give_back(&self) {
        if let Some(held) = &self.0 {
            held.give_back();
        }
    }

    /// The same, for the code that learns of it elsewhere; `None` if there is nothing to give back. It does not keep the ticket.
    pub(crate) fn giver_back(&self) -> Option<impl Fn() + Send + Sync + use<>> {
        let held = Arc::downgrade(self.0.as_ref()?);
        Some(move || {
            if let Some(held) = held.upgrade() {
                held.give_back();
            }
        })
    }

    /// Charges what was stored under a key.
    pub fn stored(&self, bytes: u64) {
        if let Some(held) = &self.0 {
            held.quotas.charge(&held.holder, Limit::StoredBytes, bytes);
        }
    }
}

impl Held {
    fn give_back(&self) {
        let left = self.left.swap(0, Ordering::Relaxed);
        if left > 0 {
            self.quotas.give_back(&self.holder, Limit::NewKeys, left);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.give_back();
    }
}
