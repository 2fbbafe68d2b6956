//! A store that fails, or stands still, before or after one call of a verb.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use semel_core::record::Claim;
use semel_core::store::{
    Answer, Answers, Batch, KeepAnswer, KeepRequest, Layer, NoteRequest, OutcomeStore, Room, Verb,
    each_fails,
};
use semel_core::{Error, Kind, Result, Store};
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

    async fn before(&self, fault: Option<Fault>) -> Result<()> {
        match fault {
            Some(Fault::FailBefore) => return Err(away()),
            Some(Fault::StandBefore) => self.stand().await,
            Some(Fault::FailAfter | Fault::StandAfter) | None => {}
        }
        Ok(())
    }

    async fn after(&self, fault: Option<Fault>) -> Result<()> {
        match fault {
            Some(Fault::FailAfter) => return Err(away()),
            Some(Fault::StandAfter) => self.stand().await,
            Some(Fault::FailBefore | Fault::StandBefore) | None => {}
        }
        Ok(())
    }

    fn through<'a, A: Send + 'a>(
        &'a self,
        verb: &'static str,
        items: usize,
        call: impl FnOnce() -> Answers<'a, A> + Send + 'a,
    ) -> Answers<'a, A> {
        Box::pin(async move {
            let fault = self.due(verb);
            if let Err(away) = self.before(fault).await {
                return each_fails(items, &away);
            }
            let answers = call().await;
            match self.after(fault).await {
                Ok(()) => answers,
                Err(away) => each_fails(items, &away),
            }
        })
    }
}

fn away() -> Error {
    Error::new(Kind::Unavailable, "the store is away")
}

impl Layer for Faulty {
    fn beneath(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn around<'a, A: Send + 'a>(
        &'a self,
        verb: Verb,
        items: usize,
        call: impl FnOnce() -> Answers<'a, A> + Send + 'a,
    ) -> Answers<'a, A> {
        self.through(verb.name(), items, call)
    }

    fn around_question<'a, A: Send + 'a>(
        &'a self,
        verb: Verb,
        call: impl FnOnce() -> Answer<'a, A> + Send + 'a,
    ) -> Answer<'a, A> {
        Box::pin(async move {
            let fault = self.due(verb.name());
            self.before(fault).await?;
            let answer = call().await;
            self.after(fault).await?;
            answer
        })
    }
}

impl OutcomeStore for Faulty {
    fn check(&self, items: Batch<Claim>) -> Answers<'_, Room> {
        self.through("check", items.len(), move || self.inner.check(items))
    }

    fn keep(&self, items: Batch<KeepRequest>) -> Answers<'_, KeepAnswer> {
        self.through("keep", items.len(), move || self.inner.keep(items))
    }

    fn bar(&self, items: Batch<Claim>) -> Answers<'_, Room> {
        self.through("bar", items.len(), move || self.inner.bar(items))
    }

    fn note(&self, items: Batch<NoteRequest>) -> Answers<'_, ()> {
        self.through("note", items.len(), move || self.inner.note(items))
    }
}
