//! Effects that count how often they happened and how many happened at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) use semel_testkit::gate::Gate;

/// An effect on the world outside. Clones are the same effect.
#[derive(Debug, Clone, Default)]
pub(crate) struct Effects(Arc<Inner>);

#[derive(Debug, Default)]
struct Inner {
    begun: AtomicU32,
    ended: AtomicU32,
    at_once_max: AtomicU32,
}

impl Effects {
    /// Happens, and says for the how manieth time.
    pub(crate) fn happen(&self) -> u32 {
        let number = self.begin();
        self.end();
        number
    }

    /// Begins to happen, and says for the how manieth time.
    pub(crate) fn begin(&self) -> u32 {
        let number = self.0.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let at_once = number - self.0.ended.load(Ordering::SeqCst);
        self.0.at_once_max.fetch_max(at_once, Ordering::SeqCst);
        number
    }

    /// Is over.
    pub(crate) fn end(&self) {
        self.0.ended.fetch_add(1, Ordering::SeqCst);
    }

    /// How often it began.
    pub(crate) fn count(&self) -> u32 {
        self.0.begun.load(Ordering::SeqCst)
    }

    /// How many went on at the same time, at most.
    pub(crate) fn at_once_max(&self) -> u32 {
        self.0.at_once_max.load(Ordering::SeqCst)
    }
}
