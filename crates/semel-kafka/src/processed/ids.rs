//! The ids of one partition that were processed.

use std::collections::{HashMap, VecDeque};

/// The most ids of one partition: about 160 MB of memory.
pub(super) const IDS_MAX: usize = 2_000_000;

/// What names a message, hashed: tenant, consumer and id.
pub(super) type Digest = [u8; 16];

/// What is remembered of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Known {
    /// When it was processed, in milliseconds since 1970.
    pub(super) at_ms: i64,
    /// Tells another message with the same id.
    pub(super) fingerprint: [u8; 8],
}

/// What an id says about a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seen {
    New,
    Duplicate,
    /// The id was processed with another content.
    Conflict,
}

/// The ids of one partition.
#[derive(Debug, Default)]
pub(super) struct Ids {
    known: HashMap<Digest, Known>,
    /// In the order in which they were processed, so that the oldest are found.
    by_age: VecDeque<(i64, Digest)>,
}

impl Ids {
    /// Remembers an id; whether there was room for it.
    pub(super) fn insert(&mut self, digest: Digest, known: Known) -> bool {
        if self.known.len() >= IDS_MAX && !self.known.contains_key(&digest) {
            return false;
        }
        self.known.insert(digest, known);
        self.by_age.push_back((known.at_ms, digest));
        true
    }

    /// Forgets an id: the log has a tombstone of it.
    pub(super) fn remove(&mut self, digest: &Digest) {
        self.known.remove(digest);
    }

    pub(super) fn seen(&self, digest: &Digest, fingerprint: [u8; 8]) -> Seen {
        match self.known.get(digest) {
            None => Seen::New,
            Some(known) if known.fingerprint == fingerprint => Seen::Duplicate,
            Some(_) => Seen::Conflict,
        }
    }

    /// Forgets what was processed before this time, at most so many at once: their digests, for tombstones.
    pub(super) fn expire(&mut self, before_ms: i64, count_max: usize) -> Vec<Digest> {
        let mut expired = Vec::new();
        while let Some((at_ms, digest)) = self.by_age.front().copied() {
            if at_ms >= before_ms || expired.len() >= count_max {
                break;
            }
            self.by_age.pop_front();
            // An id that was processed again later has a younger place in the queue.
            if self
                .known
                .get(&digest)
                .is_some_and(|known| known.at_ms == at_ms)
            {
                self.known.remove(&digest);
                expired.push(digest);
            }
        }
        expired
    }

    pub(super) fn len(&self) -> usize {
        self.known.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn known(at_ms: i64) -> Known {
        Known {
            at_ms,
            fingerprint: [1; 8],
        }
    }

    #[test]
    fn an_id_is_a_duplicate_with_the_same_content_and_a_conflict_with_another() {
        let mut ids = Ids::default();
        assert_eq!(ids.seen(&[7; 16], [1; 8]), Seen::New);
        assert!(ids.insert([7; 16], known(10)));
        assert_eq!(ids.seen(&[7; 16], [1; 8]), Seen::Duplicate);
        assert_eq!(ids.seen(&[7; 16], [2; 8]), Seen::Conflict);
        ids.remove(&[7; 16]);
        assert_eq!(ids.seen(&[7; 16], [1; 8]), Seen::New);
    }

    #[test]
    fn the_oldest_expire_first_and_what_was_processed_again_counts_from_then() {
        let mut ids = Ids::default();
        for (at, name) in [(10, 1), (20, 2), (30, 3), (40, 1)] {
            assert!(ids.insert([name; 16], known(at)));
        }
        assert_eq!(ids.expire(15, 9), [[0; 16]; 0], "it was processed again");
        assert_eq!(ids.expire(35, 1), [[2; 16]]);
        assert_eq!(ids.expire(35, 9), [[3; 16]]);
        assert_eq!(ids.len(), 1);
        assert_eq!(ids.expire(41, 9), [[1; 16]]);
    }
}
