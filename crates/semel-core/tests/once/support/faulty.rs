//! A store that fails on demand: away, slow to answer, or answering into the void.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

pub(crate) use semel_core::store::Verb;
use semel_core::store::{Answers, Layer, each_fails};
use semel_core::{Error, Kind, MemoryStore, Store};
use tokio::sync::Notify;

use super::effects::Gate;

/// What happens to calls of a verb.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// The store cannot be reached: nothing is done.
    Away,
    /// The store fails with an error of this kind: nothing is done.
    Fails(Kind),
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
}

fn away() -> Error {
    Error::new(Kind::Unavailable, "the store is away")
}

impl Layer for FaultyStore {
    fn beneath(&self) -> &dyn Store {
        &self.memory
    }

    fn around<'a, A: Send + 'a>(
        &'a self,
        verb: Verb,
        items: usize,
        call: impl FnOnce() -> Answers<'a, A> + Send + 'a,
    ) -> Answers<'a, A> {
        *self.calls.lock().unwrap().entry(verb).or_default() += 1;
        self.called.notify_waiters();
        let fault = self.faults.lock().unwrap().get(&verb).cloned();
        Box::pin(async move {
            match fault {
                None => call().await,
                Some(Fault::Away) => each_fails(items, &away()),
                Some(Fault::Fails(kind)) => each_fails(items, &Error::new(kind, "the store fails")),
                Some(Fault::AnswerLost) => {
                    drop(call().await);
                    each_fails(items, &away())
                }
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
