//! What lies between requests and the collector.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use semel_core::trace::{FinishedSpan, SpanSink};
use tokio::sync::mpsc;

/// What became of spans.
#[derive(Debug, Default)]
pub struct Counts {
    /// All that were taken into the queue.
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
        let counted = match self.spans.try_send(span) {
            Ok(()) => &self.counts.queued,
            Err(_) => &self.counts.queue_full,
        };
        counted.fetch_add(1, Ordering::Relaxed);
    }
}
