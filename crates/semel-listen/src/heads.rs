//! Watches the heads of requests as they arrive.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::load::Pulse;
use crate::wire::Reads;

/// Watches that the head of an HTTP/1 request, once begun, arrives in time.
pub(crate) struct Heads {
    pulse: Arc<Pulse>,
    limit: Duration,
    /// `None` until the first bytes show it.
    is_h2: Option<bool>,
    /// When the head began that will be this request of the connection.
    begun: Option<(usize, Instant)>,
}

impl Heads {
    pub(crate) const fn new(pulse: Arc<Pulse>, limit: Duration) -> Self {
        Self {
            pulse,
            limit,
            is_h2: None,
            begun: None,
        }
    }

    /// When the head began that is still arriving.
    fn arriving(&self) -> Option<Instant> {
        let (request, since) = self.begun?;
        (request == self.pulse.requests()).then_some(since)
    }
}

impl Reads for Heads {
    fn arrived(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        // Frames of HTTP/2 need not belong to any request; there the idle timeout covers heads too.
        let is_h2 = *self.is_h2.get_or_insert_with(|| bytes.starts_with(b"PRI"));
        // While a request is in flight these are bytes of its body, or the next head, which the idle timeout covers.
        if is_h2 || self.pulse.idle_since().is_none() {
            return;
        }
        if self.arriving().is_none() {
            self.begun = Some((self.pulse.requests(), Instant::now()));
        }
    }

    fn deadline(&mut self) -> Option<Instant> {
        self.pulse.idle_since()?;
        self.arriving().map(|since| since + self.limit)
    }
}
