//! A read cache of settled records in front of any store.
//!
//! A settled record does not change until its retention ends, so a duplicate can be answered from
//! memory. The cache holds settled records only, compares the fingerprint like the store does, and
//! never says "absent": what it does not know, the store is asked.
//!
//! The one thing that removes a settled record early is an operator's hand. In this process
//! the cache sees it; in another process it is unseen, so an entry is believed for [`AGE_MAX`] only.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::clock::Timestamp;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::identity::{Digest, Identity};
use crate::record::{Record, State};
use crate::store::{
    Answers, Batch, ClaimAnswer, ClaimRequest, Layer, ResolveAnswer, ResolveRequest, Store,
};

/// How long an entry is believed.
pub const AGE_MAX: Duration = Duration::from_secs(5);
/// What an entry costs besides its body and headers, in bytes, roughly.
const ENTRY_BYTES: usize = 512;

/// A store that answers duplicates of settled operations from memory where it can.
#[derive(Debug)]
pub struct Cached {
    store: Arc<dyn Store>,
    // Held for a look and a clone of one pointer, never across an await.
    entries: Mutex<Entries>,
    hits: AtomicU64,
    misses: AtomicU64,
}

impl Cached {
    /// In front of `store`, with at most `bytes_max` of records.
    pub fn new(store: Arc<dyn Store>, bytes_max: usize) -> Self {
        Self {
            store,
            entries: Mutex::new(Entries::new(bytes_max)),
            hits: AtomicU64::new(0),
            misses: AtomicU64::new(0),
        }
    }

    /// How many claims were answered from memory, and how many had to ask the store.
    pub fn lookups(&self) -> (u64, u64) {
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        (read(&self.hits), read(&self.misses))
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // The entries are whole after every statement, so a poisoned lock protects nothing.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, identity: &Identity, fingerprint: Fingerprint) -> Option<Arc<Record>> {
        let now = self.store.now();
        let record = self.entries().get(identity.digest(), now)?;
        (record.fingerprint == fingerprint).then_some(record)
    }

    /// What the store answered to a question that was asked at `asked`. Nothing is learned if an
    /// operator decided about anything meanwhile: the answer may be from before.
    fn learn(&self, answers: &[Result<ClaimAnswer>], asked: (Timestamp, u64)) {
        let mut entries = self.entries();
        if entries.decisions != asked.1 {
            return;
        }
        for answer in answers {
            if let Ok(ClaimAnswer::Settled(record)) = answer {
                entries.put(record, asked.0);
            }
        }
    }
}

/// Two generations: what was asked for lately, and what was before. When the first is full it takes
/// the place of the second, so what nobody asks for is forgotten.
#[derive(Debug)]
struct Entries {
    young: HashMap<Digest, Entry>,
    old: HashMap<Digest, Entry>,
    young_bytes: usize,
    /// How often an operator has decided about records.
    decisions: u64,
    generation_bytes_max: usize,
}

#[derive(Debug, Clone)]
struct Entry {
    record: Arc<Record>,
    learned: Timestamp,
}

impl Entry {
    /// Whether it may still be served.
    fn is_good(&self, now: Timestamp) -> bool {
        let kept = match &self.record.state {
            State::Settled(settled) => now < settled.expires_at,
            State::Running { .. } | State::Unknown { .. } => false,
        };
        kept && now < self.learned.after(AGE_MAX) && now >= self.learned
    }

    fn bytes(&self) -> usize {
        let State::Settled(settled) = &self.record.state else {
            return ENTRY_BYTES;
        };
        let headers: usize = settled
            .outcome
            .headers
            .iter()
            .map(|(n, v)| n.len() + v.len())
            .sum();
        let body = settled.outcome.body.kept().map_or(0, bytes::Bytes::len);
        ENTRY_BYTES + headers + body
    }
}

impl Entries {
    fn new(bytes_max: usize) -> Self {
        Self {
            young: HashMap::new(),
            old: HashMap::new(),
            young_bytes: 0,
            decisions: 0,
            generation_bytes_max: bytes_max / 2,
        }
    }

    fn get(&mut self, digest: Digest, now: Timestamp) -> Option<Arc<Record>> {
        if let Some(entry) = self.young.get(&digest) {
            return entry.is_good(now).then(|| entry.record.clone());
        }
        let entry = self
            .old
            .remove(&digest)
            .filter(|entry| entry.is_good(now))?;
        let record = entry.record.clone();
        self.insert(digest, entry);
        Some(record)
    }

    fn put(&mut self, record: &Arc<Record>, now: Timestamp) {
        let entry = Entry {
            record: record.clone(),
            learned: now,
        };
        self.insert(record.identity.digest(), entry);
    }

    fn insert(&mut self, digest: Digest, entry: Entry) {
        let bytes = entry.bytes();
        // One record must not push out all others.
        if bytes > self.generation_bytes_max / 8 {
            return;
        }
        if self.young_bytes + bytes > self.generation_bytes_max {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
        let before = self.young.insert(digest, entry);
        self.young_bytes += bytes;
        self.young_bytes -= before.map_or(0, |before| before.bytes());
    }

    fn forget(&mut self, digest: Digest) {
        self.old.remove(&digest);
        if let Some(entry) = self.young.remove(&digest) {
            self.young_bytes -= entry.bytes();
        }
    }
}

impl Layer for Cached {
    fn beneath(&self) -> &dyn Store {
        self.store.as_ref()
    }

    fn cached(&self, identity: &Identity, fingerprint: Fingerprint) -> Option<Arc<Record>> {
        let found = self.find(identity, fingerprint);
        // What is not found here is counted by the claim that follows.
        self.hits
            .fetch_add(u64::from(found.is_some()), Ordering::Relaxed);
        found.or_else(|| self.store.cached(identity, fingerprint))
    }

    /// A call of which every item is a cache hit does not reach the store.
    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        let found = items
            .iter()
            .map(|item| self.find(&item.identity, item.fingerprint));
        let found: Option<Batch<_>> = found.collect();
        if let Some(records) = found {
            self.hits.fetch_add(records.len() as u64, Ordering::Relaxed);
            let answers = records.into_iter().map(ClaimAnswer::Settled).map(Ok);
            return Box::pin(std::future::ready(answers.collect()));
        }
        self.misses.fetch_add(items.len() as u64, Ordering::Relaxed);
        let asked = (self.store.now(), self.entries().decisions);
        Box::pin(async move {
            let answers = self.store.claim(items).await;
            self.learn(&answers, asked);
            answers
        })
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        Box::pin(async move {
            let digests: Batch<_> = items.iter().map(|i| i.claim.identity.digest()).collect();
            let resolved = self.store.resolve(items).await;
            let mut entries = self.entries();
            entries.decisions += 1;
            digests
                .into_iter()
                .for_each(|digest| entries.forget(digest));
            resolved
        })
    }
}

#[cfg(test)]
mod tests;
