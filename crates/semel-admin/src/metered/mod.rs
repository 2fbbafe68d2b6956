//! A store that is measured: latency, items and answers of every verb, and a log of what changed.

mod kept;
mod seen;

use std::sync::Arc;

use semel_core::record::{Claim, Event};
use semel_core::store::{
    self, ClaimAnswer, ClaimRequest, MarkAnswer, MarkRequest, Page, Query, ReleaseAnswer,
    RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer, SettleRequest, Stats,
    Swept,
};
use semel_core::{Fingerprint, Identity, Record, Store};
use tokio::time::Instant;

use crate::log;
use crate::metrics::{Metrics, Verb};
use kept::Kept;

/// A store around another one, which it measures and whose changes it logs. Cheap to clone.
///
/// It changes no answer. What it adds to a call is two readings of the clock, a few atomics, a
/// reference to the identity, and the boxed future that the trait asks for. A call whose caller
/// goes away before the answer is neither counted nor logged: nobody can tell what became of it.
///
/// ```
/// use std::sync::Arc;
/// use semel_admin::{Metered, Metrics};
/// use semel_core::{MemoryStore, Once};
///
/// let metrics = Arc::new(Metrics::new());
/// let store = Metered::new(Arc::new(MemoryStore::new()), metrics.clone());
/// let once = Once::new(store);
/// assert!(metrics.text().contains("semel_store_answers_total"));
/// ```
#[derive(Debug, Clone)]
pub struct Metered {
    inner: Arc<dyn Store>,
    metrics: Arc<Metrics>,
}

impl Metered {
    /// `inner`, measured by `metrics`.
    pub fn new(inner: Arc<dyn Store>, metrics: Arc<Metrics>) -> Self {
        Self { inner, metrics }
    }

    /// The store that is measured, for questions that are not to be counted.
    pub const fn inner(&self) -> &Arc<dyn Store> {
        &self.inner
    }

    /// Where the numbers go.
    pub const fn metrics(&self) -> &Arc<Metrics> {
        &self.metrics
    }

    /// Measures a call, and looks at its answer.
    fn measured<'a, A: Send + 'a>(
        &'a self,
        call: Call,
        answer: store::Answer<'a, A>,
        see: impl FnOnce(&Metrics, &A) + Send + 'a,
    ) -> store::Answer<'a, A> {
        Box::pin(async move {
            let answer = answer.await;
            let Call { verb, items, begun } = call;
            self.metrics.verbs.called(verb, items, begun.elapsed());
            match &answer {
                Ok(answer) => see(&self.metrics, answer),
                Err(error) => self.metrics.verbs.failed(verb, error.kind()),
            }
            answer
        })
    }
}

/// A call of a verb. It begins before the store hears of it: some stores work from then on,
/// others only when they are polled.
struct Call {
    verb: Verb,
    items: usize,
    begun: Instant,
}

impl Call {
    fn begin(verb: Verb, items: usize) -> Self {
        let begun = Instant::now();
        Self { verb, items, begun }
    }
}

impl Store for Metered {
    /// Not counted: no store is asked.
    fn at_hand(&self, identity: &Identity, fingerprint: Fingerprint) -> Option<Arc<Record>> {
        self.inner.at_hand(identity, fingerprint)
    }

    fn claim(&self, items: Vec<ClaimRequest>) -> store::Answer<'_, Vec<ClaimAnswer>> {
        let kept = Kept::of(&items, |item| item.identity.clone());
        let call = Call::begin(Verb::Claim, items.len());
        self.measured(call, self.inner.claim(items), move |metrics, answers| {
            let each = kept.with(answers);
            each.for_each(|(identity, answer)| seen::claim(metrics, identity, answer));
        })
    }

    fn renew(&self, items: Vec<RenewRequest>) -> store::Answer<'_, Vec<RenewAnswer>> {
        let kept = Kept::of(&items, |item| item.claim.clone());
        let call = Call::begin(Verb::Renew, items.len());
        self.measured(call, self.inner.renew(items), move |metrics, answers| {
            let each = kept.with(answers);
            each.for_each(|(claim, answer)| seen::renew(metrics, claim, answer));
        })
    }

    fn settle(&self, items: Vec<SettleRequest>) -> store::Answer<'_, Vec<SettleAnswer>> {
        let kept = Kept::of(&items, |item| (item.claim.clone(), item.outcome.verdict));
        let call = Call::begin(Verb::Settle, items.len());
        self.measured(call, self.inner.settle(items), move |metrics, answers| {
            let each = kept.with(answers);
            each.for_each(|(item, answer)| seen::settle(metrics, item, answer));
        })
    }

    fn release(&self, items: Vec<Claim>) -> store::Answer<'_, Vec<ReleaseAnswer>> {
        let kept = Kept::of(&items, Claim::clone);
        let call = Call::begin(Verb::Release, items.len());
        self.measured(call, self.inner.release(items), move |metrics, answers| {
            let each = kept.with(answers);
            each.for_each(|(claim, answer)| seen::release(metrics, claim, answer));
        })
    }

    fn mark_unknown(&self, items: Vec<MarkRequest>) -> store::Answer<'_, Vec<MarkAnswer>> {
        let kept = Kept::of(&items, |item| (item.claim.clone(), item.cause));
        let call = Call::begin(Verb::MarkUnknown, items.len());
        let marked = self.inner.mark_unknown(items);
        self.measured(call, marked, move |metrics, answers| {
            let each = kept.with(answers);
            each.for_each(|(item, answer)| seen::mark_unknown(metrics, item, answer));
        })
    }

    fn resolve(&self, items: Vec<ResolveRequest>) -> store::Answer<'_, Vec<ResolveAnswer>> {
        let kept = Kept::of(&items, |item| {
            let how = log::How::of(&item.resolution);
            (item.claim.clone(), item.by.clone(), how)
        });
        let call = Call::begin(Verb::Resolve, items.len());
        self.measured(call, self.inner.resolve(items), move |metrics, answers| {
            let each = kept.with(answers);
            each.for_each(|(item, answer)| seen::resolve(metrics, item, answer));
        })
    }

    fn look_up(&self, identities: Vec<Identity>) -> store::Answer<'_, Vec<Option<Arc<Record>>>> {
        let call = Call::begin(Verb::LookUp, identities.len());
        self.measured(call, self.inner.look_up(identities), |_, _| {})
    }

    fn history(&self, identity: Identity) -> store::Answer<'_, Vec<Event>> {
        let call = Call::begin(Verb::History, 1);
        self.measured(call, self.inner.history(identity), |_, _| {})
    }

    fn list(&self, query: Query) -> store::Answer<'_, Page> {
        let call = Call::begin(Verb::List, 1);
        self.measured(call, self.inner.list(query), |_, _| {})
    }

    fn sweep(&self, limit: usize) -> store::Answer<'_, Swept> {
        let call = Call::begin(Verb::Sweep, 1);
        self.measured(call, self.inner.sweep(limit), |metrics, swept| {
            metrics.count_swept(swept);
            log::swept(swept);
        })
    }

    fn stats(&self) -> store::Answer<'_, Stats> {
        let call = Call::begin(Verb::Stats, 1);
        self.measured(call, self.inner.stats(), |_, _| {})
    }
}
