//! The ids of one partition that were processed.

use std::collections::{HashMap, HashSet, VecDeque};

/// The most ids of one partition: about 160 MB of memory. At this number nothing more is taken, because its id could not be remembered.
pub(super) const IDS_MAX: usize = 2_000_000;
/// The most ids of one partition with those that are processed while it is full: what was taken before is remembered all the same.
pub(super) const LOADED_MAX: usize = IDS_MAX + 100_000;
/// The most expired ids that are kept until their tombstones are written. The others of a log are found by its next reader.
const STALE_MAX: usize = 1_000_000;

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
    /// Ids that had expired when the log was read: they suppress nothing, and want a tombstone.
    stale: HashSet<Digest>,
}

impl Ids {
    /// Remembers an id.
    pub(super) fn insert(&mut self, digest: Digest, known: Known) {
        self.stale.remove(&digest);
        self.known.insert(digest, known);
        self.by_age.push_back((known.at_ms, digest));
    }

    /// Takes over what a record of the log says, whose id has expired if it was processed before this time.
    pub(super) fn read(&mut self, digest: Digest, known: Option<Known>, before_ms: i64) {
        match known {
            Some(known) if known.at_ms >= before_ms => self.insert(digest, known),
            Some(_) => {
                self.known.remove(&digest);
                if self.stale.len() < STALE_MAX {
                    self.stale.insert(digest);
                }
            }
            // A tombstone.
            None => {
                self.known.remove(&digest);
                self.stale.remove(&digest);
            }
        }
    }

    /// Whether no more ids can be remembered.
    pub(super) fn is_full(&self) -> bool {
        self.known.len() >= IDS_MAX
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
        let stale = self.stale.extract_if(|_| true);
        let mut expired: Vec<Digest> = stale.take(count_max).collect();
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
        ids.insert([7; 16], known(10));
        assert_eq!(ids.seen(&[7; 16], [1; 8]), Seen::Duplicate);
        assert_eq!(ids.seen(&[7; 16], [2; 8]), Seen::Conflict);
        ids.read([7; 16], None, 0);
        assert_eq!(ids.seen(&[7; 16], [1; 8]), Seen::New);
    }

    #[test]
    fn the_oldest_expire_first_and_what_was_processed_again_counts_from_then() {
        let mut ids = Ids::default();
        for (at, name) in [(10, 1), (20, 2), (30, 3), (40, 1)] {
            ids.insert([name; 16], known(at));
        }
        assert_eq!(ids.expire(15, 9), [[0; 16]; 0], "it was processed again");
        assert_eq!(ids.expire(35, 1), [[2; 16]]);
        assert_eq!(ids.expire(35, 9), [[3; 16]]);
        assert_eq!(ids.len(), 1);
        assert_eq!(ids.expire(41, 9), [[1; 16]]);
    }

    #[test]
    fn what_had_expired_when_it_was_read_suppresses_nothing_and_gets_its_tombstone() {
        let mut ids = Ids::default();
        for (at, name) in [(10, 1), (11, 2), (12, 3), (13, 4), (30, 5), (31, 2)] {
            ids.read([name; 16], Some(known(at)), 20);
        }
        ids.read([3; 16], None, 20);
        assert_eq!(ids.len(), 2, "the fifth, and the second that came again");
        assert_eq!(ids.seen(&[1; 16], [1; 8]), Seen::New);
        assert_eq!(ids.seen(&[2; 16], [1; 8]), Seen::Duplicate);
        ids.insert([4; 16], known(40));
        assert_eq!(ids.expire(20, 9), [[1; 16]], "the third has its tombstone");
        assert_eq!(ids.expire(20, 9), [[0; 16]; 0]);
    }
}
