//! Where things are: buckets, and the names of keys.
//!
//! All keys of a bucket carry one hash tag, so one script may touch records, the indexes and the last fence of their
//! bucket together. A single server has one bucket: calls that come together share one script, and its indexes are written
//! once for all of them. A cluster has 256, by the first byte of an identity's digest, and spreads them over its slots.
//!
//! Each bucket draws its own numbers, because the servers of a cluster have no counter in common. A number is the
//! server's time since 2026, and always above the last one. On a single server these are microseconds, and the fence is the number. On a
//! cluster they are units of 32 microseconds, and the fence is the number with its bucket, so that no two buckets draw the same;
//! it stays below 2^53, which programs in other languages read from JSON without loss, until 2061.

use std::time::Duration;

use semel_core::{Fence, Identity, Timestamp};

/// A part of the record space that lives in one slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bucket {
    number: u8,
    /// How many bits of a fence name the bucket.
    bits: u8,
}

impl Bucket {
    /// Its number.
    pub(crate) fn index(self) -> u64 {
        u64::from(self.number)
    }

    /// The fence with this number.
    pub(crate) const fn fence(self, number: u64) -> Fence {
        Fence::new((number << self.bits) | self.number as u64)
    }

    /// The number of a fence, if it is this bucket's.
    pub(crate) fn number_of(self, fence: Fence) -> Option<u64> {
        let number = fence.get() >> self.bits;
        (self.fence(number) == fence).then_some(number)
    }

    /// The lowest number whose fence is not below this one.
    pub(crate) const fn number_from(self, fence: Fence) -> u64 {
        fence
            .get()
            .saturating_sub(self.number as u64)
            .div_ceil(1 << self.bits)
    }
}

/// The time from which fences count, as in `claim.lua` and `apply.lua`: 2026-01-01.
const FIRST_MS: i64 = 1_767_225_600_000;
/// How far fences may run ahead of the server's time.
const AHEAD_MAX: Duration = Duration::from_secs(86_400);

/// Names keys.
#[derive(Debug)]
pub(crate) struct Keys {
    prefix: String,
    cluster: bool,
    tags: Vec<String>,
}

/// What a bucket has one of. The names are part of the format: they never change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Of {
    /// HASH: the highest fence drawn, the number of the last event, how many late outcomes there are.
    Meta,
    /// ZSET of digests that run, by the end of their lease.
    Running,
    /// ZSET of digests of all records, by fence.
    All,
    /// ZSET of digests of settled records, by the end of their retention.
    Expiring,
    /// ZSET of digests whose outcome is unknown, by since when.
    Unknown,
    /// The same by fence.
    UnknownByFence,
    /// ZSET of digests that have a history, by the time of its oldest event.
    Histories,
    /// ZSET of fences of archived records, by fence.
    Archived,
    /// LIST of what people decided, the newest last.
    Audit,
}

impl Of {
    const fn name(self) -> &'static str {
        match self {
            Self::Meta => "meta",
            Self::Running => "running",
            Self::All => "all",
            Self::Expiring => "expiring",
            Self::Unknown => "unknown",
            Self::UnknownByFence => "unknown-by-fence",
            Self::Histories => "histories",
            Self::Archived => "archived",
            Self::Audit => "audit",
        }
    }
}

impl Keys {
    /// Names that start with `prefix`, on a single server or on a cluster.
    pub(crate) fn new(prefix: &str, cluster: bool) -> Self {
        let last = if cluster { u8::MAX } else { 0 };
        let tag = |number| format!("{{{prefix}:b{number:03}}}");
        Self {
            prefix: prefix.to_owned(),
            cluster,
            tags: (0..=last).map(tag).collect(),
        }
    }

    /// The bucket of an identity.
    pub(crate) fn bucket(&self, identity: &Identity) -> Bucket {
        self.numbered(if self.cluster {
            identity.digest().as_bytes()[0]
        } else {
            0
        })
    }

    const fn numbered(&self, number: u8) -> Bucket {
        Bucket {
            number,
            bits: if self.cluster { 8 } else { 0 },
        }
    }

    /// How many buckets there are.
    pub(crate) const fn count(&self) -> usize {
        self.tags.len()
    }

    /// Every bucket.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = Bucket> {
        let last = if self.cluster { u8::MAX } else { 0 };
        (0..=last).map(|number| self.numbered(number))
    }

    /// The most lines of the audit that a bucket keeps; the oldest go first.
    pub(crate) const fn audit_max(&self) -> usize {
        if self.cluster { 1_000 } else { 10_000 }
    }

    /// In how many microseconds the number of a fence grows by one.
    pub(crate) const fn unit_us(&self) -> u32 {
        if self.cluster { 32 } else { 1 }
    }

    /// A fence that no claim of `identity` that was granted until `now` exceeds. Fences are drawn from the server's
    /// time; they run ahead of it if the time was set back, which is allowed for up to a day.
    pub(crate) fn highest(&self, identity: &Identity, now: Timestamp) -> Fence {
        let us = now.after(AHEAD_MAX).as_millis().saturating_sub(FIRST_MS);
        let us = u64::try_from(us).unwrap_or(0).saturating_mul(1_000);
        self.bucket(identity).fence(us / u64::from(self.unit_us()))
    }

    /// STRING: the version of the format that is in use under this prefix.
    pub(crate) fn format(&self) -> String {
        format!("{{{}:format}}", self.prefix)
    }

    /// ZSET: shares of the sweep, by when each is due.
    pub(crate) fn shares(&self) -> String {
        format!("{{{}:sweep}}", self.prefix)
    }

    fn tag(&self, bucket: Bucket) -> &str {
        &self.tags[usize::from(bucket.number)]
    }

    /// A key that a bucket has one of.
    pub(crate) fn of(&self, bucket: Bucket, what: Of) -> String {
        format!("{}:{}", self.tag(bucket), what.name())
    }

    /// How the keys of a bucket's records begin; a short digest in hex follows.
    pub(crate) fn records(&self, bucket: Bucket) -> String {
        format!("{}:r:", self.tag(bucket))
    }

    /// How the keys of a bucket's archived records begin; a fence follows.
    pub(crate) fn archives(&self, bucket: Bucket) -> String {
        format!("{}:a:", self.tag(bucket))
    }

    /// How the keys of a bucket's histories begin; a short digest in hex follows.
    pub(crate) fn histories(&self, bucket: Bucket) -> String {
        format!("{}:h:", self.tag(bucket))
    }

    /// How the keys of a bucket's late outcomes begin; a short digest in hex follows.
    pub(crate) fn lates(&self, bucket: Bucket) -> String {
        format!("{}:l:", self.tag(bucket))
    }

    /// STRING: what a change led to, kept for a while so that it is made once however often it is sent.
    pub(crate) fn token(&self, bucket: Bucket, token: &str) -> String {
        format!("{}:t:{token}", self.tag(bucket))
    }

    /// The record of an identity.
    pub(crate) fn record(&self, identity: &Identity) -> String {
        self.records(self.bucket(identity)) + &short_digest(identity)
    }

    /// The history of an identity.
    pub(crate) fn history(&self, identity: &Identity) -> String {
        self.histories(self.bucket(identity)) + &short_digest(identity)
    }

    /// The late outcomes of an identity.
    pub(crate) fn late(&self, identity: &Identity) -> String {
        self.lates(self.bucket(identity)) + &short_digest(identity)
    }
}

/// Sixteen bytes in hex; the whole identity is compared on a match.
fn short_digest(identity: &Identity) -> String {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let digest = identity.digest().short();
    let digits = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from(HEX[usize::from(digit)]))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Servers keep keys: if this fails, every existing store has lost its records.
    #[test]
    fn the_key_of_a_record_never_changes() {
        let identity = Identity::parse("acme", "payments@2", "order-17").unwrap();
        for (cluster, tag) in [(true, "{semel:b119}"), (false, "{semel:b000}")] {
            let keys = Keys::new("semel", cluster);
            let expected = format!("{tag}:r:779bbb43e24704aff8fa6014b833f456");
            assert_eq!(keys.record(&identity), expected);
            assert_eq!(
                keys.of(keys.bucket(&identity), Of::Meta),
                format!("{tag}:meta")
            );
        }
    }

    #[test]
    fn fences_of_different_buckets_differ_and_keep_their_order() {
        let keys = Keys::new("semel", true);
        let (low, high) = (keys.numbered(3), keys.numbered(200));
        assert!(low.fence(7) < high.fence(7) && high.fence(7) < low.fence(8));
        assert_eq!(low.number_of(low.fence(7)), Some(7));
        assert_eq!(low.number_of(high.fence(7)), None);
        for (fence, from) in [(low.fence(7), 7), (high.fence(7), 8), (Fence::new(0), 0)] {
            assert_eq!(low.number_from(fence), from);
        }
    }

    #[test]
    fn a_single_server_has_one_bucket_and_its_numbers_are_fences() {
        let keys = Keys::new("semel", false);
        let buckets: Vec<Bucket> = keys.buckets().collect();
        assert_eq!((buckets.len(), keys.count()), (1, 1));
        assert_eq!(buckets[0].fence(7), Fence::new(7));
        assert_eq!(buckets[0].number_of(Fence::new(u64::MAX)), Some(u64::MAX));
        assert_eq!(Keys::new("semel", true).buckets().count(), 256);
    }
}
