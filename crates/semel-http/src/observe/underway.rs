//! Which observed requests are under way in this process.
//!
//! The store hears of the end of a request after its client has: a client that repeats it at once would find the claim still running, and
//! a plain duplicate would be counted as a concurrent one. So what is under way is known here, from the arrival of a request to its end,
//! and what has ended until the store knows it too. Requests with the same identity ask the store in the order in which they arrived. What is
//! under way in other processes only the store tells.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use semel_core::Identity;
use tokio::sync::oneshot;

/// Observed requests by identity. There are at most as many as are observed at once.
#[derive(Debug, Default)]
pub(super) struct UnderWay(Mutex<HashMap<Identity, Entry>>);

#[derive(Debug, Default)]
struct Entry {
    /// The number of the next one that arrives.
    next: u64,
    /// Requests that have not ended.
    running: BTreeSet<u64>,
    /// How many observations have not ended, which comes later.
    observed: usize,
    /// The request that was granted the claim.
    first: Option<u64>,
    /// Ends when the last one that arrived has its answer from the store.
    answered: Option<oneshot::Receiver<()>>,
}

/// A request that has arrived, until its observation has ended.
#[derive(Debug)]
pub(super) struct Arrival {
    /// The oldest request with its identity that was running when it arrived.
    oldest: Option<u64>,
    /// Ends when the request before it has its answer from the store.
    turn: Option<oneshot::Receiver<()>>,
    /// Dropped when this one has its answer.
    answered: Option<oneshot::Sender<()>>,
    place: Place,
}

/// A request that has not ended, until this is dropped.
#[derive(Debug)]
pub(super) struct Running(Place);

#[derive(Debug, Clone)]
struct Place {
    all: Arc<UnderWay>,
    identity: Identity,
    number: u64,
}

impl UnderWay {
    /// Notes a request. It counts as running until the second value is dropped.
    pub(super) fn arrive(self: &Arc<Self>, identity: &Identity) -> (Arrival, Running) {
        let (answered, next_turn) = oneshot::channel();
        let mut entries = self.lock();
        let entry = entries.entry(identity.clone()).or_default();
        let number = entry.next;
        let oldest = entry.running.first().copied();
        let turn = entry.answered.replace(next_turn);
        entry.next += 1;
        entry.running.insert(number);
        entry.observed += 1;
        drop(entries);
        let place = Place {
            all: self.clone(),
            identity: identity.clone(),
            number,
        };
        let arrival = Arrival {
            oldest,
            turn,
            answered: Some(answered),
            place: place.clone(),
        };
        (arrival, Running(place))
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Identity, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arrival {
    /// Waits until those that arrived before have asked the store.
    pub(super) async fn turn(&mut self) {
        if let Some(turn) = self.turn.take() {
            // A dropped sender means the same.
            let _ = turn.await;
        }
    }

    /// Lets the next one ask the store; `is_first` says that the store granted this one the claim.
    pub(super) fn answered(&mut self, is_first: bool) {
        if is_first {
            let number = self.place.number;
            self.place.change(|entry| entry.first = Some(number));
        }
        self.answered = None;
    }

    /// Whether the first with its identity was running when this one arrived; nothing if this process does not know the first.
    pub(super) fn met_first(&self) -> Option<bool> {
        let entries = self.place.all.lock();
        let first = entries.get(&self.place.identity)?.first?;
        // Requests that arrived before the first were not observed, so that the first is the oldest that counts.
        Some(self.oldest.is_some_and(|oldest| oldest <= first))
    }
}

impl Place {
    fn change(&self, change: impl FnOnce(&mut Entry)) {
        let mut entries = self.all.lock();
        if let Some(entry) = entries.get_mut(&self.identity) {
            change(entry);
            if entry.running.is_empty() && entry.observed == 0 {
                entries.remove(&self.identity);
            }
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.place.change(|entry| entry.observed -= 1);
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let number = self.0.number;
        self.0.change(|entry| {
            entry.running.remove(&number);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(key: &str) -> Identity {
        Identity::parse("public", "pay", key).unwrap()
    }

    #[test]
    fn only_one_that_arrives_while_the_first_is_running_has_met_it() {
        let all = Arc::new(UnderWay::default());
        let (mut first, running) = all.arrive(&identity("k"));
        first.answered(true);
        let (second, still) = all.arrive(&identity("k"));
        assert_eq!(second.met_first(), Some(true));
        drop(running);
        assert_eq!(second.met_first(), Some(true));
        // The second is still running, and it is a duplicate like this one.
        let (third, ends) = all.arrive(&identity("k"));
        assert_eq!(third.met_first(), Some(false));
        let (other, elsewhere) = all.arrive(&identity("other"));
        assert_eq!(other.met_first(), None);
        drop((first, second, third, other));
        drop((still, ends, elsewhere));
        assert!(all.lock().is_empty());
    }

    #[tokio::test]
    async fn requests_ask_in_the_order_in_which_they_arrived() {
        let all = Arc::new(UnderWay::default());
        let (mut first, _running) = all.arrive(&identity("k"));
        let (mut second, _also) = all.arrive(&identity("k"));
        first.turn().await;
        let waits = tokio::spawn(async move {
            second.turn().await;
            second
        });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        first.answered(true);
        waits.await.unwrap();
    }
}
