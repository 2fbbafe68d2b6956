//! A clock that follows Tokio's time, paused or not.

use semel_core::{Clock, Timestamp};
use tokio::time::Instant;

/// Tokio's time as a store's clock.
#[derive(Debug)]
pub(crate) struct PausedClock(Instant);

impl PausedClock {
    pub(crate) fn new() -> Self {
        Self(Instant::now())
    }
}

impl Clock for PausedClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_000_000).after(self.0.elapsed())
    }
}
