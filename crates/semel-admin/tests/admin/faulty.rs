//! A store that can be taken away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use semel_core::record::{Claim, Event};
use semel_core::store::{
    Answer, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, Page, Query, ReleaseAnswer,
    RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Stats,
    Swept,
};
use semel_core::{Error, Identity, Kind, Record, Store};
use tokio::sync::Semaphore;

/// How the store behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mood {
    Well,
    /// Every call fails.
    Away,
    /// No call is answered.
    Hanging,
    /// Calls are answered one by one, as [`Faulty::let_pass`] says.
    Held,
}

#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Arc<dyn Store>,
    mood: AtomicU8,
    passes: Semaphore,
    /// A signal for each call that has come.
    pub(crate) arrived: Semaphore,
}

impl Faulty {
    pub(crate) fn around(inner: Arc<dyn Store>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            mood: AtomicU8::new(Mood::Well as u8),
            passes: Semaphore::new(0),
            arrived: Semaphore::new(0),
        })
    }

    pub(crate) fn set(&self, mood: Mood) {
        self.mood.store(mood as u8, Ordering::SeqCst);
    }

    /// Lets held calls pass.
    pub(crate) fn let_pass(&self, calls: usize) {
        self.passes.add_permits(calls);
    }

    fn call<'a, T: Send + 'a>(
        &'a self,
        call: impl FnOnce(&'a dyn Store) -> Answer<'a, T> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(async move {
            self.arrived.add_permits(1);
            let mood = self.mood.load(Ordering::SeqCst);
            if mood == Mood::Away as u8 {
                return Err(Error::new(Kind::Unavailable, "gone to lunch"));
            }
            if mood == Mood::Hanging as u8 {
                std::future::pending::<()>().await;
            }
            if mood == Mood::Held as u8 {
                self.passes.acquire().await.unwrap().forget();
            }
            call(self.inner.as_ref()).await
        })
    }
}

impl Store for Faulty {
    fn claim(&self, items: Vec<ClaimRequest>) -> Answer<'_, Vec<ClaimAnswer>> {
        self.call(|store| store.claim(items))
    }

    fn renew(&self, items: Vec<RenewRequest>) -> Answer<'_, Vec<RenewAnswer>> {
        self.call(|store| store.renew(items))
    }

    fn settle(&self, items: Vec<SettleRequest>) -> Answer<'_, Vec<SettleAnswer>> {
        self.call(|store| store.settle(items))
    }

    fn release(&self, items: Vec<Claim>) -> Answer<'_, Vec<ReleaseAnswer>> {
        self.call(|store| store.release(items))
    }

    fn mark_unknown(&self, items: Vec<MarkRequest>) -> Answer<'_, Vec<MarkAnswer>> {
        self.call(|store| store.mark_unknown(items))
    }

    fn resolve(&self, items: Vec<ResolveRequest>) -> Answer<'_, Vec<ResolveAnswer>> {
        self.call(|store| store.resolve(items))
    }

    fn look_up(&self, identities: Vec<Identity>) -> Answer<'_, Vec<Option<Arc<Record>>>> {
        self.call(|store| store.look_up(identities))
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        self.call(|store| store.history(identity))
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        self.call(|store| store.list(query))
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        self.call(move |store| store.sweep(limit))
    }

    fn stats(&self) -> Answer<'_, Stats> {
        self.call(|store| store.stats())
    }
}
