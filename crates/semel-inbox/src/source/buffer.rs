//! What a source has received and the pump has not yet taken: bounded, and nothing of it is lost when a call of `next` is dropped.
//!
//! It serves sources whose own tasks ask a broker for messages. Those tasks wait for room, and for a pump that wants something: what is received
//! for no one would be kept from other processes. The buffer does no IO, and settles nothing.

use std::any::Any;
use std::collections::{HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::{Error, Result};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::{Batch, Delivery, Event, Gone, Handle, Partition, Raw, Want};

/// About how many bytes wait at most.
const BYTES_MAX: usize = 8 * 1024 * 1024;
/// How large a message is supposed to be before one was seen: careful, because messages are asked for by their number.
const BYTES_FIRST: usize = 512 * 1024;
/// How long after a call of `next` receiving goes on, so that the next batch is on its way while one is stored.
const WANTED_FOR: Duration = Duration::from_millis(200);

/// Deliveries of one partition that wait for `next`. `T` is what is inside of their handles.
pub struct Buffer<T> {
    partition: Partition,
    state: Mutex<State<T>>,
    /// Something came for `next`.
    arrived: Notify,
    /// Something was taken.
    taken: Notify,
}

struct State<T> {
    waiting: VecDeque<Waiting<T>>,
    bytes: usize,
    /// About how large a message is.
    bytes_usual: usize,
    /// How many deliveries calls may bring that are under way.
    expected: usize,
    is_gone: bool,
    error: Option<Error>,
    /// Whether a call waits for deliveries now, and when the last one did.
    is_asked: bool,
    asked_at: Option<Instant>,
}

/// One delivery that waits.
#[derive(Debug)]
pub struct Waiting<T> {
    /// What was delivered.
    pub raw: Raw,
    /// What is inside of its handle.
    pub inside: T,
    /// When others may receive it, if this reader can tell.
    pub until: Option<Instant>,
}

/// The right to bring so many deliveries, until it is dropped.
#[derive(Debug)]
pub struct Reserved<'a, T> {
    buffer: &'a Buffer<T>,
    count: usize,
}

impl<T> Drop for Reserved<'_, T> {
    fn drop(&mut self) {
        self.buffer.state().expected -= self.count;
        self.buffer.taken.notify_waiters();
    }
}

/// A call that waits for deliveries.
struct Asking<'a, T>(&'a Buffer<T>);

impl<T> Drop for Asking<'_, T> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.is_asked = false;
        state.asked_at = Some(Instant::now());
    }
}

impl<T> std::fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Buffer").field(&self.partition).finish()
    }
}

impl<T> Buffer<T> {
    /// An empty one.
    pub fn new(partition: Partition) -> Self {
        Self {
            partition,
            state: Mutex::new(State {
                waiting: VecDeque::new(),
                bytes: 0,
                bytes_usual: BYTES_FIRST,
                expected: 0,
                is_gone: false,
                error: None,
                is_asked: false,
                asked_at: None,
            }),
            arrived: Notify::new(),
            taken: Notify::new(),
        }
    }

    /// How many more may be asked for now, if there may be `max` in all.
    pub fn room(&self, max: usize) -> usize {
        self.state().room(max)
    }

    /// Waits until there is room and a call that wants something; how much room there is then.
    pub async fn has_room(&self, max: usize) -> usize {
        let room = |state: &mut State<T>| Some(state.room(max)).filter(|room| *room > 0);
        self.when_wanted(room).await
    }

    /// Waits until there is room for so many deliveries of at most `max` in all and a call that wants something. The room is kept for the caller;
    /// bytes that are on their way do not count.
    pub async fn reserve(&self, count: usize, max: usize) -> Reserved<'_, T> {
        let reserve = |state: &mut State<T>| {
            let has_room = state.count() + count <= max && state.bytes < BYTES_MAX;
            has_room.then(|| state.expected += count)
        };
        self.when_wanted(reserve).await;
        Reserved {
            buffer: self,
            count,
        }
    }

    async fn when_wanted<R>(&self, find: impl Fn(&mut State<T>) -> Option<R>) -> R {
        loop {
            let taken = self.taken.notified();
            if let Some(found) = self.if_wanted(&find) {
                return found;
            }
            taken.await;
        }
    }

    fn if_wanted<R>(&self, find: impl Fn(&mut State<T>) -> Option<R>) -> Option<R> {
        let mut state = self.state();
        match state.is_wanted(WANTED_FOR) {
            true => find(&mut state),
            false => None,
        }
    }

    /// Whether a call waits for deliveries, or did so this long ago at most.
    pub fn is_wanted(&self, within: Duration) -> bool {
        self.state().is_wanted(within)
    }

    /// The same for as long as receiving goes on.
    pub fn is_wanted_now(&self) -> bool {
        self.is_wanted(WANTED_FOR)
    }

    /// Adds deliveries, or none: receiving works.
    pub fn push(&self, found: Vec<Waiting<T>>) {
        let mut state = self.state();
        state.error = None;
        if found.is_empty() {
            return;
        }
        let bytes: usize = found.iter().map(|waiting| waiting.raw.bytes()).sum();
        state.bytes_usual = (state.bytes_usual + 3 * (bytes / found.len())) / 4;
        state.bytes += bytes;
        state.waiting.extend(found);
        drop(state);
        self.arrived.notify_one();
    }

    /// Receiving failed; the next call says so.
    pub fn fail(&self, error: Error) {
        self.state().error = Some(error);
        self.arrived.notify_one();
    }

    /// Everything that was delivered is lost.
    pub fn lose(&self) {
        let mut state = self.state();
        state.waiting.clear();
        state.bytes = 0;
        state.is_gone = true;
        drop(state);
        self.arrived.notify_one();
        self.taken.notify_waiters();
    }

    /// Takes out everything, to give it back.
    pub fn drain(&self) -> Vec<T> {
        let mut state = self.state();
        state.bytes = 0;
        let all = state.waiting.drain(..);
        all.map(|waiting| waiting.inside).collect()
    }

    /// These can be received by others only later.
    pub fn extend(&self, until: Instant, is_meant: impl Fn(&T) -> bool) {
        let mut state = self.state();
        let meant = state.waiting.iter_mut();
        meant
            .filter(|waiting| is_meant(&waiting.inside))
            .for_each(|waiting| waiting.until = Some(until));
    }

    /// These are no longer this reader's, and with each the later ones of its lane: they come again in their order.
    pub fn forget(&self, is_meant: impl Fn(&T) -> bool) {
        self.state().forget(|waiting| is_meant(&waiting.inside));
        self.taken.notify_waiters();
    }

    fn ask(&self) -> Asking<'_, T> {
        self.state().is_asked = true;
        self.taken.notify_waiters();
        Asking(self)
    }

    fn state(&self) -> MutexGuard<'_, State<T>> {
        // The state is whole after every statement that can panic, so a poisoned lock protects nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone + Any + Send + Sync> Buffer<T> {
    /// What waits now, so that it can be extended.
    pub fn waiting(&self) -> Vec<T> {
        let state = self.state();
        let waiting = state.waiting.iter();
        waiting.map(|waiting| waiting.inside.clone()).collect()
    }

    /// What there is to say, once there is something. One call waits at a time.
    pub async fn next(&self, want: Want) -> Result<Event> {
        let _asking = (want.count > 0).then(|| self.ask());
        loop {
            if let Some(event) = self.take(want) {
                return event;
            }
            // A notification before this is kept for it.
            self.arrived.notified().await;
        }
    }

    fn take(&self, want: Want) -> Option<Result<Event>> {
        let mut state = self.state();
        if std::mem::take(&mut state.is_gone) {
            return Some(Ok(Event::Gone(Gone {
                partitions: vec![self.partition.clone()],
                flushed: None,
            })));
        }
        let now = Instant::now();
        let before = state.waiting.len();
        state.forget(|waiting| waiting.until.is_some_and(|until| until <= now));
        if state.waiting.len() < before {
            // A receiver that found no room a moment ago waits for this.
            self.taken.notify_waiters();
        }
        let mut deliveries = Vec::new();
        let mut bytes = 0;
        while let Some(waiting) = state.waiting.front() {
            let more = waiting.raw.bytes();
            if want.is_met(deliveries.len(), bytes, more) {
                break;
            }
            bytes += more;
            let waiting = state.waiting.pop_front();
            deliveries.extend(waiting.map(|Waiting { raw, inside, .. }| Delivery {
                raw,
                handle: Handle::new(inside),
                partition: self.partition.clone(),
            }));
        }
        state.bytes -= bytes;
        if deliveries.is_empty() {
            return state.error.take().map(Err);
        }
        drop(state);
        self.taken.notify_waiters();
        Some(Ok(Event::Batch(Batch::of(deliveries))))
    }
}

impl<T> State<T> {
    fn count(&self) -> usize {
        self.waiting.len() + self.expected
    }

    fn room(&self, max: usize) -> usize {
        if self.bytes >= BYTES_MAX {
            return 0;
        }
        let by_bytes = (BYTES_MAX - self.bytes) / self.bytes_usual.max(1);
        max.saturating_sub(self.count()).min(by_bytes.max(1))
    }

    fn is_wanted(&self, within: Duration) -> bool {
        let lately = |at: Instant| at.elapsed() < within;
        self.is_asked || self.asked_at.is_some_and(lately)
    }

    fn forget(&mut self, is_meant: impl Fn(&Waiting<T>) -> bool) {
        let mut lanes: HashSet<String> = HashSet::new();
        let mut bytes = 0;
        self.waiting.retain(|waiting| {
            let lane = &waiting.raw.lane;
            let is_behind = lane.as_ref().is_some_and(|lane| lanes.contains(lane));
            let is_lost = is_behind || is_meant(waiting);
            match is_lost {
                true => lanes.extend(lane.clone()),
                false => bytes += waiting.raw.bytes(),
            }
            !is_lost
        });
        self.bytes = bytes;
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    fn buffer() -> Buffer<usize> {
        Buffer::new(Partition::new("p"))
    }

    fn waiting(inside: usize, lane: Option<&str>, size: usize) -> Waiting<usize> {
        Waiting {
            raw: Raw {
                lane: lane.map(str::to_owned),
                payload: Some(Bytes::from(vec![0; size])),
                ..Raw::default()
            },
            inside,
            until: Some(Instant::now() + Duration::from_secs(30)),
        }
    }

    fn several(count: usize, size: usize) -> Vec<Waiting<usize>> {
        (0..count).map(|at| waiting(at, None, size)).collect()
    }

    async fn taken(buffer: &Buffer<usize>, count: usize, bytes: usize) -> usize {
        match buffer.next(Want { count, bytes }).await {
            Ok(Event::Batch(batch)) => batch.deliveries.len(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn what_is_lost_takes_the_later_ones_of_its_lane_along() {
        let buffer = buffer();
        let lanes = [Some("a"), Some("b"), Some("a"), None];
        let all = lanes.into_iter().enumerate();
        buffer.push(all.map(|(at, lane)| waiting(at, lane, 1)).collect());
        buffer.forget(|inside| *inside == 0);
        assert_eq!(buffer.waiting(), [1, 3]);
    }

    #[tokio::test(start_paused = true)]
    async fn what_has_expired_is_not_delivered() {
        let buffer = buffer();
        buffer.push(several(2, 1));
        tokio::time::advance(Duration::from_secs(20)).await;
        let until = Instant::now() + Duration::from_secs(30);
        buffer.extend(until, |inside| *inside == 1);
        tokio::time::advance(Duration::from_secs(20)).await;
        assert_eq!(taken(&buffer, 9, 99).await, 1);
    }

    #[tokio::test]
    async fn calls_under_way_count_for_the_bound_and_nothing_is_asked_for_unless_it_is_wanted() {
        let buffer = buffer();
        let reserve = || buffer.reserve(10, 20);
        let may = || futures_util::FutureExt::now_or_never(reserve());
        assert!(may().is_none(), "nothing is wanted");
        let _asking = buffer.ask();
        let permits = (reserve().await, reserve().await);
        assert!(may().is_none(), "there is no room");
        drop(permits.0);
        assert!(may().is_some());
    }

    #[tokio::test]
    async fn large_messages_are_asked_for_a_few_at_a_time() {
        let buffer = buffer();
        assert_eq!(buffer.room(500), 16);
        for _ in 0..8 {
            buffer.push(several(10, 100));
        }
        assert_eq!(buffer.room(500), 500 - 80);
        buffer.push(several(2, 3 * 1024 * 1024));
        assert_eq!(buffer.room(500), 1);
        buffer.push(several(1, 3 * 1024 * 1024));
        assert_eq!(buffer.room(500), 0);
    }

    #[tokio::test]
    async fn count_and_bytes_bound_a_batch_and_one_delivery_is_always_welcome() {
        let buffer = buffer();
        buffer.push(several(5, 100));
        assert_eq!(taken(&buffer, 2, 1000).await, 2);
        assert_eq!(taken(&buffer, 5, 10).await, 1);
        assert!(buffer.take(Want::NOTHING).is_none());
        assert_eq!(taken(&buffer, 5, 1000).await, 2);
    }

    #[tokio::test]
    async fn a_loss_is_said_before_what_came_after_it() {
        let buffer = buffer();
        buffer.push(several(5, 1));
        buffer.lose();
        buffer.push(several(1, 1));
        let event = buffer.next(Want::NOTHING).await;
        assert!(matches!(event, Ok(Event::Gone(_))));
        assert_eq!(buffer.drain(), [0]);
        assert!(buffer.waiting().is_empty());
    }
}
