//! What operators see of a source.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use semel_core::Scope;

use super::facts::Facts;
use super::open::Open;

/// What a source is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum SourceState {
    /// It has not been opened yet.
    #[default]
    Opening,
    /// It is read.
    Reading,
    /// It is not asked for more, because too much waits in the inbox.
    BacklogFull,
    /// The inbox store cannot take what it delivered; nothing is acknowledged.
    StoreAway(String),
    /// It cannot be read; it is tried again.
    Away(String),
    /// It is not read, because its messages would be lost or run twice.
    Refused(String),
    /// It has come to its end, or another process reads it now.
    Ended,
}

impl SourceState {
    /// A stable lowercase name.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Opening => "opening",
            Self::Reading => "reading",
            Self::BacklogFull => "backlog-full",
            Self::StoreAway(_) => "store-away",
            Self::Away(_) => "away",
            Self::Refused(_) => "refused",
            Self::Ended => "ended",
        }
    }

    /// Whether it does what it can: one that waits for room in the inbox does, and one that has ended has nothing left to do.
    pub const fn is_well(&self) -> bool {
        matches!(self, Self::Reading | Self::BacklogFull | Self::Ended)
    }

    /// What went wrong, if something did.
    pub fn error(&self) -> Option<&str> {
        match self {
            Self::StoreAway(error) | Self::Away(error) | Self::Refused(error) => Some(error),
            Self::Opening | Self::Reading | Self::BacklogFull | Self::Ended => None,
        }
    }
}

/// How one source stands.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SourceView {
    /// The source's name.
    pub name: String,
    /// Whose messages it brings.
    pub consumer: Scope,
    /// What it is doing.
    pub state: SourceState,
    /// How many deliveries are open.
    pub open: u64,
    /// How many deliveries came in since the process began.
    pub delivered: u64,
    /// How many were acknowledged.
    pub acked: u64,
    /// How many were lost before they could be acknowledged, and come again.
    pub lost: u64,
    /// How many could not be read and are parked.
    pub unreadable: u64,
    /// What the broker said last about itself.
    pub facts: Facts,
}

impl SourceView {
    /// A source that was not opened yet.
    pub fn new(name: impl Into<String>, consumer: Scope) -> Self {
        Status::default().view(&name.into(), &consumer, 0)
    }
}

/// The status that the tasks of one source keep.
#[derive(Debug, Default)]
pub(crate) struct Status {
    said: Mutex<(SourceState, Facts)>,
    /// What operators must know about deliveries that wait.
    waits: Mutex<Option<String>>,
    pub(super) delivered: AtomicU64,
    pub(super) acked: AtomicU64,
    pub(super) lost: AtomicU64,
    pub(super) unreadable: AtomicU64,
}

impl Status {
    /// Says what the source is doing; whether it was doing something else before.
    pub(super) fn set(&self, state: SourceState) -> bool {
        let mut said = self.said();
        let is_new = said.0.name() != state.name();
        said.0 = state;
        is_new
    }

    /// Remembers what the broker said; whether what follows from it for operators may be new.
    pub(super) fn learned(&self, facts: Facts) -> bool {
        let mut said = self.said();
        let is_new = (said.1.retained, &said.1.warnings) != (facts.retained, &facts.warnings);
        said.1 = facts;
        is_new
    }

    /// Says what waits, and why.
    pub(super) fn waits(&self, why: Option<String>) {
        *self.waits.lock().unwrap_or_else(PoisonError::into_inner) = why;
    }

    pub(super) fn count(counter: &AtomicU64, more: usize) {
        counter.fetch_add(more as u64, Ordering::Relaxed);
    }

    fn view(&self, name: &str, consumer: &Scope, open: usize) -> SourceView {
        let (state, mut facts) = self.said().clone();
        let waits = self.waits.lock().unwrap_or_else(PoisonError::into_inner);
        facts.warnings.extend(waits.clone());
        drop(waits);
        let number = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        SourceView {
            name: name.to_owned(),
            consumer: consumer.clone(),
            state,
            open: open as u64,
            delivered: number(&self.delivered),
            acked: number(&self.acked),
            lost: number(&self.lost),
            unreadable: number(&self.unreadable),
            facts,
        }
    }

    fn said(&self) -> MutexGuard<'_, (SourceState, Facts)> {
        // Both are replaced whole, so a poisoned lock protects nothing.
        self.said.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What operators see of one source, whatever its task is doing.
#[derive(Clone)]
pub(crate) struct Seen {
    name: String,
    consumer: Scope,
    status: Arc<Status>,
    open: Arc<Open>,
}

impl Seen {
    pub(super) fn new(name: &str, consumer: &Scope, status: Arc<Status>, open: Arc<Open>) -> Self {
        Self {
            name: name.to_owned(),
            consumer: consumer.clone(),
            status,
            open,
        }
    }
}

/// The sources of an engine, to be looked at as long as anything shows them. Cheap to clone.
#[derive(Clone, Default)]
pub struct Sources(Arc<[Seen]>);

impl Sources {
    pub(crate) fn new(seen: Vec<Seen>) -> Self {
        Self(seen.into())
    }

    /// How each of them stands.
    pub fn views(&self) -> Vec<SourceView> {
        let all = self.0.iter();
        let view = |seen: &Seen| {
            let open = seen.open.len();
            seen.status.view(&seen.name, &seen.consumer, open)
        };
        all.map(view).collect()
    }
}

impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.0.iter().map(|seen| &seen.name);
        f.debug_list().entries(names).finish()
    }
}
