//! Who waits for a message to be dealt with, in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::inbox::{BATCH_MAX, Inbox, State};
use semel_core::{Digest, Identity};
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How often the store is asked for all messages whose time has come, in one call.
const TICK: Duration = Duration::from_millis(500);
/// How long to wait before the store is asked for one message for the first time, and then at most.
const LOOK_FIRST: Duration = TICK;
const LOOK_LAST: Duration = Duration::from_secs(15);

/// Tells waiters in this process what became of messages. What another process dealt with is found by asking the store now and then.
#[derive(Debug, Default)]
pub(crate) struct Finals(Mutex<HashMap<Digest, Awaited>>);

#[derive(Debug)]
struct Awaited {
    identity: Identity,
    told: watch::Sender<Option<State>>,
    look_at: Instant,
    pause: Duration,
}

/// Waits for one message.
pub(crate) struct Waiter {
    finals: Arc<Finals>,
    digest: Digest,
    /// `None` only while it is dropped.
    heard: Option<watch::Receiver<Option<State>>>,
}

impl Finals {
    /// Waits for this message from now on; what is told before the wait begins counts.
    pub(crate) fn waiter(self: &Arc<Self>, identity: &Identity) -> Waiter {
        let (mut all, digest) = (self.all(), identity.digest());
        let awaited = all.entry(digest).or_insert_with(|| Awaited {
            identity: identity.clone(),
            told: watch::Sender::default(),
            look_at: Instant::now() + LOOK_FIRST,
            pause: LOOK_FIRST,
        });
        Waiter {
            heard: Some(awaited.told.subscribe()),
            finals: self.clone(),
            digest,
        }
    }

    /// A message has reached this state.
    pub(crate) fn tell(&self, identity: &Identity, state: State) {
        if !is_tried(state) {
            return;
        }
        if let Some(awaited) = self.all().get(&identity.digest()) {
            awaited.told.send_replace(Some(state));
        }
    }

    /// Asks the store for ever, in one call for all messages that are due to be looked at.
    pub(super) async fn look_for_ever(&self, inbox: &dyn Inbox) {
        loop {
            sleep(TICK).await;
            let due = self.due();
            if due.is_empty() {
                continue;
            }
            // A store that is away is asked again at the next look.
            let states = inbox.states(due.clone()).await.unwrap_or_default();
            for (identity, state) in due.iter().zip(states) {
                if let Some(state) = state {
                    self.tell(identity, state);
                }
            }
        }
    }

    /// The messages to look at now, those that have waited longest for it first, at most as many as one call takes.
    fn due(&self) -> Vec<Identity> {
        let (mut all, now) = (self.all(), Instant::now());
        let due = all.values_mut().filter(|awaited| awaited.look_at <= now);
        let mut due: Vec<&mut Awaited> = due.collect();
        due.sort_unstable_by_key(|awaited| awaited.look_at);
        let looked_at = due.into_iter().take(BATCH_MAX).map(|awaited| {
            awaited.pause = (awaited.pause * 2).min(LOOK_LAST);
            awaited.look_at = now + awaited.pause;
            awaited.identity.clone()
        });
        looked_at.collect()
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Digest, Awaited>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nothing more will happen to a message by itself: it is dealt with, or among the dead letters.
pub(crate) const fn is_settled(state: State) -> bool {
    state.is_final() || state.is_dead_letter()
}

/// The same, or its failure is durable, and it will be tried again whatever becomes of this process.
const fn is_tried(state: State) -> bool {
    is_settled(state) || matches!(state, State::FailedRetryable)
}

impl Waiter {
    /// The state in which the message came to rest.
    pub(crate) async fn settled(self) -> State {
        self.until(is_settled).await
    }

    /// The state in which the message came to rest or failed for now.
    pub(crate) async fn tried(self) -> State {
        self.until(is_tried).await
    }

    async fn until(mut self, is_reached: impl Fn(State) -> bool) -> State {
        loop {
            // The sender is kept until the last waiter is dropped.
            let Some(heard) = &mut self.heard else {
                std::future::pending().await
            };
            let is_reached = |state: &Option<State>| state.is_some_and(&is_reached);
            if let Ok(state) = heard.wait_for(is_reached).await
                && let Some(state) = *state
            {
                return state;
            }
        }
    }
}

impl Drop for Waiter {
    /// Without the last waiter nobody need be told.
    fn drop(&mut self) {
        let mut all = self.finals.all();
        // Under the lock, so that of two waiters that go at once the second finds itself the last.
        self.heard = None;
        let is_last = |awaited: &Awaited| awaited.told.receiver_count() == 0;
        if all.get(&self.digest).is_some_and(is_last) {
            all.remove(&self.digest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn all_waiters_are_looked_for_in_few_calls_that_become_fewer() {
        let finals = Arc::new(Finals::default());
        let id = |n: usize| Identity::parse("public", "mailer", &format!("m-{n}")).unwrap();
        let waiters: Vec<Waiter> = (0..BATCH_MAX + 10).map(|n| finals.waiter(&id(n))).collect();
        assert!(finals.due().is_empty());
        tokio::time::advance(LOOK_FIRST).await;
        assert_eq!(finals.due().len(), BATCH_MAX);
        assert_eq!(finals.due().len(), 10);
        tokio::time::advance(LOOK_FIRST).await;
        assert!(finals.due().is_empty());
        tokio::time::advance(LOOK_FIRST).await;
        assert_eq!(finals.due().len(), BATCH_MAX);
        drop(waiters);
        tokio::time::advance(LOOK_LAST).await;
        assert!(finals.due().is_empty());
    }
}
