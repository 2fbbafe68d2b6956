//! When something was asked for, as a process that may have stood still must judge it.

use std::time::Duration;

use semel_core::{Clock, Timestamp};
use tokio::time::Instant;

/// A moment by two clocks: the monotonic one cannot be stepped, but stands still while a machine is suspended; the wall clock goes on, but
/// can be stepped.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Moment {
    pub(super) steady: Instant,
    wall: Timestamp,
}

impl Moment {
    pub(super) fn now(clock: &dyn Clock) -> Self {
        Self {
            steady: Instant::now(),
            wall: clock.wall(),
        }
    }

    /// The most that can have passed since: by whichever clock says more. A wall clock that was set back says nothing.
    pub(super) fn elapsed_with_suspend(self, clock: &dyn Clock) -> Duration {
        self.steady.elapsed().max(clock.wall().since(self.wall))
    }
}
