//! What people see of an inbox: lists, details, gaps and counts.

use bytes::Bytes;

use super::edit::Edited;
use super::message::Message;
use super::state::{Cause, State};
use super::work::Step;
use crate::clock::Timestamp;
use crate::fingerprint::Fingerprint;
use crate::identity::{Identity, Key, Scope, Tenant};
use crate::outcome::Settled;
use crate::record::Fence;
use crate::store::PAGE_MAX;

/// Which messages to list.
#[derive(Debug, Clone, Default)]
pub struct Query {
    /// Only these states; all if empty. COMPLETED ones are listed as long as their message is kept.
    pub states: Vec<State>,
    /// Only this consumer.
    pub consumer: Option<Scope>,
    /// Only with this id, of whichever consumer and tenant.
    pub id: Option<Key>,
    /// Only this lane.
    pub lane: Option<Key>,
    /// Only this cause.
    pub cause: Option<Cause>,
    /// Only of this tenant.
    pub tenant: Option<Tenant>,
    /// Only received at or after.
    pub from: Option<Timestamp>,
    /// Only received before.
    pub until: Option<Timestamp>,
    /// Only those received before this one: [`Page::next`] of the page before.
    pub before: Option<u64>,
    /// At most so many; 0 means 100.
    pub limit: usize,
}

impl Query {
    /// How many entries a page has at most.
    pub fn page_len(&self) -> usize {
        match self.limit {
            0 => 100,
            limit => limit.min(PAGE_MAX),
        }
    }
}

/// One page of a list.
#[derive(Debug, Clone, Default)]
pub struct Page {
    /// The messages, the newest first.
    pub entries: Vec<Entry>,
    /// Where the next page begins, if there is one.
    pub next: Option<u64>,
}

/// A message in a list: everything but payload, headers and history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Which message.
    pub identity: Identity,
    /// Its place in the order of arrival.
    pub number: u64,
    /// Where it stands.
    pub state: State,
    /// Why, if that is not plain.
    pub cause: Option<Cause>,
    /// The last error.
    pub error: Option<String>,
    /// What kind of event it is.
    pub kind: Option<String>,
    /// Its lane.
    pub lane: Option<Key>,
    /// Its number in its lane.
    pub sequence: Option<u64>,
    /// When it was received.
    pub received_at: Timestamp,
    /// When its state last changed.
    pub changed_at: Timestamp,
    /// When it is due, if it waits for a time; when its lease ends, if it is in progress.
    pub due_at: Option<Timestamp>,
    /// Attempts of this generation.
    pub attempts: u32,
    /// How often it was replayed or retried by hand.
    pub generation: u32,
    /// How often it arrived again.
    pub duplicates: u64,
    /// Who works on it.
    pub worker: Option<String>,
    /// The length of its payload; `None` if the message is no longer kept, or its contents were erased.
    pub payload_bytes: Option<u64>,
}

/// All that is known about one message.
#[derive(Debug, Clone)]
pub struct Detail {
    /// What lists show.
    pub entry: Entry,
    /// The fingerprint of what arrived, which stays when its contents go.
    pub fingerprint: Fingerprint,
    /// The message as it arrived, as long as it is kept and its contents are not erased.
    pub message: Option<Message>,
    /// When its contents were erased, if they were.
    pub erased_at: Option<Timestamp>,
    /// What operators made of it, oldest first, at most [`super::edit::EDITS_MAX`] (the newest ones). The last one is what runs.
    pub edits: Vec<Edited>,
    /// The outcome, once it is settled.
    pub settled: Option<Settled>,
    /// Attempts that did not complete, oldest first, at most 100 (the newest ones).
    pub attempts: Vec<Attempt>,
    /// Every change of state with its cause, oldest first, at most 100 (the newest ones). What went as it should follows from the other fields, and
    /// is put in here by [`Detail::timeline`].
    pub transitions: Vec<Transition>,
    /// The steps that are done.
    pub steps: Vec<Step>,
}

/// An attempt that did not complete.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Its generation.
    pub generation: u32,
    /// Its number in that generation.
    pub number: u32,
    /// The fence of its claim.
    pub fence: Fence,
    /// Who made it.
    pub worker: Option<String>,
    /// When it was claimed.
    pub began_at: Timestamp,
    /// When it ended.
    pub ended_at: Timestamp,
    /// What it led to.
    pub state: State,
    /// Why.
    pub cause: Option<Cause>,
    /// What went wrong.
    pub error: Option<String>,
    /// The beginning of the body that the handler answered with, if it failed with one.
    pub answer: Option<Bytes>,
    /// Whether it came too late and changed nothing.
    pub late: bool,
}

/// A change of state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transition {
    /// When.
    pub at: Timestamp,
    /// The state after it.
    pub to: State,
    /// Why.
    pub cause: Option<Cause>,
    /// Who decided, or what it refers to.
    pub detail: Option<String>,
}

impl Detail {
    /// The whole history: what stores wrote down, and what follows from arrival, claims and outcome.
    pub fn timeline(&self) -> Vec<Transition> {
        let plain = |at, to| Transition {
            at,
            to,
            cause: None,
            detail: None,
        };
        let mut all = vec![plain(self.entry.received_at, State::Received)];
        for attempt in &self.attempts {
            let by = attempt.worker.clone();
            all.push(Transition {
                detail: by,
                ..plain(attempt.began_at, State::InProgress)
            });
            all.push(Transition {
                at: attempt.ended_at,
                to: attempt.state,
                cause: attempt.cause,
                detail: attempt.error.clone(),
            });
        }
        all.extend(self.transitions.iter().cloned());
        if self.entry.state == State::InProgress {
            all.push(Transition {
                detail: self.entry.worker.clone(),
                ..plain(self.entry.changed_at, State::InProgress)
            });
        }
        if let Some(settled) = &self.settled
            && self.entry.state == State::Completed
        {
            let began =
                settled.at.as_millis() - i64::try_from(settled.took.as_millis()).unwrap_or(0);
            all.push(plain(Timestamp::from_millis(began), State::InProgress));
            all.push(plain(settled.at, State::Completed));
        }
        // Stable, so that what happened in one millisecond stays in the order it was put in.
        all.sort_by_key(|transition| transition.at);
        all
    }
}

/// A lane that waits for versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// Whose lane.
    pub consumer: Scope,
    /// Whose tenant's lane.
    pub tenant: Tenant,
    /// Which lane.
    pub lane: Key,
    /// The last version that was applied.
    pub done: Option<u64>,
    /// The versions that have not arrived, as ranges from–to, at most 100.
    pub missing: Vec<(u64, u64)>,
    /// How many messages wait for them.
    pub waiting: u64,
    /// When the first of them runs out of patience.
    pub deadline: Option<Timestamp>,
}

/// The most messages behind the head of a lane that are counted, and the most waiting messages whose lanes are looked for.
pub const WAITING_MAX: usize = 10_000;

/// A lane in which messages wait for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingLane {
    /// What stands first in it, and holds up the rest; it waits itself if a version before it is missing.
    pub head: Entry,
    /// How many wait behind it, counted up to [`WAITING_MAX`].
    pub waiting: u64,
    /// When the oldest that waits was received.
    pub oldest: Timestamp,
}

/// How many messages of one consumer are in which state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Whose.
    pub consumer: Scope,
    /// RECEIVED.
    pub received: u64,
    /// IN_PROGRESS.
    pub in_progress: u64,
    /// IN_PROGRESS whose lease has ended.
    pub stale: u64,
    /// FAILED_RETRYABLE.
    pub failed_retryable: u64,
    /// FAILED_TERMINAL.
    pub failed_terminal: u64,
    /// PARKED.
    pub parked: u64,
    /// SKIPPED_DUPLICATE.
    pub skipped: u64,
    /// Whether there may be more than these numbers say, because the store stops counting at some number.
    pub at_least: bool,
    /// When the oldest message that is RECEIVED, IN_PROGRESS or FAILED_RETRYABLE was received.
    pub oldest_pending: Option<Timestamp>,
    /// Since when and by whom it is paused, if it is.
    pub paused: Option<Pause>,
}

/// A consumer that receives messages and does not run them, because a person said so.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Since when.
    pub at: Timestamp,
    /// Who decided.
    pub by: String,
    /// Why.
    pub reason: Option<String>,
}

impl Counts {
    /// Counts of a consumer without messages.
    pub const fn none(consumer: Scope) -> Self {
        Self {
            consumer,
            received: 0,
            in_progress: 0,
            stale: 0,
            failed_retryable: 0,
            failed_terminal: 0,
            parked: 0,
            skipped: 0,
            at_least: false,
            oldest_pending: None,
            paused: None,
        }
    }

    /// All that is counted.
    pub const fn all(&self) -> u64 {
        self.pending() + self.dead() + self.skipped
    }

    /// What waits for a person: it failed for good, or is parked.
    pub const fn dead(&self) -> u64 {
        self.failed_terminal + self.parked
    }

    /// What still has to be done without anybody's help.
    pub const fn pending(&self) -> u64 {
        self.received + self.in_progress + self.failed_retryable
    }
}
