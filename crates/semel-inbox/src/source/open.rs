//! The deliveries of one source that are open: taken in, but not yet answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::{Handle, Source};

/// The most deliveries of one source that are open at the same time.
pub(super) const OPEN_MAX: usize = 1_000;

/// What is open at one source.
pub(crate) struct Open {
    source: Arc<dyn Source>,
    handles: Mutex<(u64, HashMap<u64, Handle>)>,
    closed: Notify,
}

/// One open delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ref(u64);

impl Open {
    pub(super) fn new(source: Arc<dyn Source>) -> Self {
        Self {
            source,
            handles: Mutex::default(),
            closed: Notify::new(),
        }
    }

    pub(crate) fn lease(&self) -> Option<Duration> {
        self.source.lease()
    }

    /// Extends everything that is open.
    pub(crate) async fn extend(&self) {
        let handles: Vec<Handle> = self.handles().1.values().cloned().collect();
        if handles.is_empty() {
            return;
        }
        let count = handles.len();
        if let Err(error) = self.source.extend(handles).await {
            let source = self.source.name();
            tracing::warn!(source, count, %error, "open deliveries cannot be extended");
        }
    }

    pub(super) fn add(&self, handle: Handle) -> Ref {
        let mut handles = self.handles();
        handles.0 += 1;
        let number = handles.0;
        handles.1.insert(number, handle);
        Ref(number)
    }

    /// It is no longer open; its handle, unless it was closed before.
    pub(super) fn close(&self, open: Ref) -> Option<Handle> {
        let handle = self.handles().1.remove(&open.0);
        self.closed.notify_one();
        handle
    }

    /// Waits until more may be taken in; how many.
    pub(super) async fn room(&self) -> usize {
        loop {
            let closed = self.closed.notified();
            let room = OPEN_MAX.saturating_sub(self.handles().1.len());
            if room > 0 {
                return room;
            }
            closed.await;
        }
    }

    /// Acknowledges what is open; a source that cannot be told delivers it again, and it will be a duplicate.
    pub(super) async fn ack(&self, all: Vec<Ref>) {
        let handles: Vec<Handle> = all
            .into_iter()
            .filter_map(|open| self.close(open))
            .collect();
        if handles.is_empty() {
            return;
        }
        let count = handles.len();
        if let Err(error) = self.source.ack(handles).await {
            let source = self.source.name();
            tracing::warn!(source, count, %error, "deliveries cannot be acknowledged and will come again");
        }
    }

    /// Gives back everything that is open.
    pub(super) async fn give_back(&self) {
        let handles: Vec<Handle> = self.handles().1.drain().map(|(_, handle)| handle).collect();
        for handle in handles {
            // Whatever cannot be given back comes again when the source's own lease ends.
            let _ = self.source.nack(handle, Duration::ZERO).await;
        }
    }

    fn handles(&self) -> MutexGuard<'_, (u64, HashMap<u64, Handle>)> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
