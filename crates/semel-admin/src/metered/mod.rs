//! A store that is measured: latency, items and answers of every verb, and a log of what changed.

mod seen;

use std::sync::Arc;

use semel_core::record::Claim;
use semel_core::store::{
    Answer, Answers, Batch, ClaimAnswer, ClaimRequest, Layer, MarkAnswer, MarkRequest,
    ReleaseAnswer, RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer,
    SettleRequest, Swept, Verb,
};
use semel_core::{Identity, Record, Store};
use tokio::time::Instant;

use crate::log;
use crate::metrics::Metrics;

/// A store around another one, which it measures and whose changes it logs. Cheap to clone.
///
/// It changes no answer. What it adds to a call is two readings of the clock, a few atomics, a
/// reference to the identity, and the boxed future that the trait asks for. A call whose caller
/// goes away before the answer is neither counted nor logged: nobody can tell what became of it.
///
/// ```
/// use std::sync::Arc;
/// use semel_admin::{Metered, Metrics};
/// use semel_core::store::StoreExt;
/// use semel_core::{Identity, MemoryStore};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> semel_core::Result<()> {
/// let metrics = Arc::new(Metrics::new());
/// let store = Metered::new(Arc::new(MemoryStore::new()), metrics.clone());
/// store.look_up_one(Identity::parse("public", "payments", "order-17")?).await?;
/// assert!(metrics.text().contains("semel_store_seconds"));
/// # Ok(())
/// # }
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

    /// Measures a call, and looks at the answer to each item.
    fn measured<'a, I: Send + 'a, A: Send + 'a>(
        &'a self,
        call: Call,
        asked: Batch<I>,
        answers: Answers<'a, A>,
        see: fn(&Metrics, I, &A),
    ) -> Answers<'a, A> {
        Box::pin(async move {
            let answers = answers.await;
            let Call { verb, items, begun } = call;
            self.metrics.verbs.called(verb, items, begun.elapsed());
            for (item, answer) in asked.into_iter().zip(&answers) {
                match answer {
                    Ok(answer) => see(&self.metrics, item, answer),
                    Err(error) => self.metrics.verbs.failed(verb, error.kind()),
                }
            }
            answers
        })
    }

    /// Measures a question.
    fn asked<'a, A: Send + 'a>(
        &'a self,
        call: Call,
        answer: Answer<'a, A>,
        see: fn(&Metrics, &A),
    ) -> Answer<'a, A> {
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

impl Layer for Metered {
    fn beneath(&self) -> &dyn Store {
        self.inner.as_ref()
    }

    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        let asked = items.iter().map(|item| item.identity.clone()).collect();
        let call = Call::begin(Verb::Claim, items.len());
        self.measured(call, asked, self.inner.claim(items), seen::claim)
    }

    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer> {
        let asked = items.iter().map(|item| item.claim.clone()).collect();
        let call = Call::begin(Verb::Renew, items.len());
        self.measured(call, asked, self.inner.renew(items), seen::renew)
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        let asked = items.iter();
        let asked = asked.map(|item| (item.claim.clone(), item.outcome.verdict));
        let (asked, call) = (asked.collect(), Call::begin(Verb::Settle, items.len()));
        self.measured(call, asked, self.inner.settle(items), seen::settle)
    }

    fn release(&self, items: Batch<Claim>) -> Answers<'_, ReleaseAnswer> {
        let call = Call::begin(Verb::Release, items.len());
        self.measured(
            call,
            items.clone(),
            self.inner.release(items),
            seen::release,
        )
    }

    fn mark_unknown(&self, items: Batch<MarkRequest>) -> Answers<'_, MarkAnswer> {
        let asked = items.iter().map(|item| (item.claim.clone(), item.cause));
        let (asked, call) = (asked.collect(), Call::begin(Verb::MarkUnknown, items.len()));
        let marked = self.inner.mark_unknown(items);
        self.measured(call, asked, marked, seen::mark_unknown)
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        let asked = items.iter().map(|item| {
            let how = log::How::of(&item.resolution);
            (item.claim.clone(), item.by.clone(), how)
        });
        let (asked, call) = (asked.collect(), Call::begin(Verb::Resolve, items.len()));
        self.measured(call, asked, self.inner.resolve(items), seen::resolve)
    }

    fn look_up(&self, identities: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        let call = Call::begin(Verb::LookUp, identities.len());
        let asked = identities.iter().map(|_| ()).collect();
        self.measured(call, asked, self.inner.look_up(identities), |_, (), _| {})
    }

    fn around_question<'a, A: Send + 'a>(
        &'a self,
        verb: Verb,
        call: impl FnOnce() -> Answer<'a, A> + Send + 'a,
    ) -> Answer<'a, A> {
        let begun = Call::begin(verb, 1);
        self.asked(begun, call(), |_, _| {})
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        let call = Call::begin(Verb::Sweep, 1);
        self.asked(call, self.inner.sweep(limit), |metrics, swept| {
            metrics.count_swept(swept);
            log::swept(swept);
        })
    }
}
