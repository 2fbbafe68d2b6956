//! Reading records. Scripts return their starts, which is all of a small one; what is large is read by a plain command,
//! and only if its outcome is wanted: a script copies whatever it touches, and everybody waits for scripts.

use bytes::Bytes;
use futures_util::future::join_all;
use redis::Value;
use semel_core::store::batcher::BYTES_MAX;
use semel_core::{Fence, Fingerprint, Identity, Record, Result, Timestamp};
use tokio::time::Instant;

use crate::engine::{Asked, Engine};
use crate::records::{self, Stored};
use crate::reply::{self, Reply, unexpected};
use crate::script::{Call, READ};

/// The most items that one call takes: others wait while a script runs.
const ITEMS_MAX: usize = 128;
/// The most large reads that are under way at the same time, on a single server and on a cluster. Their replies wait
/// in the server's memory.
const READS: (usize, usize) = (1, 16);

/// What the server had under an identity, and when.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) stored: Option<Stored>,
    pub(crate) now: Timestamp,
}

impl Loaded {
    /// The record, if there is one.
    pub(crate) fn record(&self) -> Option<&Record> {
        self.stored.as_ref().map(|stored| &stored.record)
    }

    /// How long the record is, if only its start was read.
    fn unread(&self) -> Option<usize> {
        self.stored.as_ref()?.unread
    }
}

/// Whose outcome is read as a whole. All others are left out.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Wanted {
    /// No outcome: the verdict is enough.
    None,
    /// That of a record with this fingerprint, which is replayed.
    Replayed(Fingerprint),
    /// That of a claim with this fence, which is compared.
    Compared(Fence),
}

impl Wanted {
    fn is_of(self, record: &Record) -> bool {
        match self {
            Self::None => false,
            Self::Replayed(fingerprint) => record.fingerprint == fingerprint,
            Self::Compared(fence) => record.fence == fence,
        }
    }
}

impl Engine {
    /// What a reply with the start of a record says.
    pub(crate) fn found(&self, mut reply: Reply, identity: &Identity) -> Result<Loaded> {
        let bucket = self.keys.bucket(identity);
        let stored = match reply.bytes()? {
            Some(start) => Some(records::decode(start, reply.number()?, identity, bucket)?),
            None => None,
        };
        Ok(Loaded {
            stored,
            now: reply.now,
        })
    }

    /// The starts of records as they are now; a node that does not answer costs only its own.
    pub(crate) async fn load(
        &self,
        identities: &[Identity],
        deadline: Instant,
    ) -> Vec<Result<Loaded>> {
        let groups = self.groups(identities, |identity| identity);
        let call = |group: &[Identity]| {
            let keys = group.iter().map(|identity| self.keys.record(identity));
            Call::new(&READ).keys(keys)
        };
        let calls = groups.iter().map(|group| call(group)).collect();
        let answers = self.link.call_all(calls, deadline).await;
        let mut loaded = Vec::with_capacity(identities.len());
        for (group, answered) in groups.into_iter().zip(answers) {
            match self.replies(answered, group.len()) {
                Ok(replies) => loaded.extend(
                    (group.iter().zip(replies))
                        .map(|(identity, reply)| self.found(reply, identity)),
                ),
                Err(error) => loaded.extend(group.iter().map(|_| Err(error.duplicate()))),
            }
        }
        loaded
    }

    /// Cuts items into groups that may go into one call: on a cluster these are of one bucket.
    pub(crate) fn groups<'a, I>(
        &self,
        items: &'a [I],
        identity: impl Fn(&I) -> &Identity,
    ) -> Vec<&'a [I]> {
        let together =
            |a: &I, b: &I| self.keys.bucket(identity(a)) == self.keys.bucket(identity(b));
        items
            .chunk_by(together)
            .flat_map(|group| group.chunks(ITEMS_MAX))
            .collect()
    }

    /// The same record with its outcome, if that is wanted and was left out.
    pub(crate) async fn with_outcome(
        &self,
        identity: &Identity,
        loaded: Loaded,
        asked: Asked,
    ) -> Result<Loaded> {
        let wanted = loaded
            .record()
            .is_some_and(|record| asked.outcome.is_of(record));
        if !wanted || loaded.unread().is_none() {
            return Ok(loaded);
        }
        let identity = std::slice::from_ref(identity);
        let mut whole = self
            .complete(identity, vec![Ok(loaded)], asked.deadline)
            .await;
        whole.pop().ok_or_else(unexpected)?
    }

    /// Reads the rest of records of which only the start was loaded. They may have changed meanwhile: what they are
    /// then counts.
    pub(crate) async fn complete(
        &self,
        identities: &[Identity],
        mut loaded: Vec<Result<Loaded>>,
        deadline: Instant,
    ) -> Vec<Result<Loaded>> {
        let large: Vec<(usize, usize)> = (loaded.iter().enumerate())
            .filter_map(|(place, loaded)| Some((place, loaded.as_ref().ok()?.unread()?)))
            .collect();
        let groups = self.large_groups(identities, &large);
        let at_once = if self.link.is_cluster() {
            READS.1
        } else {
            READS.0
        };
        for groups in groups.chunks(at_once) {
            let reads = groups.iter();
            let reads = reads.map(|group| self.read_whole(identities, group, deadline));
            for (place, stored) in join_all(reads).await.into_iter().flatten() {
                let before = std::mem::replace(&mut loaded[place], Err(unexpected()));
                loaded[place] = before
                    .and_then(|Loaded { now, .. }| stored.map(|stored| Loaded { stored, now }));
            }
        }
        loaded
    }

    /// Cuts places with lengths into groups that one reply may hold.
    fn large_groups<'a>(
        &self,
        identities: &[Identity],
        large: &'a [(usize, usize)],
    ) -> Vec<&'a [(usize, usize)]> {
        let bucket = |place: usize| self.keys.bucket(&identities[place]);
        let mut bytes = 0;
        large
            .chunk_by(|(a, len), (b, next)| {
                bytes += len;
                let together = bucket(*a) == bucket(*b) && bytes + next <= BYTES_MAX;
                bytes = if together { bytes } else { 0 };
                together
            })
            .flat_map(|group| group.chunks(ITEMS_MAX))
            .collect()
    }

    /// The records at the places of a group, as they are.
    async fn read_whole(
        &self,
        identities: &[Identity],
        group: &[(usize, usize)],
        deadline: Instant,
    ) -> Vec<(usize, Result<Option<Stored>>)> {
        let keys = group
            .iter()
            .map(|(place, _)| self.keys.record(&identities[*place]));
        let read = self
            .link
            .call(Call::plain("MGET").keys(keys), deadline)
            .await;
        let values = read.and_then(reply::array);
        let values: Vec<Result<Value>> = match values {
            Ok(values) => values.into_iter().map(Ok).collect(),
            Err(error) => group.iter().map(|_| Err(error.duplicate())).collect(),
        };
        let stored = |(&(place, _), value): (&(usize, usize), Result<Value>)| {
            let identity = &identities[place];
            let whole = |bytes: Bytes| {
                let (len, bucket) = (bytes.len(), self.keys.bucket(identity));
                records::decode(bytes, len, identity, bucket)
            };
            let bytes = value.and_then(reply::bytes);
            (place, bytes.and_then(|bytes| bytes.map(whole).transpose()))
        };
        group.iter().zip(values).map(stored).collect()
    }
}
