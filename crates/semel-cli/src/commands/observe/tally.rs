//! What is seen in a topic: duplicates and how late they come, ids that are missing or made per attempt, versions that are missing. It delivers and
//! stores nothing.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use semel_core::inbox::Message;
use semel_core::{Fingerprint, Identity, Key, Timestamp};
use semel_inbox::receiver::Suspicion;
use serde::Serialize;

/// So many ids are remembered, as digests of 16 bytes; that takes about 350 MB.
pub(super) const IDS_MAX: usize = 5_000_000;

/// What was seen so far.
#[derive(Debug)]
pub(super) struct Tally {
    ids_max: usize,
    ids: HashMap<[u8; 16], Seen>,
    payloads: HashSet<u64>,
    /// The latest version of a key.
    lanes: HashMap<[u8; 16], u64>,
    pub(super) counts: Counts,
}

impl Default for Tally {
    fn default() -> Self {
        Self::new(IDS_MAX)
    }
}

/// The first message of an id.
#[derive(Debug)]
struct Seen {
    content: u64,
    published_ms: Option<std::num::NonZeroI64>,
}

/// What was seen, in numbers.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Counts {
    /// All messages.
    pub(super) messages: u64,
    /// Messages without an id, or that break a rule.
    pub(super) unreadable: u64,
    /// The same id and the same content again.
    pub(super) duplicates: u64,
    /// The same id with another content.
    pub(super) conflicts: u64,
    /// The same content under another id: ids that are made for each attempt look like this.
    pub(super) same_content: u64,
    /// Ids that are times: a time is made where the message is sent, once for each attempt.
    pub(super) times: u64,
    /// Versions that are missing between two messages of a key.
    pub(super) gaps: u64,
    /// Versions at or below one that came before.
    pub(super) older: u64,
    /// Messages with ids beyond those that are remembered: they are compared with nothing, so the other numbers are lower bounds.
    pub(super) unobserved: u64,
    /// The longest time from a message to its duplicate, in milliseconds.
    pub(super) latest_duplicate_ms: u64,
}

impl Tally {
    fn new(ids_max: usize) -> Self {
        Self {
            ids_max,
            ids: HashMap::new(),
            payloads: HashSet::new(),
            lanes: HashMap::new(),
            counts: Counts::default(),
        }
    }

    /// Looks at one message that was published at this time.
    pub(super) fn look(&mut self, message: &Message, published: Option<Timestamp>) {
        self.counts.messages += 1;
        if message.unreadable().is_some() {
            self.counts.unreadable += 1;
            return;
        }
        let id = message.identity().digest().short();
        let seen = Seen {
            content: short(message.fingerprint()),
            published_ms: published.and_then(|at| at.as_millis().try_into().ok()),
        };
        if let Some(first) = self.ids.get(&id) {
            self.counts.again(first, &seen);
            return;
        }
        if self.ids.len() >= self.ids_max {
            self.counts.unobserved += 1;
            return;
        }
        let is_new = message.payload().is_empty() || self.payloads.insert(seen.content);
        self.counts.same_content += u64::from(!is_new);
        let is_time = Suspicion::of(message.identity().key().as_str());
        self.counts.times += u64::from(is_time == Some(Suspicion::Time));
        self.ids.insert(id, seen);
        if let (Some(lane), Some(sequence)) = (message.lane(), message.sequence()) {
            self.order(message.identity(), lane, sequence);
        }
    }

    fn order(&mut self, message: &Identity, lane: &Key, sequence: u64) {
        let (tenant, scope) = (message.tenant().clone(), message.scope().clone());
        let lane = Identity::new(tenant, scope, lane.clone()).digest().short();
        let mut last = match self.lanes.entry(lane) {
            Entry::Vacant(entry) => {
                entry.insert(sequence);
                return;
            }
            Entry::Occupied(entry) => entry,
        };
        match sequence.checked_sub(*last.get()) {
            None | Some(0) => self.counts.older += 1,
            Some(step) => {
                self.counts.gaps += step - 1;
                last.insert(sequence);
            }
        }
    }
}

impl Counts {
    /// Counts a message whose id is known.
    fn again(&mut self, first: &Seen, seen: &Seen) {
        if first.content != seen.content {
            self.conflicts += 1;
            return;
        }
        self.duplicates += 1;
        let late = seen.published_ms.zip(first.published_ms);
        let late = late.map_or(0, |(now, then)| now.get().saturating_sub(then.get()));
        let late = u64::try_from(late).unwrap_or(0);
        self.latest_duplicate_ms = self.latest_duplicate_ms.max(late);
    }
}

/// Enough to tell contents apart.
fn short(fingerprint: Fingerprint) -> u64 {
    let bytes = fingerprint.as_bytes();
    u64::from_le_bytes(std::array::from_fn(|at| bytes[at]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::Identity;

    fn message(id: &str, payload: &str) -> Message {
        let identity = Identity::parse("public", "mailer", id).unwrap();
        Message::new(identity, payload.to_owned()).unwrap()
    }

    fn versioned(id: &str, sequence: u64) -> Message {
        let message = message(id, id).with_lane(Key::new("o-1").unwrap());
        message.with_sequence(sequence).unwrap()
    }

    #[test]
    fn duplicates_conflicts_and_ids_per_attempt_are_told_apart() {
        let mut tally = Tally::default();
        let at = |ms| Some(Timestamp::from_millis(ms));
        tally.look(&message("a", "1"), at(1_000));
        tally.look(&message("a", "1"), at(61_000));
        tally.look(&message("a", "2"), at(62_000));
        tally.look(&message("b", "1"), None);
        tally.look(&message("c", "x").as_unreadable("no id"), None);
        tally.look(&message("1731750000123", "3"), None);
        // Deletions have no content, and that is not the same one.
        tally.look(&message("d", ""), None);
        tally.look(&message("e", ""), None);
        let expected = Counts {
            messages: 8,
            times: 1,
            unreadable: 1,
            duplicates: 1,
            conflicts: 1,
            same_content: 1,
            latest_duplicate_ms: 60_000,
            ..Counts::default()
        };
        assert_eq!(tally.counts, expected);
    }

    #[test]
    fn missing_and_older_versions_are_counted_per_key() {
        let mut tally = Tally::default();
        for (id, sequence) in [("a", 0), ("b", 1), ("c", 4), ("d", 2)] {
            tally.look(&versioned(id, sequence), None);
        }
        assert_eq!((tally.counts.gaps, tally.counts.older), (2, 1));
    }

    #[test]
    fn beyond_the_limit_known_ids_are_recognised_and_others_are_counted() {
        let mut tally = Tally::new(2);
        for id in ["a", "b", "c", "c", "a"] {
            tally.look(&message(id, id), None);
        }
        let (seen, counts) = (tally.ids.len(), &tally.counts);
        assert_eq!((seen, counts.duplicates, counts.unobserved), (2, 1, 2));
    }

    #[test]
    fn an_id_that_is_remembered_takes_little_memory() {
        assert_eq!(size_of::<([u8; 16], Seen)>(), 32);
    }
}
