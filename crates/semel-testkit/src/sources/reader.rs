//! A source as a test reads it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::source::{Delivery, Event, Handle, Partition, Settle, Settled, Want};
use tokio::time::{Instant, sleep, timeout_at};

/// How long something that must come may take before the test fails.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// A source that is open, and what it has lost.
pub struct Reader {
    pub(super) source: Arc<dyn Source>,
    lost: HashSet<Partition>,
}

/// As much as a test ever wants at once.
pub const MUCH: Want = Want {
    count: 500,
    bytes: 8 * 1024 * 1024,
};

impl Reader {
    /// Opens a source, trying for a while.
    pub async fn open(source: Arc<dyn Source>) -> Self {
        let until = Instant::now() + PATIENCE;
        while let Err(error) = source.open(Vec::new()).await {
            assert!(
                Instant::now() < until,
                "the source cannot be opened: {error}"
            );
            sleep(Duration::from_millis(200)).await;
        }
        Self {
            source,
            lost: HashSet::new(),
        }
    }

    /// The next deliveries; none if none come in this time.
    pub(super) async fn next_within(&mut self, want: Want, time: Duration) -> Vec<Delivery> {
        let until = Instant::now() + time;
        loop {
            let event = match timeout_at(until, self.source.next(want)).await {
                Err(_) => return Vec::new(),
                Ok(Err(error)) => {
                    assert!(error.is_retryable(), "the source cannot be read: {error}");
                    sleep(Duration::from_millis(100)).await;
                    continue;
                }
                Ok(Ok(event)) => event,
            };
            match event {
                Event::Batch(batch) if batch.deliveries.is_empty() => {}
                Event::Batch(batch) => return batch.deliveries,
                Event::Gone(gone) => {
                    self.lost.extend(gone.partitions);
                    if let Some(flushed) = gone.flushed {
                        let _ = flushed.send(());
                    }
                }
                other => panic!("a broker has no end, found {other:?}"),
            }
        }
    }

    /// Exactly so many deliveries, in their order.
    pub(super) async fn take(&mut self, count: usize) -> Vec<Delivery> {
        let (mut all, until) = (Vec::new(), Instant::now() + PATIENCE);
        while all.len() < count {
            let want = Want {
                count: count - all.len(),
                ..MUCH
            };
            all.extend(self.next_within(want, Duration::from_secs(5)).await);
            let found = all.len();
            assert!(
                Instant::now() < until,
                "{count} deliveries expected, found {found}"
            );
        }
        all
    }

    /// Delivers and acknowledges until nothing has come for `quiet`; the ids of what came.
    pub(super) async fn drain(&mut self, quiet: Duration) -> Vec<String> {
        let mut ids = Vec::new();
        loop {
            let found = self.next_within(MUCH, quiet).await;
            if found.is_empty() {
                return ids;
            }
            ids.extend(found.iter().map(id));
            self.settle(&found, Settle::Ack).await;
        }
    }

    /// Settles all in the same way, and again what was not possible at once.
    pub(super) async fn settle(&self, all: &[Delivery], how: Settle) -> Vec<Settled> {
        let handles: Vec<Handle> = all.iter().map(|delivery| delivery.handle.clone()).collect();
        self.settle_handles(&handles, how).await
    }

    pub(super) async fn settle_handles(&self, all: &[Handle], how: Settle) -> Vec<Settled> {
        let until = Instant::now() + PATIENCE;
        loop {
            let items = all.iter().map(|handle| (handle.clone(), how)).collect();
            let settled = self.source.settle(items).await;
            let is_over = Instant::now() > until;
            match settled {
                Ok(settled) if is_over || !settled.contains(&Settled::Later) => {
                    assert_eq!(settled.len(), all.len(), "one result per handle");
                    return settled;
                }
                Ok(_) => {}
                Err(error) => assert!(!is_over, "deliveries cannot be settled: {error}"),
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// Ends well.
    pub(super) async fn close(self) {
        self.source.close().await.expect("a source closes");
    }

    /// Ends as a process does that is killed: without a word.
    pub(super) fn crash(self) {
        drop(self.source);
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Reader({})", self.source.name())
    }
}

/// The id that a delivery was published with.
pub(super) fn id(delivery: &Delivery) -> String {
    let header = delivery.raw.headers.iter();
    let mut header = header.filter(|(name, _)| name.eq_ignore_ascii_case("message-id"));
    let value = header.next().and_then(|(_, value)| value.clone());
    let value = value.map(|value| String::from_utf8_lossy(&value).into_owned());
    value
        .or_else(|| delivery.raw.id.clone())
        .expect("every message of the suite has an id")
}

/// All of them, in an order of their own.
pub(super) fn ids(all: &[Delivery]) -> Vec<String> {
    let mut ids: Vec<String> = all.iter().map(id).collect();
    ids.sort_unstable();
    ids
}
