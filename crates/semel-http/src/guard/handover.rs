//! Whether a request has left our hands.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Tells a guard whether a request was handed to something that can act on it. A timer that ends before
/// that leaves nothing unknown: the claim is released.
///
/// Without a word it is assumed to be handed over, because that is the safe mistake.
#[derive(Debug, Clone, Default)]
pub struct Handover(Option<Arc<AtomicBool>>);

impl Handover {
    /// One that happens when [`Handover::mark`] says so.
    pub fn pending() -> Self {
        Self(Some(Arc::default()))
    }

    /// The request is being handed over: from now on it may take effect.
    pub fn mark(&self) {
        self.set(true);
    }

    /// The request came back, and it is certain that nothing acted on it.
    pub fn take_back(&self) {
        self.set(false);
    }

    fn set(&self, done: bool) {
        if let Some(flag) = &self.0 {
            flag.store(done, Ordering::Release);
        }
    }

    /// Whether the request may have taken effect.
    pub fn is_done(&self) -> bool {
        self.0
            .as_ref()
            .is_none_or(|flag| flag.load(Ordering::Acquire))
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
        pending.clone().mark();
        assert!(pending.is_done());
        pending.take_back();
        assert!(!pending.is_done());
    }
}
