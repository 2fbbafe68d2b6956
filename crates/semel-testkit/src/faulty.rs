//! A store that goes wrong as a test says, in front of any other.
//!
//! A fault strikes all calls ([`Faulty::set_all`]), the calls of one verb ([`Faulty::set`]), the next call
//! of one ([`Faulty::next`]), or calls that a seed chooses ([`Faulty::sometimes`]). The most particular one
//! counts. What no fault strikes goes to the store beneath.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::record::{Claim, Record};
use semel_core::store::{
    Answer, Answers, Batch, ClaimAnswer, ClaimRequest, KeepAnswer, KeepRequest, Layer, MarkAnswer,
    MarkRequest, NoteRequest, OutcomeStore, ReleaseAnswer, RenewAnswer, RenewRequest,
    ResolveAnswer, ResolveRequest, Room, SettleAnswer, SettleRequest, Verb, each_fails, merge,
};
use semel_core::{Error, Identity, Kind, Result, Store};
use tokio::sync::Notify;

use crate::gate::Gate;
use crate::random::Random;

/// What happens to a call.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The store cannot be reached: nothing is done.
    Away,
    /// Nothing is done, and every item fails with an error of this kind.
    Fails(Kind),
    /// Nothing is done for the items at these positions; the others reach the store.
    FailsItems(Vec<usize>, Kind),
    /// Everything is done, and the answer is lost.
    AnswerLost,
    /// The answer comes after this time.
    Slow(Duration),
    /// The call waits at the gate before anything is done. At a gate that stays closed, it hangs.
    Gated(Gate),
    /// Everything is done, and the answer waits at the gate.
    GatedAfter(Gate),
}

/// What is called: a verb of [`Store`] or one of [`OutcomeStore`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Call {
    /// A verb of every store.
    Store(Verb),
    /// [`OutcomeStore::check`].
    Check,
    /// [`OutcomeStore::keep`].
    Keep,
    /// [`OutcomeStore::bar`].
    Bar,
    /// [`OutcomeStore::note`].
    Note,
}

impl From<Verb> for Call {
    fn from(verb: Verb) -> Self {
        Self::Store(verb)
    }
}

/// A store behind faults.
#[derive(Debug)]
pub struct Faulty {
    store: Arc<dyn Store>,
    outcomes: Option<Arc<dyn OutcomeStore>>,
    script: Mutex<Script>,
    called: Notify,
}

#[derive(Debug, Default)]
struct Script {
    next: Vec<(Call, Fault)>,
    by_call: HashMap<Call, Fault>,
    all: Option<Fault>,
    sometimes: Option<(Random, u64, Fault)>,
    calls: Vec<Call>,
}

impl Script {
    fn strike(&mut self, call: Call) -> Option<Fault> {
        self.calls.push(call);
        if let Some(due) = self.next.iter().position(|(next, _)| *next == call) {
            return Some(self.next.remove(due).1);
        }
        let fault = self.by_call.get(&call).or(self.all.as_ref());
        if fault.is_some() {
            return fault.cloned();
        }
        let (random, percent, fault) = self.sometimes.as_mut()?;
        random.chance(*percent).then(|| fault.clone())
    }
}

impl Faulty {
    /// `store` without a fault.
    pub fn new(store: Arc<dyn Store>) -> Arc<Self> {
        Self::over(store, None)
    }

    /// `store`, which keeps outcomes, without a fault.
    pub fn keeping_outcomes(store: Arc<dyn OutcomeStore>) -> Arc<Self> {
        Self::over(store.clone(), Some(store))
    }

    fn over(store: Arc<dyn Store>, outcomes: Option<Arc<dyn OutcomeStore>>) -> Arc<Self> {
        Arc::new(Self {
            store,
            outcomes,
            script: Mutex::default(),
            called: Notify::new(),
        })
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The store without its faults.
    pub fn beneath(&self) -> &dyn Store {
        self.store.as_ref()
    }

    /// From now on every call suffers `fault`.
    pub fn set_all(&self, fault: Fault) {
        self.script().all = Some(fault);
    }

    /// From now on every call of `call` suffers `fault`.
    pub fn set(&self, call: impl Into<Call>, fault: Fault) {
        self.script().by_call.insert(call.into(), fault);
    }

    /// The next call of `call` suffers `fault`.
    pub fn next(&self, call: impl Into<Call>, fault: Fault) {
        self.script().next.push((call.into(), fault));
    }

    /// From now on `percent` of all calls suffer `fault`, the same ones for the same seed and order of calls.
    pub fn sometimes(&self, seed: u64, percent: u64, fault: Fault) {
        self.script().sometimes = Some((Random::new(seed), percent, fault));
    }

    /// From now on calls of `call` work again.
    pub fn heal(&self, call: impl Into<Call>) {
        self.script().by_call.remove(&call.into());
    }

    /// From now on every call works again.
    pub fn heal_all(&self) {
        let mut script = self.script();
        let calls = std::mem::take(&mut script.calls);
        *script = Script {
            calls,
            ..Script::default()
        };
    }

    /// How often `call` was called.
    pub fn calls(&self, call: impl Into<Call>) -> usize {
        let call = call.into();
        let script = self.script();
        script.calls.iter().filter(|made| **made == call).count()
    }

    /// What was called since this was last asked, in order.
    pub fn take_calls(&self) -> Vec<Call> {
        std::mem::take(&mut self.script().calls)
    }

    /// Waits until `call` was called `calls` times.
    pub async fn called(&self, call: impl Into<Call>, calls: usize) {
        let call = call.into();
        loop {
            let more = self.called.notified();
            if self.calls(call) >= calls {
                return;
            }
            more.await;
        }
    }

    fn strike(&self, call: Call) -> Option<Fault> {
        let fault = self.script().strike(call);
        self.called.notify_waiters();
        fault
    }

    fn outcomes(&self) -> &dyn OutcomeStore {
        let outcomes = self.outcomes.as_deref();
        outcomes.expect("a store that keeps outcomes beneath the faults")
    }

    fn through<'a, I: Send + 'a, A: Send + 'a>(
        &self,
        call: Call,
        items: Batch<I>,
        verb: impl FnOnce(Batch<I>) -> Answers<'a, A> + Send + 'a,
    ) -> Answers<'a, A> {
        let len = items.len();
        match self.strike(call) {
            None => verb(items),
            Some(Fault::FailsItems(failing, kind)) => Box::pin(without(items, failing, kind, verb)),
            Some(fault) => Box::pin(async move {
                if let Err(error) = fault.before().await {
                    return each_fails(len, &error);
                }
                let answers = verb(items).await;
                match fault.after().await {
                    Ok(()) => answers,
                    Err(error) => each_fails(len, &error),
                }
            }),
        }
    }
}

/// Calls `verb` without the items at the positions `failing`, which fail.
async fn without<'a, I, A>(
    items: Batch<I>,
    failing: Vec<usize>,
    kind: Kind,
    verb: impl FnOnce(Batch<I>) -> Answers<'a, A>,
) -> Batch<Result<A>> {
    let (mut rest, mut answers) = (Batch::new(), Batch::new());
    for (position, item) in items.into_iter().enumerate() {
        if failing.contains(&position) {
            answers.push(Some(Err(refused(kind))));
        } else {
            answers.push(None);
            rest.push(item);
        }
    }
    merge(answers, verb(rest).await)
}

fn refused(kind: Kind) -> Error {
    Error::new(kind, "the store was told to fail")
}

impl Fault {
    async fn before(&self) -> Result<()> {
        match self {
            Self::Away => Err(refused(Kind::Unavailable)),
            Self::Fails(kind) | Self::FailsItems(_, kind) => Err(refused(*kind)),
            Self::Gated(gate) => {
                gate.pass().await;
                Ok(())
            }
            Self::AnswerLost | Self::Slow(_) | Self::GatedAfter(_) => Ok(()),
        }
    }

    async fn after(&self) -> Result<()> {
        match self {
            Self::AnswerLost => return Err(refused(Kind::Unavailable)),
            Self::Slow(delay) => tokio::time::sleep(*delay).await,
            Self::GatedAfter(gate) => gate.pass().await,
            Self::Away | Self::Fails(_) | Self::FailsItems(..) | Self::Gated(_) => {}
        }
        Ok(())
    }
}

macro_rules! through {
    ($store:ident: $($verb:ident($item:ty) -> $answer:ty, $call:expr;)+) => {
        $(fn $verb(&self, items: Batch<$item>) -> Answers<'_, $answer> {
            self.through($call, items, |items| self.$store().$verb(items))
        })+
    };
}

impl Layer for Faulty {
    fn beneath(&self) -> &dyn Store {
        self.beneath()
    }

    fn around_question<'a, A: Send + 'a>(
        &'a self,
        verb: Verb,
        call: impl FnOnce() -> Answer<'a, A> + Send + 'a,
    ) -> Answer<'a, A> {
        match self.strike(verb.into()) {
            None => call(),
            Some(fault) => Box::pin(async move {
                fault.before().await?;
                let answer = call().await;
                fault.after().await?;
                answer
            }),
        }
    }

    through! { beneath:
        claim(ClaimRequest) -> ClaimAnswer, Call::Store(Verb::Claim);
        renew(RenewRequest) -> RenewAnswer, Call::Store(Verb::Renew);
        settle(SettleRequest) -> SettleAnswer, Call::Store(Verb::Settle);
        release(Claim) -> ReleaseAnswer, Call::Store(Verb::Release);
        mark_unknown(MarkRequest) -> MarkAnswer, Call::Store(Verb::MarkUnknown);
        resolve(ResolveRequest) -> ResolveAnswer, Call::Store(Verb::Resolve);
        look_up(Identity) -> Option<Arc<Record>>, Call::Store(Verb::LookUp);
    }
}

impl OutcomeStore for Faulty {
    through! { outcomes:
        check(Claim) -> Room, Call::Check;
        keep(KeepRequest) -> KeepAnswer, Call::Keep;
        bar(Claim) -> Room, Call::Bar;
        note(NoteRequest) -> (), Call::Note;
    }
}
