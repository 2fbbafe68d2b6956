//! Whether a request has left our hands.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

/// Tells a guard whether a request was handed to something that can act on it. A timer that ends before
/// that leaves nothing unknown: the claim is released.
///
/// Without a word it is assumed to be handed over, because that is the safe mistake.
#[derive(Debug, Clone, Default)]
pub struct Handover(Option<Arc<Inner>>);

#[derive(Default)]
struct Inner {
    is_done: AtomicBool,
    /// Whether it may still happen: the claim's lease may have ended while a connection was made.
    may_happen: OnceLock<Box<dyn Fn() -> bool + Send + Sync>>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.is_done.load(Ordering::Acquire))
    }
}

impl Handover {
    /// One that happens when [`Handover::mark`] says so.
    pub fn pending() -> Self {
        Self(Some(Arc::default()))
    }

    /// From now on it happens only while `may_happen` says so.
    pub(super) fn only_while(&self, may_happen: impl Fn() -> bool + Send + Sync + 'static) {
        if let Some(inner) = &self.0 {
            // Said once, by the guard that made the claim.
            let _ = inner.may_happen.set(Box::new(may_happen));
        }
    }

    /// The request is being handed over: from now on it may take effect. `false` if it must not be any more, because
    /// its claim has ended meanwhile.
    #[must_use]
    pub fn mark(&self) -> bool {
        let inner = self.0.as_ref();
        let may_happen = inner.and_then(|inner| inner.may_happen.get());
        let may_happen = may_happen.is_none_or(|may_happen| may_happen());
        self.set(may_happen);
        may_happen
    }

    /// The request came back, and it is certain that nothing acted on it.
    pub fn take_back(&self) {
        self.set(false);
    }

    fn set(&self, done: bool) {
        if let Some(inner) = &self.0 {
            inner.is_done.store(done, Ordering::Release);
        }
    }

    /// Whether the request may have taken effect.
    pub fn is_done(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|inner| inner.is_done.load(Ordering::Acquire))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_door_that_says_nothing_is_assumed_to_have_handed_over() {
        let silent = Handover::default();
        silent.take_back();
        assert!(silent.is_done());
        let pending = Handover::pending();
        assert!(!pending.is_done());
        assert!(pending.clone().mark());
        assert!(pending.is_done());
        pending.take_back();
        assert!(!pending.is_done());
    }

    #[test]
    fn what_may_not_happen_any_more_is_not_handed_over() {
        let handover = Handover::pending();
        let lease = Arc::new(AtomicBool::new(true));
        let held = lease.clone();
        handover.only_while(move || held.load(Ordering::Acquire));
        assert!(handover.mark());
        handover.take_back();
        lease.store(false, Ordering::Release);
        assert!(!handover.mark());
        assert!(!handover.is_done());
    }
}
