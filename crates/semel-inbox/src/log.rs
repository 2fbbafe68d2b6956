//! What an engine says when nobody measures it: alerts and conflicts, in the log.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};

use crate::observer::AttemptEnd;
use crate::observer::Observer;
use semel_core::Scope;
use semel_core::inbox::{Message, Receipt};

/// An application that gives the engine an [`Observer`] of its own hears the same there, and says it in its own way.
#[derive(Debug, Default)]
pub(crate) struct Log {
    /// What fires, so that only what has fired is said to have ended. A std lock, not an async one: it is never held over an await.
    firing: Mutex<HashSet<(Scope, &'static str)>>,
}

impl Log {
    /// Whether an alert has begun or ended by this.
    fn is_change(&self, consumer: &Scope, alert: &'static str, firing: bool) -> bool {
        let mut all = self.firing.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (consumer.clone(), alert);
        match firing {
            true => all.insert(key),
            false => all.remove(&key),
        }
    }
}

impl Observer for Log {
    fn received(&self, message: &Message, receipt: Receipt) {
        if receipt == Receipt::Conflict {
            let identity = message.identity();
            let (consumer, id) = (identity.scope(), identity.key());
            tracing::warn!(%consumer, message = %id, "the same id came with another payload; it is parked");
        }
    }

    fn finished(&self, _: &Message, _: AttemptEnd) {}

    fn reclaimed(&self, _: &Message) {}

    fn suppressed(&self, _: &Message, _: usize) {}

    fn alert(&self, consumer: &Scope, alert: &'static str, firing: bool) {
        if !self.is_change(consumer, alert, firing) {
            return;
        }
        match firing {
            true => tracing::warn!(%consumer, alert, "an alert has begun"),
            false => tracing::info!(%consumer, alert, "an alert has ended"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_has_fired_ends() {
        let (log, mail) = (Log::default(), "mail".parse().unwrap());
        let said = [false, true, true, false, false];
        let changes = said.map(|firing| log.is_change(&mail, "parked", firing));
        assert_eq!(changes, [false, true, false, true, false]);
    }
}
