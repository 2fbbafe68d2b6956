//! What the verbs of the inbox ask and answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::message::Message;
use super::plan::{Plan, UnknownPolicy};
use super::positions::{Progress, check_progress};
use super::state::{Cause, State};
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::identity::{Identity, checked};
use crate::outcome::Outcome;
use crate::policy::LeaseTerm;
use crate::record::Claim;
use crate::store::check_batch;

/// The most bytes of an error's text that are kept; the rest is cut off.
pub const ERROR_BYTES_MAX: usize = 2_048;
/// The most bytes of a handler's failed answer that are kept; the rest is cut off.
pub const ANSWER_BYTES_MAX: usize = 4_096;
/// How many bytes of payload one claim brings unless it asks for less.
pub const CLAIM_BYTES_MAX: usize = 64 * 1024 * 1024;
/// The most steps that one message remembers.
pub const STEPS_MAX: usize = 64;
/// The most bytes of one step's result.
pub const STEP_BYTES_MAX: usize = 64 * 1024;
/// The most intents of one message.
pub const INTENTS_MAX: usize = 64;

/// Messages of one consumer that are to be received together.
#[derive(Debug, Clone)]
pub struct Arrivals {
    /// The consumer's plan; all messages are its own.
    pub plan: Plan,
    /// The messages, in their order.
    pub messages: Vec<Message>,
    /// How far the source will have been received, for each partition that moves; see [`super::positions`].
    pub positions: Vec<Progress>,
}

impl Arrivals {
    /// Refuses arrivals that break the rules: too many, of another consumer, positions that are too long or named twice. Stores call it
    /// before anything is written.
    pub fn check(&self) -> Result<()> {
        check_batch(self.messages.len())?;
        let own = |message| self.plan.check_own(message);
        self.messages.iter().try_for_each(own)?;
        check_progress(&self.positions)
    }
}

/// What became of a message that arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Receipt {
    /// It is new, and stored in this state.
    Stored {
        /// RECEIVED, PARKED (a gap, behind a failure, or not to be read) or SKIPPED_DUPLICATE (an older version).
        state: State,
    },
    /// It was known, in this state, and is not stored again. COMPLETED may also mean that another door dealt with it.
    Duplicate {
        /// Where the first one stands.
        state: State,
        /// What else is known of the first one.
        first: First,
    },
    /// Its id is known with another payload: it is parked beside the first one.
    Conflict,
}

impl Receipt {
    /// A duplicate of one in this state, of which nothing else is known.
    pub const fn duplicate(state: State) -> Self {
        let first = First {
            age: None,
            settled: None,
            took: None,
        };
        Self::Duplicate { state, first }
    }

    /// The same without what else is known of the first one.
    #[must_use]
    pub const fn brief(self) -> Self {
        match self {
            Self::Duplicate { state, .. } => Self::duplicate(state),
            Self::Stored { .. } | Self::Conflict => self,
        }
    }
}

/// What a receipt says of the first message with an id, by the store's clock. Only what the store has in its hands when it recognises a duplicate.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct First {
    /// How long ago it was received; where a store knows that no longer, or another door dealt with it, how long ago it was claimed.
    pub age: Option<Duration>,
    /// How long ago it was settled, which is when its retention began; `None` while it is not.
    pub settled: Option<Duration>,
    /// How long it ran, if it has ended.
    pub took: Option<Duration>,
}

/// Who works: unique per process, for people to see.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct WorkerName(Arc<str>);

impl WorkerName {
    /// A name that people will see.
    pub fn new(name: impl AsRef<str>) -> Result<Self> {
        checked("a worker's name", name.as_ref()).map(|name| Self(name.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Asks for work.
#[derive(Debug, Clone)]
pub struct ClaimBatch {
    /// Whose messages, and in which order they run.
    pub plan: Plan,
    /// Who asks.
    pub worker: WorkerName,
    /// How many at most.
    pub max: usize,
    /// How many bytes of payload at most; one message is claimed however large it is.
    pub bytes_max: usize,
    /// How long the claims last unless renewed.
    pub lease: LeaseTerm,
    /// What becomes of messages whose worker was lost.
    pub on_unknown: UnknownPolicy,
}

impl ClaimBatch {
    /// Asks for as much as one call may bring, with the usual lease.
    pub fn new(plan: Plan, worker: WorkerName) -> Self {
        Self {
            plan,
            worker,
            max: super::BATCH_MAX,
            bytes_max: CLAIM_BYTES_MAX,
            lease: LeaseTerm::default(),
            on_unknown: UnknownPolicy::default(),
        }
    }
}

/// What was claimed.
#[derive(Debug, Clone, Default)]
pub struct Claimed {
    /// The messages to run, oldest due first.
    pub jobs: Vec<Job>,
    /// Messages that were due and do not run, because another door settled their records: they are SKIPPED_DUPLICATE now.
    pub settled: Vec<Identity>,
    /// Whether the consumer is paused, so that nothing of it is claimed.
    pub paused: bool,
    /// If fewer than asked for were due: how long until the next one of the consumer will be. `None` if nothing is scheduled.
    pub next_due: Option<Duration>,
}

/// A message that is to run now.
#[derive(Debug, Clone)]
pub struct Job {
    /// The right to finish it: its identity, and the fence of its claim.
    pub claim: Claim,
    /// The message.
    pub message: Arc<Message>,
    /// Which attempt this is since it was received or last replayed or retried by hand, from 1.
    pub attempt: u32,
    /// How often it was replayed or retried by hand.
    pub generation: u32,
    /// Whether it was completed before and is replayed: side effects may have to be suppressed.
    pub replay: bool,
    /// Whether it was claimed before by a worker that was lost: its lease ended and nothing was heard of it.
    pub reclaimed: bool,
    /// When it was received.
    pub received_at: Timestamp,
    /// When it was claimed for the first attempt that may have had an effect under the key it has now; this claim, if there was none.
    pub first_tried_at: Timestamp,
    /// The generation in which an operator gave it a new key for its provider; 0 if none did.
    pub key_generation: u32,
    /// When it was claimed.
    pub claimed_at: Timestamp,
    /// When the lease ends unless it is renewed.
    pub lease_until: Timestamp,
    /// The steps that earlier attempts have done, in the order they were done.
    pub steps: Vec<Step>,
}

/// Whether a claim still holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Renewal {
    /// It does, and its lease begins anew.
    Held,
    /// It does as far as can be seen, but its lease is what it was: another transaction is at the message.
    Busy,
    /// Somebody else has claimed the message, or it is finished.
    Lost,
}

/// A step of a handler that is done, with its result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// Its name, unique in the handler.
    pub name: Box<str>,
    /// What it came to.
    pub result: Bytes,
}

impl Step {
    /// A step that is done.
    pub fn new(name: &str, result: impl Into<Bytes>) -> Result<Self> {
        let (name, result) = (checked("a step's name", name)?, result.into());
        if result.len() > STEP_BYTES_MAX {
            return Err(Error::invalid(format!(
                "the result of a step has at most {STEP_BYTES_MAX} bytes, found {} in {name:?}",
                result.len()
            )));
        }
        Ok(Self { name, result })
    }
}

/// A message to another consumer that is stored with the effect that wants it. See [`Finish::disposition`].
#[derive(Debug, Clone)]
pub struct Intent {
    /// The plan of the consumer that will send it.
    pub plan: Arc<Plan>,
    /// The message; its id decides whether it was there before.
    pub message: Message,
}

/// The end of an attempt.
#[derive(Debug, Clone)]
pub struct Finish {
    /// Which claim.
    pub claim: Claim,
    /// How long it took.
    pub took: Duration,
    /// What it came to.
    pub disposition: Disposition,
}

/// What an attempt came to.
#[derive(Debug, Clone)]
pub enum Disposition {
    /// COMPLETED: the record is settled with this outcome, and the intents are received.
    Completed {
        /// What duplicates and people are shown.
        outcome: Outcome,
        /// What is to be sent because of it.
        intents: Vec<Intent>,
    },
    /// FAILED_RETRYABLE: due again after this time.
    Retry {
        /// How long to wait.
        after: Duration,
        /// Why.
        cause: Cause,
        /// What went wrong.
        error: ErrorText,
    },
    /// FAILED_TERMINAL: trying again does not help.
    Terminal {
        /// What went wrong.
        error: ErrorText,
    },
    /// PARKED: a person must look.
    Park {
        /// Why.
        cause: Cause,
        /// What went wrong.
        error: ErrorText,
    },
    /// SKIPPED_DUPLICATE: there is nothing to do. The record is settled.
    Skip {
        /// Why.
        cause: Cause,
    },
    /// FAILED_RETRYABLE: the handler was certainly not reached, so the attempt does not count. Due again after this time.
    NotReached {
        /// How long to wait.
        after: Duration,
        /// What went wrong.
        error: ErrorText,
    },
    /// RECEIVED again: it was not begun, and the attempt does not count.
    Return,
}

impl Disposition {
    /// The state that it leads to.
    pub const fn state(&self) -> State {
        match self {
            Self::Completed { .. } => State::Completed,
            Self::Retry { .. } | Self::NotReached { .. } => State::FailedRetryable,
            Self::Terminal { .. } => State::FailedTerminal,
            Self::Park { .. } => State::Parked,
            Self::Skip { .. } => State::SkippedDuplicate,
            Self::Return => State::Received,
        }
    }
}

/// What went wrong, in words that may be stored, logged and shown, and what the handler answered, which is stored and shown to operators
/// only. Both are bounded.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct ErrorText {
    text: String,
    answer: Option<Bytes>,
}

impl ErrorText {
    /// The text, cut off at [`ERROR_BYTES_MAX`]. NUL characters, which no database holds, are replaced.
    pub fn new(text: impl std::fmt::Display) -> Self {
        let mut text = text.to_string().replace('\0', "\u{fffd}");
        if text.len() > ERROR_BYTES_MAX {
            let mut end = ERROR_BYTES_MAX;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
        }
        Self { text, answer: None }
    }

    /// With the body of the handler's answer, cut off at [`ANSWER_BYTES_MAX`].
    #[must_use]
    pub fn with_answer(mut self, body: &Bytes) -> Self {
        let kept = body.slice(..body.len().min(ANSWER_BYTES_MAX));
        // A copy, because a slice would keep the whole body in memory.
        self.answer = (!kept.is_empty()).then(|| Bytes::copy_from_slice(&kept));
        self
    }

    /// With the answer in another form, sealed or opened again, which may be a little longer.
    #[must_use]
    pub fn with_sealed_answer(mut self, answer: Bytes) -> Self {
        self.answer = Some(answer);
        self
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The beginning of the body that the handler answered with.
    pub const fn answer(&self) -> Option<&Bytes> {
        self.answer.as_ref()
    }
}

impl std::fmt::Debug for ErrorText {
    /// A handler's answer never reaches logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("ErrorText").field(&self.text).finish()
    }
}

/// Whether an attempt's end counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finished {
    /// It did.
    Done,
    /// It came too late: somebody else has claimed or finished the message. It is kept as a late attempt and changes nothing.
    Lost,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_texts_are_cut_at_a_character_and_hold_no_nul() {
        let text = ErrorText::new("é".repeat(ERROR_BYTES_MAX));
        assert!(text.as_str().len() <= ERROR_BYTES_MAX);
        assert_eq!(ErrorText::new("a\0b").as_str(), "a\u{fffd}b");
    }

    #[test]
    fn steps_are_bounded() {
        assert!(Step::new("charge", vec![0; STEP_BYTES_MAX]).is_ok());
        assert!(Step::new("charge", vec![0; STEP_BYTES_MAX + 1]).is_err());
        assert!(Step::new("", "").is_err());
    }
}
