//! The deliveries of one source that are open: taken in, but not yet answered.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::store::Answer;
use semel_core::{Error, Kind, Result};
use tokio::sync::{Notify, watch};
use tokio::time::{Instant, sleep, timeout};

use super::status::Status;
use super::{Handle, Partition, Settle, Settled, Source, SourceLease};
use crate::pause;

/// The most deliveries of one source that are open at the same time: what a broker may be asked to hand out without an answer.
pub const OPEN_MAX: usize = 1_000;
/// How often an acknowledgement is tried before the delivery is left to come again.
const TRIES: u32 = 5;
/// The pause after the first try.
const PAUSE: Duration = Duration::from_millis(50);
/// How long a source may take to settle, or to close: one that hangs must not keep others from being read.
pub(super) const ANSWER_MAX: Duration = Duration::from_secs(30);

/// What is open at one source.
pub(crate) struct Open {
    source: Arc<dyn Source>,
    status: Arc<Status>,
    handles: Mutex<Handles>,
    closed: Notify,
    /// Changes whenever something is lost.
    losses: watch::Sender<u64>,
}

#[derive(Default)]
struct Handles {
    last: u64,
    open: HashMap<u64, Entry>,
}

struct Entry {
    handle: Handle,
    partition: Partition,
    since: Instant,
}

/// One open delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Ref(u64);

impl Open {
    pub(super) fn new(source: Arc<dyn Source>, status: Arc<Status>) -> Self {
        Self {
            source,
            status,
            handles: Mutex::default(),
            closed: Notify::new(),
            losses: watch::Sender::new(0),
        }
    }

    pub(crate) fn lease(&self) -> Option<SourceLease> {
        self.source.lease()
    }

    pub(crate) fn len(&self) -> usize {
        self.handles().open.len()
    }

    /// Extends everything that is open; what is gone is closed.
    pub(crate) async fn extend(&self) {
        let all = self.all();
        let count = all.len();
        match self.settle(&all, Settle::Extend).await {
            Ok(gone) => self.lost(&gone),
            Err(error) => {
                let source = self.source.name();
                tracing::warn!(source, count, %error, "open deliveries cannot be extended");
            }
        }
    }

    pub(super) fn add(&self, handle: Handle, partition: Partition) -> Ref {
        let mut handles = self.handles();
        handles.last += 1;
        let number = handles.last;
        let entry = Entry {
            handle,
            partition,
            since: Instant::now(),
        };
        handles.open.insert(number, entry);
        Ref(number)
    }

    /// When a delivery came, while it is open.
    pub(super) fn since(&self, open: Ref) -> Option<Instant> {
        self.handles().open.get(&open.0).map(|entry| entry.since)
    }

    /// Waits until a delivery is not open any more.
    pub(super) async fn is_lost(&self, open: Ref) {
        let mut losses = self.losses.subscribe();
        while self.since(open).is_some() {
            if losses.changed().await.is_err() {
                return;
            }
        }
    }

    /// Forgets everything of these partitions: its handles are worthless, and its room is free.
    pub(super) fn lose(&self, partitions: &[Partition]) -> usize {
        let mut handles = self.handles();
        let before = handles.open.len();
        let is_kept = |_: &u64, entry: &mut Entry| !partitions.contains(&entry.partition);
        handles.open.retain(is_kept);
        let lost = before - handles.open.len();
        drop(handles);
        Status::count(&self.status.lost, lost);
        self.losses.send_modify(|losses| *losses += 1);
        self.closed.notify_one();
        lost
    }

    /// How many more may be taken in now.
    pub(super) fn room(&self) -> usize {
        OPEN_MAX.saturating_sub(self.len())
    }

    /// Waits until something is closed.
    pub(super) async fn has_room(&self) {
        loop {
            let closed = self.closed.notified();
            if self.room() > 0 {
                return;
            }
            closed.await;
        }
    }

    /// Acknowledges what is open. What cannot be acknowledged comes again, and will be a duplicate.
    pub(super) async fn ack(&self, all: &[Ref]) {
        let mut left = self.these(all);
        let mut wait = PAUSE;
        for tried in 1..=TRIES {
            let count = left.len();
            if count == 0 {
                return;
            }
            let settled = self.source.settle(handles(&left, Settle::Ack));
            match answered(settled).await {
                Ok(settled) => left = self.acked(left, &settled),
                Err(error) => {
                    let source = self.source.name();
                    tracing::warn!(source, count, %error, "deliveries cannot be acknowledged");
                    if !error.is_retryable() {
                        break;
                    }
                }
            }
            if tried < TRIES && !left.is_empty() {
                sleep(wait).await;
                wait = pause::longer(wait);
                // What was lost meanwhile cannot be acknowledged any more.
                left.retain(|(open, _)| self.handles().open.contains_key(&open.0));
            }
        }
        if !left.is_empty() {
            let (source, count) = (self.source.name(), left.len());
            tracing::warn!(
                source,
                count,
                "deliveries stay unacknowledged and will come again"
            );
            self.lost(&left.iter().map(|(open, _)| *open).collect::<Vec<_>>());
        }
    }

    /// Gives back everything that is open.
    pub(super) async fn give_back(&self) {
        let all = self.all();
        // Whatever cannot be given back comes again when the source's own lease ends.
        let _ = self.settle(&all, Settle::Back(Duration::ZERO)).await;
        for (open, _) in all {
            self.close(open);
        }
    }

    /// Answers all in the same way; those that are gone.
    async fn settle(&self, all: &[(Ref, Handle)], how: Settle) -> Result<Vec<Ref>> {
        if all.is_empty() {
            return Ok(Vec::new());
        }
        let settled = answered(self.source.settle(handles(all, how))).await?;
        let gone = all.iter().zip(settled);
        let gone = gone.filter(|(_, settled)| *settled == Settled::Gone);
        Ok(gone.map(|((open, _), _)| *open).collect())
    }

    /// Closes what is acknowledged or gone; what is left to try again.
    fn acked(&self, all: Vec<(Ref, Handle)>, settled: &[Settled]) -> Vec<(Ref, Handle)> {
        let mut settled = settled.iter();
        let mut left = Vec::new();
        for (open, handle) in all {
            match settled.next() {
                Some(Settled::Done) => {
                    let acked = self.close(open);
                    Status::count(&self.status.acked, usize::from(acked));
                }
                Some(Settled::Gone) => self.lost(&[open]),
                Some(Settled::Later) | None => left.push((open, handle)),
            }
        }
        left
    }

    fn lost(&self, all: &[Ref]) {
        // An acknowledgement may have closed it meanwhile: the heartbeat asks about what was open a moment ago.
        let lost = all.iter().filter(|open| self.close(**open)).count();
        Status::count(&self.status.lost, lost);
        self.losses.send_modify(|losses| *losses += 1);
    }

    /// Closes a delivery; whether it was open.
    fn close(&self, open: Ref) -> bool {
        let was_open = self.handles().open.remove(&open.0).is_some();
        self.closed.notify_one();
        was_open
    }

    fn all(&self) -> Vec<(Ref, Handle)> {
        let handles = self.handles();
        let open = handles.open.iter();
        open.map(|(number, entry)| (Ref(*number), entry.handle.clone()))
            .collect()
    }

    /// Those that are still open, each once, in the order they were delivered.
    fn these(&self, all: &[Ref]) -> Vec<(Ref, Handle)> {
        let handles = self.handles();
        let mut all = all.to_vec();
        all.sort_unstable();
        all.dedup();
        let found = all.into_iter().filter_map(|open| {
            let entry = handles.open.get(&open.0)?;
            Some((open, entry.handle.clone()))
        });
        found.collect()
    }

    fn handles(&self) -> MutexGuard<'_, Handles> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.handles.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What a source answers, if it does so in time.
pub(super) async fn answered<T>(answer: Answer<'_, T>) -> Result<T> {
    let late = || {
        let limit = semel_core::duration::show(ANSWER_MAX);
        let message = format!("the source gave no answer within {limit}");
        Error::new(Kind::Unavailable, message)
    };
    let answered = timeout(ANSWER_MAX, answer).await;
    answered.unwrap_or_else(|_| Err(late()))
}

fn handles(all: &[(Ref, Handle)], how: Settle) -> Vec<(Handle, Settle)> {
    let all = all.iter();
    all.map(|(_, handle)| (handle.clone(), how)).collect()
}
