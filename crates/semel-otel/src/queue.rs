//! What lies between requests and the collector.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use semel_core::trace::{FinishedSpan, SpanSink};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

/// What became of spans.
#[derive(Debug, Default)]
pub struct Counts {
    /// All that were taken into the queue, and those that came when there was none any more.
    queued: AtomicU64,
    exported: AtomicU64,
    queue_full: AtomicU64,
    failed: AtomicU64,
}

impl Counts {
    /// The collector has taken them.
    pub fn exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// Dropped, because too many waited.
    pub fn queue_full(&self) -> u64 {
        self.queue_full.load(Ordering::Relaxed)
    }

    /// Dropped, because the collector refused them or was away for too long, or because the process ended.
    pub fn failed(&self) -> u64 {
        self.failed.load(Ordering::Relaxed)
    }

    /// Counts as failed what was queued and nothing has become of; how many spans that are.
    pub(crate) fn leave(&self) -> u64 {
        let ended = self.exported() + self.failed();
        let left = self.queued.load(Ordering::Relaxed).saturating_sub(ended);
        self.failed.fetch_add(left, Ordering::Relaxed);
        left
    }

    pub(crate) fn sent(&self, exported: usize, failed: usize) {
        self.exported.fetch_add(exported as u64, Ordering::Relaxed);
        self.failed.fetch_add(failed as u64, Ordering::Relaxed);
    }
}

/// Takes spans as long as there is room.
#[derive(Debug)]
pub(crate) struct Queue {
    spans: mpsc::Sender<FinishedSpan>,
    counts: Arc<Counts>,
}

impl Queue {
    pub(crate) const fn new(spans: mpsc::Sender<FinishedSpan>, counts: Arc<Counts>) -> Self {
        Self { spans, counts }
    }
}

impl SpanSink for Queue {
    fn ended(&self, span: FinishedSpan) {
        let (counts, sent) = (&self.counts, self.spans.try_send(span));
        let count = |count: &AtomicU64| {
            count.fetch_add(1, Ordering::Relaxed);
        };
        match sent {
            Ok(()) => count(&counts.queued),
            Err(TrySendError::Full(_)) => count(&counts.queue_full),
            // Nothing exports any more. Counted as queued, too, it does not stand for one that is left in the queue.
            Err(TrySendError::Closed(_)) => {
                count(&counts.queued);
                count(&counts.failed);
            }
        }
    }
}
