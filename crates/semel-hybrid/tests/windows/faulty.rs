//! A store that fails, or stands still, before or after one call of a verb.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use semel_core::record::{Claim, Event};
use semel_core::store::{
    Answer, ClaimAnswer, ClaimRequest, KeepAnswer, KeepRequest, MarkAnswer, MarkRequest,
    NoteRequest, OutcomeStore, Page, Query, ReleaseAnswer, RenewAnswer, RenewRequest,
    ResolveAnswer, ResolveRequest, Room, SettleAnswer, SettleRequest, Stats, Swept,
};
use semel_core::{Error, Identity, Kind, Record, Result, Store};
use tokio::sync::Notify;

/// What happens to the next call of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It fails and nothing was done.
    FailBefore,
    /// It is done, and its answer is lost.
    FailAfter,
    /// It stands still before anything is done.
    StandBefore,
    /// It is done and stands still.
    StandAfter,
}

#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Arc<dyn OutcomeStore>,
    fault: Mutex<Option<(&'static str, Fault)>>,
    away: AtomicBool,
    reached: Notify,
    go: Notify,
    calls: Mutex<Vec<&'static str>>,
}

impl Faulty {
    pub(crate) fn new(inner: Arc<dyn OutcomeStore>) -> Arc<Self> {
        Arc::new(Self {
            inner,
            fault: Mutex::default(),
            away: AtomicBool::new(false),
            reached: Notify::new(),
            go: Notify::new(),
            calls: Mutex::default(),
        })
    }

    /// The next call of `verb` goes wrong.
    pub(crate) fn next(&self, verb: &'static str, fault: Fault) {
        *self.fault.lock().unwrap() = Some((verb, fault));
    }

    /// Every call fails from now on, or no longer does.
    pub(crate) fn set_away(&self, away: bool) {
        self.away.store(away, Ordering::SeqCst);
    }

    /// Waits until a call stands still.
    pub(crate) async fn reached(&self) {
        self.reached.notified().await;
    }

    /// Lets the call that stands still go on.
    pub(crate) fn go_on(&self) {
        self.go.notify_one();
    }

    /// The verbs that were called since this was last asked.
    pub(crate) fn calls(&self) -> Vec<&'static str> {
        std::mem::take(&mut self.calls.lock().unwrap())
    }

    fn due(&self, verb: &'static str) -> Option<Fault> {
        self.calls.lock().unwrap().push(verb);
        if self.away.load(Ordering::SeqCst) {
            return Some(Fault::FailBefore);
        }
        let mut fault = self.fault.lock().unwrap();
        fault
            .take_if(|(due, _)| *due == verb)
            .map(|(_, fault)| fault)
    }

    async fn stand(&self) {
        self.reached.notify_one();
        self.go.notified().await;
    }

    fn through<'a, T: Send + 'a>(
        &'a self,
        verb: &'static str,
        call: impl FnOnce(&'a dyn OutcomeStore) -> Answer<'a, T> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(async move {
            let fault = self.due(verb);
            match fault {
                Some(Fault::FailBefore) => return away(),
                Some(Fault::StandBefore) => self.stand().await,
                Some(Fault::FailAfter | Fault::StandAfter) | None => {}
            }
            let answer = call(self.inner.as_ref()).await;
            match fault {
                Some(Fault::FailAfter) => return away(),
                Some(Fault::StandAfter) => self.stand().await,
                Some(Fault::FailBefore | Fault::StandBefore) | None => {}
            }
            answer
        })
    }
}

fn away<T>() -> Result<T> {
    Err(Error::new(Kind::Unavailable, "the store is away"))
}

macro_rules! verbs {
    ($($verb:ident($items:ty) -> $answer:ty;)+) => {
        $(fn $verb(&self, items: $items) -> Answer<'_, $answer> {
            self.through(stringify!($verb), move |store| store.$verb(items))
        })+
    };
}

impl Store for Faulty {
    verbs! {
        claim(Vec<ClaimRequest>) -> Vec<ClaimAnswer>;
        renew(Vec<RenewRequest>) -> Vec<RenewAnswer>;
        settle(Vec<SettleRequest>) -> Vec<SettleAnswer>;
        release(Vec<Claim>) -> Vec<ReleaseAnswer>;
        mark_unknown(Vec<MarkRequest>) -> Vec<MarkAnswer>;
        resolve(Vec<ResolveRequest>) -> Vec<ResolveAnswer>;
        look_up(Vec<Identity>) -> Vec<Option<Arc<Record>>>;
        history(Identity) -> Vec<Event>;
        list(Query) -> Page;
        sweep(usize) -> Swept;
    }

    fn stats(&self) -> Answer<'_, Stats> {
        self.through("stats", |store| store.stats())
    }
}

impl OutcomeStore for Faulty {
    verbs! {
        check(Vec<Claim>) -> Vec<Room>;
        keep(Vec<KeepRequest>) -> Vec<KeepAnswer>;
        bar(Vec<Claim>) -> Vec<Room>;
        note(Vec<NoteRequest>) -> ();
    }
}
