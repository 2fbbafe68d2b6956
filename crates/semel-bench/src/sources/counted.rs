//! A source that passes everything on and notes when the first delivery came, how many were acknowledged, and how long each took until then.

use std::sync::{Arc, Mutex, PoisonError};

use semel_core::store::Answer;
use semel_inbox::Source;
use semel_inbox::source::{
    Delivery, Event, Facts, Handle, Partition, Position, Settle, Settled, SourceLease, Want,
};
use tokio::sync::watch;

use super::lap::Lap;
use crate::latency::Latencies;
use crate::timing::Stopwatch;

/// What was seen of a source.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) lap: Lap,
    acked: watch::Sender<u64>,
    latencies: Mutex<Latencies>,
}

impl Tally {
    pub(super) fn new() -> Self {
        Self {
            lap: Lap::default(),
            acked: watch::Sender::new(0),
            latencies: Mutex::new(Latencies::new()),
        }
    }

    /// How many were acknowledged so far.
    pub(super) fn acked(&self) -> watch::Receiver<u64> {
        self.acked.subscribe()
    }

    /// From delivery to acknowledgement.
    pub(super) fn latencies(&self) -> Latencies {
        let all = self.latencies.lock();
        all.unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn settled(&self, items: &[(Arc<Held>, Settle)], settled: &[Settled]) {
        let mut count = 0;
        let all = self.latencies.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        for ((held, how), settled) in items.iter().zip(settled) {
            if (*how, *settled) == (Settle::Ack, Settled::Done) {
                all.record(held.delivered.elapsed());
                count += 1;
            }
        }
        drop(all);
        self.acked.send_modify(|acked| *acked += count);
    }
}

/// A handle of the source inside, and when it was delivered.
struct Held {
    handle: Handle,
    delivered: Stopwatch,
}

/// The source.
pub(super) struct Counted {
    source: Arc<dyn Source>,
    tally: Arc<Tally>,
}

impl Counted {
    pub(super) fn new(source: Arc<dyn Source>, tally: Arc<Tally>) -> Self {
        Self { source, tally }
    }

    fn noted(&self, event: Event) -> Event {
        let Event::Batch(mut batch) = event else {
            return event;
        };
        self.tally.lap.begin();
        let delivered = Stopwatch::start();
        for Delivery { handle, .. } in &mut batch.deliveries {
            let inside = handle.clone();
            *handle = Handle::new(Arc::new(Held {
                handle: inside,
                delivered,
            }));
        }
        Event::Batch(batch)
    }
}

impl Source for Counted {
    fn name(&self) -> &str {
        self.source.name()
    }

    fn lease(&self) -> Option<SourceLease> {
        self.source.lease()
    }

    fn kept_partitions(&self) -> Vec<Partition> {
        self.source.kept_partitions()
    }

    fn open(&self, positions: Vec<(Partition, Position)>) -> Answer<'_, ()> {
        self.source.open(positions)
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        Box::pin(async move {
            let event = self.source.next(want).await?;
            Ok(self.noted(event))
        })
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        let held = items.iter().map(|(handle, how)| {
            let held = handle.get::<Arc<Held>>();
            (held.expect("every handle was made here").clone(), *how)
        });
        let held: Vec<_> = held.collect();
        Box::pin(async move {
            let inside = held.iter().map(|(held, how)| (held.handle.clone(), *how));
            let settled = self.source.settle(inside.collect()).await?;
            self.tally.settled(&held, &settled);
            Ok(settled)
        })
    }

    fn facts(&self) -> Answer<'_, Facts> {
        self.source.facts()
    }

    fn close(&self) -> Answer<'_, ()> {
        self.source.close()
    }
}
