//! Waking whoever waits for messages, inside one process.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use crate::identity::Scope;

/// Tells one waiter that something may have become due.
#[derive(Debug, Clone)]
pub struct Bell(watch::Receiver<u64>);

impl Bell {
    /// Waits until it rings; rings that came since the last wait count. A bell whose store is gone never rings.
    pub async fn rung(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// The bells of all consumers of a store.
#[derive(Debug, Default)]
pub struct Bells(Mutex<HashMap<Scope, watch::Sender<u64>>>);

impl Bells {
    /// A bell of one consumer.
    pub fn bell(&self, consumer: &Scope) -> Bell {
        let mut bells = self.bells();
        let sender = bells.entry(consumer.clone()).or_default();
        Bell(sender.subscribe())
    }

    /// Rings the bells of one consumer.
    pub fn ring(&self, consumer: &Scope) {
        if let Some(sender) = self.bells().get(consumer) {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    /// Rings all bells.
    pub fn ring_all(&self) {
        for sender in self.bells().values() {
            sender.send_modify(|count| *count = count.wrapping_add(1));
        }
    }

    fn bells(&self) -> MutexGuard<'_, HashMap<Scope, watch::Sender<u64>>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_ring_before_the_wait_is_heard_and_other_consumers_sleep_on() {
        let (bells, mail, pay) = (
            Bells::default(),
            "mail".parse().unwrap(),
            "pay".parse().unwrap(),
        );
        let (mut heard, mut silent) = (bells.bell(&mail), bells.bell(&pay));
        bells.ring(&mail);
        heard.rung().await;
        let waited = tokio::time::timeout(std::time::Duration::from_millis(1), silent.rung()).await;
        assert!(waited.is_err());
        bells.ring_all();
        silent.rung().await;
    }
}
