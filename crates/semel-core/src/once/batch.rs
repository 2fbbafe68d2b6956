//! Many operations at once: duplicates are filtered first, the rest run concurrently.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinHandle;

use super::answer::{Answer, Error, Refusal};
use super::attempt::Asked;
use super::drive::request;
use super::{Once, Run};
use crate::clock::Moment;
use crate::fingerprint::Fingerprint;
use crate::identity::{Digest, Identity};
use crate::policy::OnFailure;
use crate::store::{BATCH_MAX, ClaimRequest, merge};

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
            let runs = once.start_all(items, concurrency, classify, f).await;
            all_ended(runs).await
        });
        whole.await.unwrap_or_else(|_shut_down| {
            let panicked = || Err(Error::Refused(Refusal::Panicked));
            std::iter::repeat_with(panicked).take(len).collect()
        })
    }

    async fn start_all<I, T, E, C, F, Fut>(
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
        let mut runs = Vec::with_capacity(items.len());
        let mut endings: HashMap<Digest, watch::Receiver<()>> = HashMap::new();
        for (item, first) in self.claim_firsts(items).await {
            let (classify, f) = (classify.clone(), f.clone());
            let (ending, ended) = watch::channel(());
            let earlier = endings.insert(item.identity.digest(), ended);
            let mut operation = self.operation(item.identity, item.fingerprint);
            operation.turns = Some(slots.clone());
            let with_input = move |run| f(run, item.input);
            runs.push(tokio::spawn(async move {
                // Dropped with this task, which is what a later duplicate in the batch waits for.
                let _ending = ending;
                if let Some(mut earlier) = earlier {
                    let _ = earlier.changed().await;
                }
                operation.run_typed(first, classify, with_input).await
            }));
        }
        runs
    }

    /// Claims the first item of each identity, many at a time; later ones wait for the first.
    async fn claim_firsts<I>(
        &self,
        items: Vec<BatchItem<I>>,
    ) -> Vec<(BatchItem<I>, Option<Asked>)> {
        let mut seen = HashSet::new();
        let is_first: Vec<bool> = items
            .iter()
            .map(|item| seen.insert(item.identity.digest()))
            .collect();
        let requests = items.iter().zip(&is_first).filter(|(_, first)| **first);
        let requests: Vec<ClaimRequest> = requests
            .map(|(item, _)| request(&self.operation(item.identity.clone(), item.fingerprint)))
            .collect();
        let mut answers = Vec::with_capacity(requests.len());
        for chunk in requests.chunks(BATCH_MAX) {
            answers.extend(self.claim_all(chunk.to_vec()).await);
        }
        let mut answers = answers.into_iter();
        let with_answer = |(item, first): (_, bool)| match first {
            true => (item, answers.next()),
            false => (item, None),
        };
        items.into_iter().zip(is_first).map(with_answer).collect()
    }

    /// Claims in one call: one answer for each request, whatever the store does.
    async fn claim_all(&self, requests: Vec<ClaimRequest>) -> Vec<Asked> {
        let (asked, len) = (Moment::now(), requests.len());
        let answers = self.shared.store.claim(requests.into()).await;
        // A store that gives too few answers costs the callers without one an error.
        let answers = merge((0..len).map(|_| None).collect(), answers);
        answers.into_iter().map(|answer| (answer, asked)).collect()
    }
}

async fn all_ended<T, E>(
    runs: Vec<JoinHandle<Result<Answer<T>, Error<E>>>>,
) -> Vec<Result<Answer<T>, Error<E>>> {
    let mut answers = Vec::with_capacity(runs.len());
    for run in runs {
        let ended = run.await;
        answers.push(ended.unwrap_or(Err(Error::Refused(Refusal::Panicked))));
    }
    answers
}
