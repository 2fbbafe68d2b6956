//! The one signal that ends all tasks of an engine.

use tokio::sync::watch;

/// Tells tasks to stop.
#[derive(Debug)]
pub(crate) struct Stop(watch::Sender<bool>);

/// Hears of it.
#[derive(Debug, Clone)]
pub(crate) struct Stopping(watch::Receiver<bool>);

impl Stop {
    pub(crate) fn new() -> (Self, Stopping) {
        let (stop, stopping) = watch::channel(false);
        (Self(stop), Stopping(stopping))
    }

    pub(crate) fn stop(&self) {
        self.0.send_replace(true);
    }
}

impl Stopping {
    /// Waits until it is time to stop. An engine that is gone has stopped.
    pub(crate) async fn stopped(&mut self) {
        let _ = self.0.wait_for(|stopped| *stopped).await;
    }

    pub(crate) fn is_stopped(&self) -> bool {
        *self.0.borrow() || self.0.has_changed().is_err()
    }
}
