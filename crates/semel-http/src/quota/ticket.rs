//! The right to use new keys.

use super::table::Holder;
use super::{Limit, Quotas};

/// Tokens for new keys. What is left of them when the ticket is dropped goes back, so that what turns out to be a duplicate costs nothing.
#[derive(Debug, Default)]
#[must_use]
pub struct Ticket(Option<Box<Held>>);

#[derive(Debug)]
struct Held {
    quotas: Quotas,
    holder: Holder,
    left: u64,
}

impl Ticket {
    pub(super) fn new(quotas: Quotas, holder: Holder, left: u64) -> Self {
        Self(Some(Box::new(Held {
            quotas,
            holder,
            left,
        })))
    }

    /// A claim is granted: its key was new.
    pub fn used(&mut self) {
        if let Some(held) = &mut self.0 {
            held.left = held.left.saturating_sub(1);
        }
    }

    /// Charges what was stored under a key.
    pub fn stored(&self, bytes: u64) {
        if let Some(held) = &self.0 {
            held.quotas.charge(&held.holder, bytes);
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.left > 0 {
            self.quotas
                .give_back(&self.holder, Limit::NewKeys, self.left);
        }
    }
}
