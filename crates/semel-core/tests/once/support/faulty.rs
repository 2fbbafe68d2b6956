//! A store that fails on demand: away, slow to answer, or answering into the void.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_core::store::{
    Answer, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, Page, Query, ReleaseAnswer,
    RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Stats,
    Swept,
};
use semel_core::{Claim, Error, Event, Identity, Kind, MemoryStore, Record, Store};
use tokio::sync::Notify;

use super::effects::Gate;

/// The verbs that can be made to fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Verb {
    Claim,
    Renew,
    Settle,
    Release,
    Mark,
    Resolve,
    LookUp,
}

/// What happens to calls of a verb.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// The store cannot be reached: nothing is done.
    Away,
    /// The store refuses for good.
    Broken,
    /// Everything is done, but the answer is lost.
    AnswerLost,
    /// The answer comes after this time.
    Slow(Duration),
    /// The call waits at the gate before anything is done.
    Gated(Gate),
}

/// A store in memory behind faults.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    memory: MemoryStore,
    faults: Mutex<HashMap<Verb, Fault>>,
    calls: Mutex<HashMap<Verb, usize>>,
    called: Notify,
}

impl FaultyStore {
    pub(crate) fn new(memory: MemoryStore) -> Self {
        Self {
            memory,
            faults: Mutex::default(),
            calls: Mutex::default(),
            called: Notify::new(),
        }
    }

    /// From now on calls of `verb` suffer `fault`.
    pub(crate) fn set(&self, verb: Verb, fault: Fault) {
        self.faults.lock().unwrap().insert(verb, fault);
    }

    /// From now on calls of `verb` work again.
    pub(crate) fn heal(&self, verb: Verb) {
        self.faults.lock().unwrap().remove(&verb);
    }

    /// How often `verb` was called.
    pub(crate) fn calls(&self, verb: Verb) -> usize {
        self.calls.lock().unwrap().get(&verb).copied().unwrap_or(0)
    }

    /// Waits until `verb` was called `calls` times.
    pub(crate) async fn called(&self, verb: Verb, calls: usize) {
        loop {
            let more = self.called.notified();
            if self.calls(verb) >= calls {
                return;
            }
            more.await;
        }
    }

    /// The store without its faults.
    pub(crate) fn memory(&self) -> &MemoryStore {
        &self.memory
    }

    fn suffer<'a, T: Send + 'a>(
        &'a self,
        verb: Verb,
        call: impl FnOnce() -> Answer<'a, T> + Send + 'a,
    ) -> Answer<'a, T> {
        *self.calls.lock().unwrap().entry(verb).or_default() += 1;
        self.called.notify_waiters();
        let fault = self.faults.lock().unwrap().get(&verb).cloned();
        Box::pin(async move {
            match fault {
                None => call().await,
                Some(Fault::Away) => Err(away()),
                Some(Fault::Broken) => Err(Error::new(Kind::Internal, "the store is broken")),
                Some(Fault::AnswerLost) => call().await.and_then(|_lost| Err(away())),
                Some(Fault::Slow(delay)) => {
                    let answer = call().await;
                    tokio::time::sleep(delay).await;
                    answer
                }
                Some(Fault::Gated(gate)) => {
                    gate.pass().await;
                    call().await
                }
            }
        })
    }
}

fn away() -> Error {
    Error::new(Kind::Unavailable, "the store is away")
}

impl Store for FaultyStore {
    fn claim(&self, items: Vec<ClaimRequest>) -> Answer<'_, Vec<ClaimAnswer>> {
        self.suffer(Verb::Claim, || self.memory.claim(items))
    }

    fn renew(&self, items: Vec<RenewRequest>) -> Answer<'_, Vec<RenewAnswer>> {
        self.suffer(Verb::Renew, || self.memory.renew(items))
    }

    fn settle(&self, items: Vec<SettleRequest>) -> Answer<'_, Vec<SettleAnswer>> {
        self.suffer(Verb::Settle, || self.memory.settle(items))
    }

    fn release(&self, items: Vec<Claim>) -> Answer<'_, Vec<ReleaseAnswer>> {
        self.suffer(Verb::Release, || self.memory.release(items))
    }

    fn mark_unknown(&self, items: Vec<MarkRequest>) -> Answer<'_, Vec<MarkAnswer>> {
        self.suffer(Verb::Mark, || self.memory.mark_unknown(items))
    }

    fn resolve(&self, items: Vec<ResolveRequest>) -> Answer<'_, Vec<ResolveAnswer>> {
        self.suffer(Verb::Resolve, || self.memory.resolve(items))
    }

    fn look_up(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<Arc<Record>>>> {
        self.suffer(Verb::LookUp, || self.memory.look_up(identities))
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        self.memory.history(identity)
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        self.memory.list(query)
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        self.memory.sweep(limit)
    }

    fn stats(&self) -> Answer<'_, Stats> {
        self.memory.stats()
    }
}
