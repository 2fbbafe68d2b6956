//! A store that fails on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use semel_core::store::{Answer, Answers, Layer, Verb, each_fails};
use semel_core::{Error, Kind, MemoryStore, Result, Store};

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

    fn check(&self) -> Result<()> {
        match self.is_away.load(Ordering::SeqCst) {
            true => Err(Error::new(Kind::Unavailable, "the store is away")),
            false => Ok(()),
        }
    }
}

impl Layer for FaultyStore {
    fn beneath(&self) -> &dyn Store {
        &self.memory
    }

    fn around<'a, A: Send + 'a>(
        &'a self,
        _verb: Verb,
        items: usize,
        call: impl FnOnce() -> Answers<'a, A> + Send + 'a,
    ) -> Answers<'a, A> {
        match self.check() {
            Ok(()) => call(),
            Err(away) => Box::pin(std::future::ready(each_fails(items, &away))),
        }
    }

    fn around_question<'a, A: Send + 'a>(
        &'a self,
        _verb: Verb,
        call: impl FnOnce() -> Answer<'a, A> + Send + 'a,
    ) -> Answer<'a, A> {
        match self.check() {
            Ok(()) => call(),
            Err(away) => Box::pin(std::future::ready(Err(away))),
        }
    }
}
