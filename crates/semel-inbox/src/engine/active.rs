//! What the tasks of an engine share, for all consumers and for one.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::observer::Observer;
use crate::policy::Consumer;
use semel_core::duplicate::{Duplicate, Origin};
use semel_core::inbox::{Inbox, Job, WorkerName};
use semel_core::trace::SpanHandle;
use semel_core::{Clock, Identity, Tracer};

use tokio::sync::watch;

use super::backlog::Backlog;
use super::breaker::Breaker;
use super::finals::Finals;
use super::flights::Flights;
use super::settings::Settings;
use crate::handler::{Ctx, Handler};
use crate::intents::Targets;
use crate::receiver::{Moves, Tally};

impl Shared {
    /// How long handlers that run may take to finish once the engine stops.
    pub(crate) fn drain(&self) -> Duration {
        let replaced = self.replaced.load(Ordering::Relaxed);
        self.settings.drain.max(Duration::from_millis(replaced))
    }
}

/// What all tasks share.
pub(crate) struct Shared {
    pub(crate) inbox: Arc<dyn Inbox>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) watch: Arc<dyn Observer>,
    pub(crate) tracer: Tracer,
    pub(crate) worker: WorkerName,
    pub(crate) settings: Settings,
    /// If another engine takes this one's place: how long its slowest handler may take, in milliseconds. Otherwise 0.
    pub(crate) replaced: AtomicU64,
    pub(crate) targets: Arc<Targets>,
    pub(crate) flights: Flights,
    pub(crate) finals: Arc<Finals>,
    /// Wakes claimers for what causes no wake-up: what a handler stored in its own transaction.
    pub(crate) nudge: watch::Sender<()>,
}

/// One consumer at its place.
pub(crate) struct ActiveConsumer {
    pub(crate) policy: Arc<Consumer>,
    pub(crate) handler: Arc<dyn Handler>,
    pub(crate) shared: Arc<Shared>,
    /// What arrives, for alerts.
    pub(crate) tally: Arc<Tally>,
    /// When parts of its sources came or went.
    pub(crate) moves: Moves,
    /// Whether its handler is there.
    pub(crate) breaker: Breaker,
    /// How much waits, and whether more may be taken in.
    pub(crate) backlog: Backlog,
}

impl ActiveConsumer {
    pub(super) fn ctx(&self, job: Job, span: SpanHandle) -> Ctx {
        let Shared { inbox, targets, .. } = &*self.shared;
        Ctx::new(
            job,
            Some(inbox.clone()),
            self.policy.clone(),
            targets.clone(),
            span,
        )
    }

    /// Reports to the observer that a message is run again: by an operator's hand, or because its worker was lost.
    pub(super) fn count_own_replay(&self, job: &Job) {
        if job.reclaimed || (job.generation > 0 && job.attempt == 1) {
            let again = Duplicate::of(self.policy.name(), Origin::OwnReplay);
            self.shared.watch.duplicate(&again);
        }
    }

    /// Tells the log of something unusual about one message: who and what, never the payload.
    pub(super) fn note(&self, identity: &Identity, what: &str) {
        let consumer = self.policy.name();
        tracing::warn!(%consumer, message = %identity.key(), "{what}");
    }
}
