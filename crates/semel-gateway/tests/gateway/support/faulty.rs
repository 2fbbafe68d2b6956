//! A store that fails on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use semel_core::store::{
    Answer, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, Page, Query, ReleaseAnswer,
    RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Stats,
    Swept,
};
use semel_core::{Claim, Error, Event, Identity, Kind, MemoryStore, Record, Store};

/// A store in memory that can be away.
#[derive(Debug, Default)]
pub(crate) struct FaultyStore {
    memory: MemoryStore,
    is_away: AtomicBool,
}

impl FaultyStore {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn go_away(&self) {
        self.is_away.store(true, Ordering::SeqCst);
    }

    pub(crate) fn come_back(&self) {
        self.is_away.store(false, Ordering::SeqCst);
    }

    fn unless_away<'a, T: Send + 'a>(
        &'a self,
        call: impl FnOnce() -> Answer<'a, T>,
    ) -> Answer<'a, T> {
        match self.is_away.load(Ordering::SeqCst) {
            true => Box::pin(async { Err(Error::new(Kind::Unavailable, "the store is away")) }),
            false => call(),
        }
    }
}

impl Store for FaultyStore {
    fn claim(&self, items: Vec<ClaimRequest>) -> Answer<'_, Vec<ClaimAnswer>> {
        self.unless_away(|| self.memory.claim(items))
    }

    fn renew(&self, items: Vec<RenewRequest>) -> Answer<'_, Vec<RenewAnswer>> {
        self.unless_away(|| self.memory.renew(items))
    }

    fn settle(&self, items: Vec<SettleRequest>) -> Answer<'_, Vec<SettleAnswer>> {
        self.unless_away(|| self.memory.settle(items))
    }

    fn release(&self, items: Vec<Claim>) -> Answer<'_, Vec<ReleaseAnswer>> {
        self.unless_away(|| self.memory.release(items))
    }

    fn mark_unknown(&self, items: Vec<MarkRequest>) -> Answer<'_, Vec<MarkAnswer>> {
        self.unless_away(|| self.memory.mark_unknown(items))
    }

    fn resolve(&self, items: Vec<ResolveRequest>) -> Answer<'_, Vec<ResolveAnswer>> {
        self.unless_away(|| self.memory.resolve(items))
    }

    fn look_up(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<Arc<Record>>>> {
        self.unless_away(|| self.memory.look_up(identities))
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        self.unless_away(|| self.memory.history(identity))
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        self.unless_away(|| self.memory.list(query))
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        self.unless_away(|| self.memory.sweep(limit))
    }

    fn stats(&self) -> Answer<'_, Stats> {
        self.unless_away(|| self.memory.stats())
    }
}
