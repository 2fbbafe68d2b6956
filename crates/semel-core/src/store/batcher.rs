//! Natural batching for stores that pay by the round trip.
//!
//! While round trips are under way, calls queue; the next one takes all that wait. There is no timer, so a
//! lone call pays no delay. A batch never names an identity twice, because most engines refuse to
//! touch a row twice in one statement, and it is ordered by digest, so that two batches never lock the
//! same rows in opposite orders.
//!
//! Round trips for several callers run in tasks of their own: a caller that goes away takes nothing from the
//! others. A round trip must therefore leave nothing half-done if it is dropped, as its only caller may be.
//!
//! An item whose record another transaction holds ([`Kind::Locked`]) must not hold up the others of its batch, nor the
//! batches behind it. A batcher [with a place apart](Batcher::with_apart) moves it there: it waits by itself, and so
//! do later items of the same operation, without trying a batch first, until one of them is answered.

mod apart;

use std::collections::{HashMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

use self::apart::Apart;
use super::{Answers, Batch, check_batch, each_fails};
use crate::error::{Error, Kind, Result};
use crate::identity::{Digest, Identity};

/// The most items that wait in one batcher.
pub const WAITING_MAX: usize = 65_536;

/// The most bytes that the items of one round trip bring along, unless a single one brings more.
pub const BYTES_MAX: usize = 8 * 1024 * 1024;

/// One item of a verb. A copy of it is cheap, and asks for the same.
pub trait Item: Clone + Send + 'static {
    /// What the verb answers.
    type Answer: Send + 'static;

    /// Which operation it is about.
    fn identity(&self) -> &Identity;

    /// How many bytes it brings along, where that can be many.
    fn bytes(&self) -> usize {
        0
    }

    /// What a later item of the same operation is answered, if that follows from the answer to this
    /// one; `None` if it must be asked by itself.
    fn follow(&self, _later: &Self) -> Option<Follow<Self::Answer>> {
        None
    }
}

/// Makes the answer to a later item of the answer to an earlier one.
pub type Follow<A> = Box<dyn FnOnce(&A) -> A + Send>;

/// What a round trip returns: one answer per item, in the order of the items.
pub type RoundTrip<A> = Answers<'static, A>;

type Run<I> = dyn Fn(Batch<I>) -> RoundTrip<<I as Item>::Answer> + Send + Sync;

/// Collects the items of many calls of one verb into few round trips.
pub struct Batcher<I: Item> {
    shared: Arc<Shared<I>>,
}

struct Shared<I: Item> {
    /// A std mutex, not an async one: it is held for queueing only, never over an await.
    queue: Mutex<Queue<I>>,
    run: Box<Run<I>>,
    lanes: usize,
    items_max: usize,
    apart: Option<Apart<I>>,
}

struct Queue<I: Item> {
    waiting: VecDeque<Waiting<I>>,
    lanes_busy: usize,
}

struct Waiting<I: Item> {
    item: I,
    caller: oneshot::Sender<Result<I::Answer>>,
    followers: Vec<Follower<I::Answer>>,
}

struct Follower<A> {
    answer: Follow<A>,
    caller: oneshot::Sender<Result<A>>,
}

impl<I: Item> Batcher<I> {
    /// At most `lanes` round trips at a time, each `run` with at most `items_max` items.
    pub fn new(
        lanes: usize,
        items_max: usize,
        run: impl Fn(Batch<I>) -> RoundTrip<I::Answer> + Send + Sync + 'static,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                queue: Mutex::new(Queue {
                    waiting: VecDeque::new(),
                    lanes_busy: 0,
                }),
                run: Box::new(run),
                lanes: lanes.max(1),
                items_max: items_max.max(1),
                apart: None,
            }),
        }
    }

    /// The same, with a place for items whose records are locked: `run` takes them one at a time and may wait for the
    /// lock. In front of it, round trips should say [`Kind::Locked`] of such an item rather than wait.
    #[must_use]
    pub fn with_apart(
        mut self,
        lanes: usize,
        run: impl Fn(Batch<I>) -> RoundTrip<I::Answer> + Send + Sync + 'static,
    ) -> Self {
        let shared = Arc::get_mut(&mut self.shared).expect("no call was made yet");
        shared.apart = Some(Apart::new(lanes, run));
        self
    }

    /// Has the items answered, each by itself, in their order.
    pub async fn call(&self, items: Batch<I>) -> Batch<Result<I::Answer>> {
        if let Err(error) = check_batch(items.len()) {
            return each_fails(items.len(), &error);
        }
        let lane = match items.as_slice() {
            [item] if self.shared.is_apart(item) => None,
            [_] => self.free_lane(),
            _ => None,
        };
        let Some(lane) = lane else {
            return self.queued(items, None).await;
        };
        // Callers that are about to ask as well come along.
        tokio::task::yield_now().await;
        if !self.shared.lock().waiting.is_empty() {
            return self.queued(items, Some(lane)).await;
        }
        // None did: the round trip is made right here, and no thread need be woken for it.
        let Some(apart) = &self.shared.apart else {
            let answers = (self.shared.run)(items).await;
            drop(lane);
            return answers;
        };
        let answers = (self.shared.run)(items.clone()).await;
        drop(lane);
        let locked = answers.iter().any(apart::is_locked);
        match locked {
            true => apart.call(items).await,
            false => answers,
        }
    }

    /// Queues the items and waits for their answers. `lane`, dropped after the push, carries on with
    /// all that waits.
    async fn queued(&self, items: Batch<I>, lane: Option<Lane<I>>) -> Batch<Result<I::Answer>> {
        let len = items.len();
        let pushed = self.push(items);
        drop(lane);
        match pushed {
            Ok(answers) => heard(answers).await,
            Err(error) => each_fails(len, &error),
        }
    }

    fn free_lane(&self) -> Option<Lane<I>> {
        let mut queue = self.shared.lock();
        if !queue.waiting.is_empty() || queue.lanes_busy >= self.shared.lanes {
            return None;
        }
        queue.lanes_busy += 1;
        Some(Lane::new(self.shared.clone()))
    }

    fn push(&self, items: Batch<I>) -> Result<Batch<oneshot::Receiver<Result<I::Answer>>>> {
        let mut answers = Batch::with_capacity(items.len());
        let waiting = items.into_iter().map(|item| {
            let (caller, answer) = oneshot::channel();
            answers.push(answer);
            let followers = Vec::new();
            Waiting {
                item,
                caller,
                followers,
            }
        });
        let waiting: Batch<Waiting<I>> = waiting.collect();
        self.push_waiting(waiting).map_err(|(_, error)| error)?;
        Ok(answers)
    }

    /// Queues what waits already; gives it back with the reason if there is no room.
    fn push_waiting(&self, waiting: Batch<Waiting<I>>) -> Result<(), (Batch<Waiting<I>>, Error)> {
        let mut queue = self.shared.lock();
        if queue.waiting.len() + waiting.len() > WAITING_MAX {
            let message = format!("{WAITING_MAX} items wait for the store already");
            return Err((waiting, Error::new(Kind::Limit, message)));
        }
        queue.waiting.extend(waiting);
        if !queue.waiting.is_empty() && queue.lanes_busy < self.shared.lanes {
            queue.lanes_busy += 1;
            tokio::spawn(Lane::new(self.shared.clone()).work());
        }
        Ok(())
    }
}

impl<I: Item> fmt::Debug for Batcher<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waiting = self.shared.lock().waiting.len();
        write!(f, "Batcher({waiting} items wait)")
    }
}

async fn heard<A>(answers: Batch<oneshot::Receiver<Result<A>>>) -> Batch<Result<A>> {
    let mut all = Batch::with_capacity(answers.len());
    for answer in answers {
        all.push(answer.await.map_err(closed).flatten());
    }
    all
}

/// The runtime is going down, or a round trip panicked.
fn closed<E>(_: E) -> Error {
    Error::new(
        Kind::Unavailable,
        "the store was closed while a call waited",
    )
}

impl<I: Item> Shared<I> {
    fn lock(&self) -> MutexGuard<'_, Queue<I>> {
        // The queue is whole after every statement, so a poisoned lock protects nothing.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether `item` is of an operation whose record was found locked.
    fn is_apart(&self, item: &I) -> bool {
        let apart = self.apart.as_ref();
        apart.is_some_and(|apart| apart.has(item))
    }
}

/// One round trip after another, until nothing waits.
struct Lane<I: Item> {
    shared: Arc<Shared<I>>,
    counted: bool,
}

impl<I: Item> Drop for Lane<I> {
    /// Whoever waits meanwhile is carried on with, also if this lane's caller went away or panicked.
    fn drop(&mut self) {
        if !self.counted {
            return;
        }
        let mut queue = self.shared.lock();
        // Without a runtime nobody can be carried on with, and nobody waits for long.
        match tokio::runtime::Handle::try_current() {
            Ok(runtime) if !queue.waiting.is_empty() => {
                drop(runtime.spawn(Self::new(self.shared.clone()).work()));
            }
            Ok(_) | Err(_) => queue.lanes_busy -= 1,
        }
    }
}

impl<I: Item> Lane<I> {
    fn new(shared: Arc<Shared<I>>) -> Self {
        Self {
            shared,
            counted: true,
        }
    }

    async fn work(mut self) {
        // Callers that are about to ask as well come along.
        tokio::task::yield_now().await;
        while let Some(batch) = self.next() {
            let items: Batch<I> = batch.iter().map(|waiting| waiting.item.clone()).collect();
            let answers = (self.shared.run)(items).await;
            for (waiting, answer) in batch.into_iter().zip(answers) {
                match &self.shared.apart {
                    Some(apart) if apart::is_locked(&answer) => apart.take_over(waiting),
                    Some(_) | None => waiting.hear(answer),
                }
            }
        }
    }

    /// The next batch. Without one this lane no longer counts, from the same look on: whoever comes
    /// next starts another.
    fn next(&mut self) -> Option<Vec<Waiting<I>>> {
        loop {
            let mut queue = self.shared.lock();
            let mut batch = take(&mut queue.waiting, self.shared.items_max);
            if batch.is_empty() {
                queue.lanes_busy -= 1;
                self.counted = false;
                return None;
            }
            drop(queue);
            if let Some(apart) = &self.shared.apart {
                batch = apart.sift(batch);
            }
            if !batch.is_empty() {
                return Some(batch);
            }
        }
    }
}

impl<I: Item> Waiting<I> {
    /// Answers the caller, and those who follow from it. A caller that went away learns nothing.
    fn hear(self, answer: Result<I::Answer>) {
        for follower in self.followers {
            let followed = answer.as_ref().map(follower.answer);
            let _ = follower.caller.send(followed.map_err(Error::duplicate));
        }
        let _ = self.caller.send(answer);
    }
}

/// Takes the items of the next batch, ordered by digest and each identity once. What must wait for
/// another item of its identity stays, in its order.
fn take<I: Item>(waiting: &mut VecDeque<Waiting<I>>, items_max: usize) -> Vec<Waiting<I>> {
    let mut batch: Vec<Waiting<I>> = Vec::new();
    let mut places: HashMap<Digest, Option<usize>> = HashMap::new();
    let (mut stay, mut bytes) = (VecDeque::new(), 0);
    // A batch of one takes along what follows from it, wherever that waits.
    while (batch.len() < items_max || items_max == 1)
        && let Some(next) = waiting.pop_front()
    {
        // What nobody waits for any more is not asked at all.
        if next.caller.is_closed() && next.followers.iter().all(|f| f.caller.is_closed()) {
            continue;
        }
        if batch.len() == items_max && !places.contains_key(&next.item.identity().digest()) {
            stay.push_back(next);
            continue;
        }
        bytes += next.item.bytes();
        if bytes > BYTES_MAX && !batch.is_empty() {
            waiting.push_front(next);
            break;
        }
        let digest = next.item.identity().digest();
        match places.get(&digest).copied() {
            None => {
                places.insert(digest, Some(batch.len()));
                batch.push(next);
            }
            Some(Some(place)) if next.followers.is_empty() => {
                let first = &mut batch[place];
                match first.item.follow(&next.item) {
                    Some(answer) => first.followers.push(Follower {
                        answer,
                        caller: next.caller,
                    }),
                    None => {
                        // Whatever comes after it must not overtake it.
                        places.insert(digest, None);
                        stay.push_back(next);
                    }
                }
            }
            Some(_) => stay.push_back(next),
        }
    }
    stay.append(waiting);
    *waiting = stay;
    batch.sort_by_key(|waiting| waiting.item.identity().digest());
    batch
}

#[cfg(test)]
mod tests;
