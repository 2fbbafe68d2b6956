//! Where items wait whose records another transaction holds, apart from everything else.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Batch, Batcher, Item, RoundTrip, Waiting};
use crate::error::{Kind, Result};
use crate::identity::Digest;

/// The most operations that are known to be locked. Beyond it all are forgotten, which costs each its next batch a try.
const LOCKED_MAX: usize = 4_096;

/// Whether another transaction holds what an item is about.
pub(super) fn is_locked<A>(answer: &Result<A>) -> bool {
    matches!(answer, Err(error) if error.kind() == Kind::Locked)
}

/// A batcher of single items, and the operations that go there without trying a batch first.
pub(super) struct Apart<I: Item> {
    batcher: Batcher<I>,
    locked: Arc<Locked>,
}

impl<I: Item> Apart<I> {
    pub(super) fn new(
        lanes: usize,
        run: impl Fn(Batch<I>) -> RoundTrip<I::Answer> + Send + Sync + 'static,
    ) -> Self {
        let locked = Arc::new(Locked::default());
        let known = locked.clone();
        let run = move |items: Batch<I>| {
            let digest = items.first().map(|item| item.identity().digest());
            let (answers, known) = (run(items), known.clone());
            Box::pin(async move {
                let answers = answers.await;
                if let (Some(digest), false) = (digest, answers.iter().any(is_locked)) {
                    known.lock().remove(&digest);
                }
                answers
            }) as RoundTrip<I::Answer>
        };
        let batcher = Batcher::new(lanes, 1, run);
        Self { batcher, locked }
    }

    pub(super) fn has(&self, item: &I) -> bool {
        self.locked.lock().contains(&item.identity().digest())
    }

    /// Has an item answered here, because its record was found locked.
    pub(super) async fn call(&self, items: Batch<I>) -> Batch<Result<I::Answer>> {
        items.iter().for_each(|item| self.locked.add(item));
        // In a box, because this batcher is of the same type as the one that it stands beside.
        Box::pin(self.batcher.call(items)).await
    }

    /// Takes over an item whose record was found locked.
    pub(super) fn take_over(&self, waiting: Waiting<I>) {
        self.locked.add(&waiting.item);
        self.push(Batch::from_buf([waiting]));
    }

    /// Takes over what is known to be locked, and leaves the rest.
    pub(super) fn sift(&self, batch: Vec<Waiting<I>>) -> Vec<Waiting<I>> {
        let locked = self.locked.lock();
        if locked.is_empty() {
            return batch;
        }
        let is_locked = |waiting: &Waiting<I>| locked.contains(&waiting.item.identity().digest());
        let (apart, rest): (Vec<_>, Vec<_>) = batch.into_iter().partition(is_locked);
        drop(locked);
        self.push(apart.into());
        rest
    }

    fn push(&self, waiting: Batch<Waiting<I>>) {
        if let Err((waiting, error)) = self.batcher.push_waiting(waiting) {
            for waiting in waiting {
                waiting.hear(Err(error.duplicate()));
            }
        }
    }
}

/// Operations whose records were found locked, and not free since.
#[derive(Default)]
struct Locked(Mutex<HashSet<Digest>>);

impl Locked {
    fn lock(&self) -> MutexGuard<'_, HashSet<Digest>> {
        // The set is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, item: &impl Item) {
        let mut locked = self.lock();
        if locked.len() >= LOCKED_MAX {
            locked.clear();
        }
        locked.insert(item.identity().digest());
    }
}
