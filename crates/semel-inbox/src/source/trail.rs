//! How far each part of a source was read here: what tells a redelivery where the broker does not count.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Partition, Raw};

/// The most parts that are remembered.
const PARTS_MAX: usize = 4_096;
/// How often a broker that does not count has delivered what it delivers again: this often at least.
const AGAIN: u32 = 2;

/// The parts of one source.
#[derive(Debug, Default)]
pub(super) struct Trail(Mutex<HashMap<Partition, Part>>);

#[derive(Debug, Default)]
struct Part {
    /// Whether this reader has it now.
    is_held: bool,
    /// The highest offset that was delivered, where the broker does not count deliveries.
    highest: Option<i64>,
}

impl Trail {
    /// Follows a delivery; whether it is the first of its part since this reader has it. Says in `raw` that it was delivered before if its offset
    /// is at or below the highest one.
    pub(super) fn follow(&self, partition: &Partition, raw: &mut Raw) -> bool {
        let mut parts = self.parts();
        if !parts.contains_key(partition) {
            make_room(&mut parts);
        }
        let part = parts.entry(partition.clone()).or_default();
        if let (None, Some(offset)) = (raw.deliveries, raw.origin.offset) {
            match part.highest {
                Some(highest) if offset <= highest => raw.deliveries = Some(AGAIN),
                _ => part.highest = Some(offset),
            }
        }
        !std::mem::replace(&mut part.is_held, true)
    }

    /// Parts are lost. How far those were read without a count is remembered: they may come back.
    pub(super) fn lose(&self, partitions: &[Partition]) {
        let mut parts = self.parts();
        for partition in partitions {
            if let Some(part) = parts.get_mut(partition) {
                part.is_held = false;
            }
        }
        parts.retain(|_, part| part.is_held || part.highest.is_some());
    }

    /// What is remembered only tells where duplicates came from, so a poisoned lock protects nothing.
    fn parts(&self) -> MutexGuard<'_, HashMap<Partition, Part>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn make_room(parts: &mut HashMap<Partition, Part>) {
    if parts.len() >= PARTS_MAX {
        parts.retain(|_, part| part.is_held);
    }
    if parts.len() >= PARTS_MAX {
        parts.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(offset: i64) -> Raw {
        let mut raw = Raw::default();
        raw.origin.offset = Some(offset);
        raw
    }

    #[test]
    fn an_offset_at_or_below_the_highest_one_was_delivered_before() {
        let (trail, one) = (Trail::default(), Partition::new("orders/1"));
        // The offset; whether the part is new here; how often it was delivered.
        let steps = [(5, true, None), (6, false, None), (6, false, Some(AGAIN))];
        for (offset, is_first, deliveries) in steps {
            let mut raw = at(offset);
            assert_eq!(trail.follow(&one, &mut raw), is_first, "{offset}");
            assert_eq!(raw.deliveries, deliveries, "{offset}");
        }
        trail.lose(std::slice::from_ref(&one));
        let mut back = at(5);
        assert!(trail.follow(&one, &mut back));
        assert_eq!(back.deliveries, Some(AGAIN));
        let mut new = at(7);
        assert!(!trail.follow(&one, &mut new));
        assert_eq!(new.deliveries, None);
    }

    #[test]
    fn what_the_broker_counts_is_not_changed_and_parts_are_bounded() {
        let trail = Trail::default();
        let mut counted = Raw {
            deliveries: Some(1),
            ..at(1)
        };
        let queue = Partition::new("queue");
        for _ in 0..2 {
            trail.follow(&queue, &mut counted);
        }
        assert_eq!(counted.deliveries, Some(1));
        trail.lose(std::slice::from_ref(&queue));
        assert!(trail.parts().is_empty());
        for n in 0..2 * PARTS_MAX {
            trail.follow(&Partition::new(n.to_string()), &mut at(1));
        }
        assert!(trail.parts().len() <= PARTS_MAX);
    }
}
