//! Housekeeping in the background: small steps through the writer's queue, so that callers pass between them.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use semel_core::Result;
use semel_core::store::{StoreObserver, Swept};

/// The most records that one step touches.
pub(crate) const STEP: usize = 256;

/// Tells threads to stop, and lets them wait for that.
#[derive(Debug, Default)]
pub(crate) struct Stop {
    stopped: Mutex<bool>,
    changed: Condvar,
}

impl Stop {
    pub(crate) fn stop(&self) {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.changed.notify_all();
    }

    pub(crate) fn is_stopped(&self) -> bool {
        *self.stopped.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for `pause`; true if it is time to stop.
    fn wait(&self, pause: Duration) -> bool {
        let stopped = self.stopped.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .changed
            .wait_timeout_while(stopped, pause, |stopped| !*stopped);
        *waited.unwrap_or_else(PoisonError::into_inner).0
    }
}

/// Sweeps every `interval` until stopped.
pub(crate) fn run(
    stop: &Stop,
    interval: Duration,
    watch: Option<&dyn StoreObserver>,
    step: impl Fn() -> Result<Swept>,
) {
    let watched_step = || {
        let swept = step();
        if let Some(watch) = watch {
            // A panic in there is not the sweeper's.
            let _ = catch_unwind(AssertUnwindSafe(|| watch.swept(swept.as_ref())));
        }
        swept
    };
    while !stop.wait(interval) {
        // A store that cannot write now is swept next time; callers hear of it by themselves.
        while matches!(watched_step(), Ok(swept) if swept.more) && !stop.is_stopped() {}
    }
}
