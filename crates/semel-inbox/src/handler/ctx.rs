//! What a handler knows and may do.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::policy::Consumer;
use crate::policy::retry::Failure;
use bytes::Bytes;
use semel_core::inbox::{Claim, Disposition, Finish, Inbox, Intent, Job, Message, Plan, Step};
use semel_core::trace::{SpanHandle, TraceContext};
use semel_core::{Outcome, Scope, Timestamp};
use tokio::time::Instant;

use crate::intents::{Draft, Targets};
use crate::keys;
use crate::trace;

/// One attempt at one message. Cheap to clone.
#[derive(Clone)]
pub struct Ctx(pub(super) Arc<Attempt>);

/// An attempt under way.
pub(super) struct Attempt {
    pub(super) job: Job,
    /// Where steps are remembered; a consumer without an inbox has nowhere.
    pub(super) inbox: Option<Arc<dyn Inbox>>,
    consumer: Arc<Consumer>,
    targets: Arc<Targets>,
    /// The attempt in its trace.
    span: SpanHandle,
    began: Instant,
    notes: Mutex<Notes>,
}

/// What an attempt has brought so far.
#[derive(Default)]
pub(super) struct Notes {
    pub(super) steps: Vec<Step>,
    intents: Vec<Intent>,
    suppressed: usize,
    /// An intent was refused: the attempt fails, even if the handler ignores it.
    refused: Option<Failure>,
}

impl Ctx {
    pub(crate) fn new(
        mut job: Job,
        inbox: Option<Arc<dyn Inbox>>,
        consumer: Arc<Consumer>,
        targets: Arc<Targets>,
        span: SpanHandle,
    ) -> Self {
        let notes = Notes {
            steps: std::mem::take(&mut job.steps),
            ..Notes::default()
        };
        Self(Arc::new(Attempt {
            job,
            inbox,
            consumer,
            targets,
            span,
            began: Instant::now(),
            notes: Mutex::new(notes),
        }))
    }

    /// The message.
    pub fn message(&self) -> &Message {
        &self.0.job.message
    }

    /// The consumer, by name and version.
    pub fn consumer(&self) -> &Scope {
        self.0.consumer.name()
    }

    /// Which attempt this is since the message was received or last replayed or retried by hand, from 1.
    pub fn attempt(&self) -> u32 {
        self.0.job.attempt
    }

    /// How often the message was replayed or retried by hand.
    pub fn generation(&self) -> u32 {
        self.0.job.generation
    }

    /// Whether the message was completed before and is replayed.
    pub fn is_replay(&self) -> bool {
        self.0.job.replay
    }

    /// Which edit of an operator the message's payload and headers are from; 0 if they are as they arrived.
    pub fn edited(&self) -> u32 {
        self.0.job.message.edited()
    }

    /// When the message was received, by the store's clock.
    pub fn received_at(&self) -> Timestamp {
        self.0.job.received_at
    }

    /// Whether an earlier worker was lost while it had the message.
    pub(crate) fn is_reclaimed(&self) -> bool {
        self.0.job.reclaimed
    }

    /// The present by the store's clock, as far as this process can tell: when the message was claimed, and how long ago that was.
    pub fn now(&self) -> Timestamp {
        self.0.job.claimed_at.after(self.0.began.elapsed())
    }

    /// When it was first tried in a way that may have had an effect under the key it has now, by the store's clock; when it was claimed, if it
    /// never was.
    pub fn first_tried_at(&self) -> Timestamp {
        self.0.job.first_tried_at
    }

    /// The generation in which an operator gave it a new key for its provider; 0 if none did.
    pub fn key_generation(&self) -> u32 {
        self.0.job.key_generation
    }

    /// A text that names this message to this consumer for its tenant: the same for every attempt and replay, unless an operator gives it a new
    /// key; at most 255 bytes of printable ASCII.
    pub fn idempotency_key(&self) -> String {
        let key = keys::of_message(&self.0.job.claim.identity);
        keys::renewed(&key, self.key_generation())
    }

    /// The attempt in its trace, for what a handler sends by itself; `None` if nothing is traced.
    pub fn trace(&self) -> Option<&TraceContext> {
        self.0.span.context()
    }

    pub(crate) fn span(&self) -> &SpanHandle {
        &self.0.span
    }

    /// The right to finish the message, for a handler that does so in its own transaction.
    pub fn claim(&self) -> &Claim {
        &self.0.job.claim
    }

    /// What the store must know of the consumer, for a handler that finishes in its own transaction.
    pub fn plan(&self) -> &Plan {
        &self.0.consumer.plan
    }

    /// The end of this attempt with all intents so far, for `finish_in` of a store's driver: it commits or rolls back with the
    /// handler's own transaction. After the commit the handler returns [`super::Done::in_transaction`].
    pub fn finish(&self, outcome: Outcome) -> Result<Finish, Failure> {
        let intents = self.intents()?;
        Ok(Finish {
            claim: self.claim().clone(),
            took: self.took(),
            disposition: Disposition::Completed { outcome, intents },
        })
    }

    /// Has something sent because of this message: it is stored with the message's end or not at all, and sent by the target of
    /// that name. The name is unique in the handler; with the message it makes the intent's id.
    ///
    /// A refusal is a terminal failure of the attempt, also if the handler goes on. Of a replay whose policy suppresses side
    /// effects nothing is stored.
    pub fn intent(
        &self,
        target: &str,
        name: &str,
        payload: impl Into<Bytes>,
    ) -> Result<(), Failure> {
        self.send(Draft::new(target, name, payload))
    }

    /// The same for an intent with headers or an id of its own.
    pub fn send(&self, draft: Draft) -> Result<(), Failure> {
        let Attempt { job, consumer, .. } = &*self.0;
        let mut notes = self.notes();
        let made = self
            .0
            .targets
            .intent(consumer, &job.message, draft, &notes.intents);
        match made {
            Ok(_) if consumer.replay.suppresses(job.replay) => notes.suppressed += 1,
            Ok(Intent { plan, message }) => {
                let message = trace::intended(message, &self.0.span);
                notes.intents.push(Intent { plan, message });
            }
            Err(failure) => {
                notes.refused.get_or_insert_with(|| failure.clone());
                return Err(failure);
            }
        }
        Ok(())
    }

    /// The intents so far, or why one was refused.
    pub(crate) fn intents(&self) -> Result<Vec<Intent>, Failure> {
        let notes = self.notes();
        match &notes.refused {
            Some(failure) => Err(failure.clone()),
            None => Ok(notes.intents.clone()),
        }
    }

    /// How many intents were suppressed.
    pub(crate) fn suppressed(&self) -> usize {
        self.notes().suppressed
    }

    pub(crate) fn took(&self) -> Duration {
        self.0.began.elapsed()
    }

    pub(super) fn notes(&self) -> MutexGuard<'_, Notes> {
        // The notes are whole after every statement, so a poisoned lock protects nothing.
        self.0.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Ctx {
    /// Which attempt at which message; payloads never reach logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ctx")
            .field("claim", self.claim())
            .field("attempt", &self.attempt())
            .finish_non_exhaustive()
    }
}
