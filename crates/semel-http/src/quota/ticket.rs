//! The right to use a new key.

use super::table::Holder;
use super::{Limit, Quotas};

/// A token for a new key. Dropped unused it goes back, so that what turns out to be a duplicate costs nothing.
#[derive(Debug, Default)]
#[must_use]
pub struct Ticket(Option<Box<Held>>);

#[derive(Debug)]
struct Held {
    quotas: Quotas,
    holder: Holder,
    is_used: bool,
}

impl Ticket {
    pub(super) fn new(quotas: Quotas, holder: Holder) -> Self {
        let is_used = false;
        Self(Some(Box::new(Held {
            quotas,
            holder,
            is_used,
        })))
    }

    /// The claim is granted: the key was new.
    pub fn used(&mut self) {
        if let Some(held) = &mut self.0 {
            held.is_used = true;
        }
    }

    /// Charges what was stored under the key.
    pub fn stored(&self, bytes: u64) {
        if let Some(held) = &self.0 {
            held.quotas.charge(&held.holder, bytes);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if !self.is_used {
            self.quotas.give_back(&self.holder, Limit::NewKeys, 1);
        }
    }
}
