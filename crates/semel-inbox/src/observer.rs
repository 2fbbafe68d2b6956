//! What happens to messages, told to whoever measures it.

use std::time::Duration;

use crate::engine::CircuitState;
use semel_core::duplicate::Duplicate;
use semel_core::inbox::message::Message;
use semel_core::inbox::state::{Cause, State};
use semel_core::inbox::work::Receipt;
use semel_core::{Identity, Scope};

/// Hears of every message that an engine handles. Calls are quick and never block.
pub trait Observer: Send + Sync + 'static {
    /// A message arrived, and this became of it.
    fn received(&self, message: &Message, receipt: Receipt);

    /// A message arrived again, or is run again by Semel itself.
    fn duplicate(&self, duplicate: &Duplicate<'_>) {
        let _ = duplicate;
    }

    /// An attempt ended; `late` if it came too late and changed nothing.
    fn finished(&self, message: &Message, end: AttemptEnd);

    /// A message was claimed whose worker had been lost.
    fn reclaimed(&self, message: &Message);

    /// So many intents of a replayed message were suppressed.
    fn suppressed(&self, message: &Message, intents: usize);

    /// An alert of a consumer or target fires, or does not: once when it was judged for the first time, and then whenever that changes.
    fn alert(&self, consumer: &Scope, alert: &'static str, firing: bool);

    /// The id of a message looks as if it was made for its delivery, for this reason: `time` or `payload`. No duplicate of it can be recognised.
    fn id_suspected(&self, message: &Message, reason: &'static str) {
        let _ = (message, reason);
    }

    /// A message that was due did not run, because another door had settled its record.
    fn settled_elsewhere(&self, message: &Identity) {
        let _ = message;
    }

    /// A message that was dealt with before was claimed for a replay; `allowed` is whether the consumer's policy allows replays, otherwise an
    /// operator forced it.
    fn replayed(&self, message: &Message, allowed: bool) {
        let _ = (message, allowed);
    }

    /// The circuit of a consumer changed to this state. The consumer of a target is `intent:NAME@1`.
    fn circuit(&self, consumer: &Scope, state: CircuitState) {
        let _ = (consumer, state);
    }
}

/// The end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptEnd {
    /// What it led to.
    pub state: State,
    /// Why.
    pub cause: Option<Cause>,
    /// How long the handler took.
    pub took: Duration,
    /// Whether it came too late and changed nothing.
    pub late: bool,
}

impl std::fmt::Debug for dyn Observer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Observer")
    }
}

/// Nobody measures.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn received(&self, _: &Message, _: Receipt) {}
    fn finished(&self, _: &Message, _: AttemptEnd) {}
    fn reclaimed(&self, _: &Message) {}
    fn suppressed(&self, _: &Message, _: usize) {}
    fn alert(&self, _: &Scope, _: &'static str, _: bool) {}
}
