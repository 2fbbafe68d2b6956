//! Who waits for a message to be dealt with, in this process.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::inbox::{Inbox, State};
use semel_core::{Digest, Identity};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long to wait before the store is asked for the first time, and then at most.
const LOOK_FIRST: Duration = Duration::from_millis(500);
const LOOK_LAST: Duration = Duration::from_secs(15);

/// Tells waiters in this process what became of messages. Whoever else dealt with one is found by asking the store now and then.
#[derive(Debug, Default)]
pub(crate) struct Finals(Mutex<HashMap<Digest, watch::Sender<Option<State>>>>);

/// Waits for one message.
pub(crate) struct Waiter {
    finals: Arc<Finals>,
    identity: Identity,
    heard: watch::Receiver<Option<State>>,
}

impl Finals {
    /// Waits for this message from now on; what is told before the wait begins counts.
    pub(crate) fn waiter(self: &Arc<Self>, identity: &Identity) -> Waiter {
        let mut all = self.all();
        let sender = all.entry(identity.digest()).or_default();
        let heard = sender.subscribe();
        Waiter {
            finals: self.clone(),
            identity: identity.clone(),
            heard,
        }
    }

    /// A message has reached this state.
    pub(crate) fn tell(&self, identity: &Identity, state: State) {
        if !is_settled(state) {
            return;
        }
        if let Some(sender) = self.all().get(&identity.digest()) {
            sender.send_replace(Some(state));
        }
    }

    fn all(&self) -> MutexGuard<'_, HashMap<Digest, watch::Sender<Option<State>>>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether nothing more will happen to a message by itself: it is dealt with, or among the dead letters.
pub(crate) const fn is_settled(state: State) -> bool {
    state.is_final() || state.is_dead_letter()
}

impl Waiter {
    /// The state in which the message came to rest.
    pub(crate) async fn settled(mut self, inbox: &dyn Inbox) -> State {
        let mut look = LOOK_FIRST;
        loop {
            if let Some(state) = self.told(look).await {
                return state;
            }
            if let Ok(Some(detail)) = inbox.message(self.identity.clone()).await
                && is_settled(detail.entry.state)
            {
                return detail.entry.state;
            }
            look = (look * 2).min(LOOK_LAST);
        }
    }
}

impl Waiter {
    /// What is told within this time.
    async fn told(&mut self, limit: Duration) -> Option<State> {
        let told = timeout(limit, self.heard.wait_for(Option::is_some)).await;
        told.ok().and_then(|state| *state.ok()?)
    }
}

impl Drop for Waiter {
    /// Without the last waiter nobody need be told.
    fn drop(&mut self) {
        let mut all = self.finals.all();
        let digest = self.identity.digest();
        if all.get(&digest).is_some_and(|s| s.receiver_count() <= 1) {
            all.remove(&digest);
        }
    }
}
