//! What an engine says when nobody measures it: alerts and conflicts, in the log.

use crate::observer::AttemptEnd;
use crate::observer::Observer;
use semel_core::Scope;
use semel_core::inbox::{Message, Receipt};

/// An application that gives the engine an [`Observer`] of its own hears the same there, and says it in its own way.
pub(crate) struct Log;

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
        match firing {
            true => tracing::warn!(%consumer, alert, "an alert has begun"),
            false => tracing::info!(%consumer, alert, "an alert has ended"),
        }
    }
}
