//! The deliveries that are open, and what is published when each is done.

use std::collections::HashMap;
use std::sync::Arc;

use semel_inbox::source::{Handle, Raw};

use super::ids::{Digest, Known};
use crate::source::Publication;

/// A delivery that is open.
pub(super) struct Open {
    pub(super) handle: Handle,
    pub(super) partition: i32,
    /// As it was delivered, for the topic of dead letters.
    pub(super) raw: Arc<Raw>,
    /// How many of its messages are not dealt with.
    left: usize,
    pub(super) publications: Vec<Publication>,
    /// The ids that are processed with it.
    pub(super) learned: Vec<(Digest, Known)>,
}

/// All deliveries that are open, by number.
#[derive(Default)]
pub(super) struct Board {
    last: u64,
    open: HashMap<u64, Open>,
}

impl Board {
    /// A delivery with so many messages.
    pub(super) fn add(
        &mut self,
        handle: Handle,
        raw: Arc<Raw>,
        partition: i32,
        messages: usize,
    ) -> u64 {
        self.last += 1;
        let open = Open {
            handle,
            partition,
            raw,
            left: messages,
            publications: Vec::new(),
            learned: Vec::new(),
        };
        self.open.insert(self.last, open);
        self.last
    }

    pub(super) fn get_mut(&mut self, delivery: u64) -> Option<&mut Open> {
        self.open.get_mut(&delivery)
    }

    /// One message of a delivery is dealt with; the delivery, if it was the last.
    pub(super) fn dealt_with(&mut self, delivery: u64) -> Option<Open> {
        let open = self.open.get_mut(&delivery)?;
        open.left = open.left.saturating_sub(1);
        match open.left {
            0 => self.open.remove(&delivery),
            _ => None,
        }
    }

    /// The number of the last delivery. Those of a later assignment of its partition have higher ones.
    pub(super) const fn last(&self) -> u64 {
        self.last
    }

    /// Whether a delivery is open and of one of these partitions.
    pub(super) fn is_of(&self, delivery: u64, partitions: &[i32]) -> bool {
        let open = self.open.get(&delivery);
        open.is_some_and(|open| partitions.contains(&open.partition))
    }

    /// Whether this delivery is still the source's to be acknowledged, as far as this asks.
    pub(super) fn is_held(&self, delivery: u64, holds: impl Fn(&Handle) -> bool) -> bool {
        let open = self.open.get(&delivery);
        open.is_some_and(|open| holds(&open.handle))
    }

    /// Forgets the deliveries of these partitions up to a number; the ids that were to be processed with them.
    #[must_use]
    pub(super) fn lose(&mut self, partitions: &[i32], last: u64) -> Vec<Digest> {
        let is_lost =
            |number: &u64, open: &mut Open| *number <= last && partitions.contains(&open.partition);
        let lost = self.open.extract_if(is_lost);
        let ids = lost.flat_map(|(_, open)| open.learned);
        ids.map(|(digest, _)| digest).collect()
    }

    pub(super) fn len(&self) -> usize {
        self.open.len()
    }
}
