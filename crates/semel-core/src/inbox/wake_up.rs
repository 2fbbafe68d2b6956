//! Waking claimers that wait for messages, inside one process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::identity::Scope;

/// Tells one waiter that something may have become due.
#[derive(Debug, Clone)]
pub struct WakeUp(watch::Receiver<u64>);

impl WakeUp {
    /// Waits until it comes; one that came since the last wait counts. A wake-up whose store is gone never comes.
    pub async fn woken(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The wake-ups of all consumers of a store.
#[derive(Debug, Default)]
pub struct WakeUps(Mutex<HashMap<Scope, watch::Sender<u64>>>);

impl WakeUps {
    /// A wake-up of one consumer.
    pub fn wake_up(&self, consumer: &Scope) -> WakeUp {
        let mut wake_ups = self.wake_ups();
        let sender = wake_ups.entry(consumer.clone()).or_default();
        WakeUp(sender.subscribe())
    }

    /// Wakes the waiters of one consumer.
    pub fn wake(&self, consumer: &Scope) {
        if let Some(sender) = self.wake_ups().get(consumer) {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Wakes all waiters.
    pub fn wake_all(&self) {
        for sender in self.wake_ups().values() {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    fn wake_ups(&self) -> MutexGuard<'_, HashMap<Scope, watch::Sender<u64>>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_ring_before_the_wait_is_heard_and_other_consumers_sleep_on() {
        let (wake_ups, mail, pay) = (
            WakeUps::default(),
            "mail".parse().unwrap(),
            "pay".parse().unwrap(),
        );
        let (mut heard, mut silent) = (wake_ups.wake_up(&mail), wake_ups.wake_up(&pay));
        wake_ups.wake(&mail);
        heard.woken().await;
        let waited =
            tokio::time::timeout(std::time::Duration::from_millis(1), silent.woken()).await;
        assert!(waited.is_err());
        wake_ups.wake_all();
        silent.woken().await;
    }
}
