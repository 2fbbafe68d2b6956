//! Many operations at once: duplicates are filtered first, the rest run concurrently.

use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Semaphore;
use tokio::task::JoinHandle;

use super::answer::{Answer, Error, Refusal};
use super::drive::{Asked, request};
use super::{Once, Operation, Run};
use crate::fingerprint::Fingerprint;
use crate::identity::Identity;
use crate::policy::OnFailure;
use crate::store::{BATCH_MAX, ClaimAnswer};

/// One operation of a batch.
#[derive(Debug, Clone)]
pub struct BatchItem<I> {
    /// Which operation.
    pub identity: Identity,
    /// What is asked.
    pub fingerprint: Fingerprint,
    /// What the function gets.
    pub input: I,
}

impl Once {
    /// Runs `f` for every item that did not run before, at most `concurrency` at a time.
    ///
    /// There is one answer per item, in order. One failure does not sink the rest. All claims are
    /// made before the first run, in as few round trips as the store allows; of two items with one
    /// identity the first runs and the second gets its result.
    pub async fn run_batch<I, T, E, C, F, Fut>(
        &self,
        items: Vec<BatchItem<I>>,
        concurrency: usize,
        classify: C,
        f: F,
    ) -> Vec<Result<Answer<T>, Error<E>>>
    where
        I: Send + 'static,
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + Send + 'static,
        C: Fn(&E) -> OnFailure + Clone + Send + 'static,
        F: Fn(Run, I) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let once = self.clone();
        let len = items.len();
        // In a task of its own: a caller that goes away leaves no claims that nobody runs.
        let whole = tokio::spawn(async move {
            let flights = once.launch_all(items, concurrency, classify, f).await;
            land_all(flights).await
        });
        whole.await.unwrap_or_else(|_shut_down| {
            let panicked = || Err(Error::Refused(Refusal::Panicked));
            std::iter::repeat_with(panicked).take(len).collect()
        })
    }

    async fn launch_all<I, T, E, C, F, Fut>(
        &self,
        items: Vec<BatchItem<I>>,
        concurrency: usize,
        classify: C,
        f: F,
    ) -> Vec<JoinHandle<Result<Answer<T>, Error<E>>>>
    where
        I: Send + 'static,
        T: Serialize + DeserializeOwned + Send + 'static,
        E: Serialize + DeserializeOwned + Send + 'static,
        C: Fn(&E) -> OnFailure + Clone + Send + 'static,
        F: Fn(Run, I) -> Fut + Clone + Send + Sync + 'static,
        Fut: Future<Output = Result<T, E>> + Send + 'static,
    {
        let slots = Arc::new(Semaphore::new(concurrency.clamp(1, BATCH_MAX)));
        let mut flights = Vec::with_capacity(items.len());
        let mut items = items.into_iter().peekable();
        while items.peek().is_some() {
            let chunk: Vec<_> = items.by_ref().take(BATCH_MAX).collect();
            for (item, asked) in self.claim_all(chunk).await {
                let (slots, classify, f) = (slots.clone(), classify.clone(), f.clone());
                let operation = self.operation(item.identity, item.fingerprint);
                // The lease of an item that waits for its turn is renewed like that of a running one.
                let in_turn = move |run| async move {
                    let _slot = slots.acquire().await;
                    f(run, item.input).await
                };
                flights.push(tokio::spawn(async move {
                    operation.run_typed(Some(asked), classify, in_turn).await
                }));
            }
        }
        flights
    }

    /// Claims all items in one call.
    async fn claim_all<I>(&self, items: Vec<BatchItem<I>>) -> Vec<(BatchItem<I>, Asked)> {
        let asked = self.shared.clock.now();
        let requests = items
            .iter()
            .map(|item| request(&self.operation(item.identity.clone(), item.fingerprint)));
        match self.shared.store.claim(requests.collect()).await {
            Ok(answers) => {
                let answers = answers.into_iter().map(|answer| (Ok(answer), asked));
                items.into_iter().zip(answers).collect()
            }
            Err(error) => {
                let failed = |item| (item, (Err::<ClaimAnswer, _>(error.duplicate()), asked));
                items.into_iter().map(failed).collect()
            }
        }
    }
}

async fn land_all<T, E>(
    flights: Vec<JoinHandle<Result<Answer<T>, Error<E>>>>,
) -> Vec<Result<Answer<T>, Error<E>>> {
    let mut answers = Vec::with_capacity(flights.len());
    for flight in flights {
        let landed = flight.await;
        answers.push(landed.unwrap_or(Err(Error::Refused(Refusal::Panicked))));
    }
    answers
}

impl Operation {
    /// Which operation this is.
    pub const fn identity(&self) -> &Identity {
        &self.identity
    }
}
