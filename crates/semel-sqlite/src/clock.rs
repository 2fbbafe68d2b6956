//! The store's time: it follows a clock, never goes back, and never stands still.
//!
//! A file may hold times that lie ahead of the machine's clock: the clock was wrong once and has been
//! set back, or another process started before a step. The store then goes on from the latest time
//! that the file knows, so that no ended lease revives and every lease still ends.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use semel_core::{Clock, Timestamp};

/// A clock with an offset that only grows.
#[derive(Debug, Clone)]
pub(crate) struct StoreClock {
    clock: Arc<dyn Clock>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    offset_ms: AtomicI64,
    latest_ms: AtomicI64,
}

impl StoreClock {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self {
            clock,
            shared: Arc::default(),
        }
    }

    /// The present instant, not before any that was returned or reported.
    pub(crate) fn now(&self) -> Timestamp {
        let offset = self.shared.offset_ms.load(Ordering::Acquire);
        let reading = self.clock.now().as_millis().saturating_add(offset);
        let latest = self.shared.latest_ms.fetch_max(reading, Ordering::AcqRel);
        if latest > reading {
            let behind = latest - reading;
            self.shared
                .offset_ms
                .fetch_max(offset + behind, Ordering::AcqRel);
        }
        Timestamp::from_millis(latest.max(reading))
    }

    /// Reports a time that the file knows.
    pub(crate) fn seen(&self, at_ms: i64) {
        self.shared.latest_ms.fetch_max(at_ms, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::ManualClock;
    use std::time::Duration;

    #[test]
    fn time_goes_on_from_the_latest_known_instant() {
        let manual = Arc::new(ManualClock::at(Timestamp::from_millis(1_000)));
        let clock = StoreClock::new(manual.clone());
        assert_eq!(clock.now().as_millis(), 1_000);
        clock.seen(5_000);
        assert_eq!(clock.now().as_millis(), 5_000);
        manual.advance(Duration::from_millis(10));
        assert_eq!(clock.now().as_millis(), 5_010);
        manual.set(Timestamp::from_millis(0));
        assert_eq!(clock.now().as_millis(), 5_010);
        manual.advance(Duration::from_millis(7));
        assert_eq!(clock.now().as_millis(), 5_017);
    }
}
