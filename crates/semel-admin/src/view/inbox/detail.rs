//! All that is known about one message. No `Debug` where contents are: what is shown to whoever asked must not reach logs.

use semel_core::Timestamp;
use semel_core::inbox::{self, Cause, Message};
use serde::Serialize;
use utoipa::ToSchema;

use super::Entry;
use crate::view::{Body, Header, Outcome, Payload, Settled};

/// All that is known about one message.
#[derive(Serialize, ToSchema)]
#[schema(as = MessageDetail)]
pub struct Detail {
    /// The message as lists show it.
    message: Entry,
    /// What arrived; null if it is no longer kept or was erased.
    arrived: Option<Arrived>,
    /// When its contents were erased; null if they were not.
    erased_at: Option<String>,
    /// What operators made of it, oldest first, at most 8; the last one is what runs.
    edits: Vec<Edit>,
    /// When it was settled and how long that is kept; null if it is not settled.
    settled: Option<Settled>,
    /// The outcome of a settled message.
    outcome: Option<Outcome>,
    /// Every change of state, oldest first.
    timeline: Vec<Transition>,
    /// Attempts that did not complete, oldest first.
    attempts: Vec<Attempt>,
    /// The steps that are done.
    steps: Vec<Step>,
}

/// A message as it arrived.
#[derive(Serialize, ToSchema)]
pub struct Arrived {
    /// The topic, queue, path or file.
    topic: Option<String>,
    /// The partition or shard.
    partition: Option<i32>,
    /// The offset, line or delivery number.
    offset: Option<i64>,
    /// The version of its schema.
    schema_version: Option<u32>,
    /// What is compared when the same id arrives again, as 64 hexadecimal digits.
    fingerprint: String,
    /// Its headers in their order, repeats kept.
    headers: Vec<Header>,
    /// Its payload.
    payload: Body,
}

/// What an operator made of a message.
#[derive(Serialize, ToSchema)]
#[schema(as = MessageEdit)]
pub struct Edit {
    /// Which one of the message's edits, from 1.
    version: u32,
    /// When.
    at: String,
    /// Who made it.
    by: String,
    /// Why.
    reason: Option<String>,
    /// The headers in their order, repeats kept.
    headers: Vec<Header>,
    /// The payload.
    payload: Body,
}

/// A change of state.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MessageTransition)]
pub struct Transition {
    /// When.
    at: String,
    /// The state after it.
    state: &'static str,
    /// Why, if that is not plain.
    cause: Option<&'static str>,
    /// Who decided, what went wrong, or what it refers to.
    detail: Option<String>,
}

/// An attempt that did not complete.
#[derive(Serialize, ToSchema)]
#[schema(as = MessageAttempt)]
pub struct Attempt {
    /// Its generation: how often the message had been retried or replayed by hand.
    generation: u32,
    /// Its number in that generation.
    number: u32,
    /// The number of its claim.
    fence: u64,
    /// Who made it.
    worker: Option<String>,
    /// When it was claimed.
    began_at: String,
    /// When it ended.
    ended_at: String,
    /// What it led to.
    state: &'static str,
    /// Why.
    cause: Option<&'static str>,
    /// What went wrong.
    error: Option<String>,
    /// The beginning of what the handler answered, at most 4 KiB; its bytes only if they were asked for.
    answer: Option<Body>,
    /// Whether it came too late and changed nothing.
    late: bool,
}

/// A step that is done.
#[derive(Serialize, ToSchema)]
#[schema(as = MessageStep)]
pub struct Step {
    /// Its name.
    name: String,
    /// What it came to.
    result: Body,
}

impl Detail {
    /// The message as it stands at `now`, with as much of its contents as `payload` says, and of its handler's answers as
    /// `answers` says.
    pub fn of(detail: &inbox::Detail, payload: Payload, answers: Payload, now: Timestamp) -> Self {
        let attempt = |attempt: &inbox::Attempt| Attempt::of(attempt, answers);
        let settled = detail.settled.as_ref();
        let step = |step: &inbox::Step| Step {
            name: step.name.to_string(),
            result: Body::of(&step.result, payload),
        };
        Self {
            message: Entry::of(&detail.entry, now),
            arrived: detail
                .message
                .as_ref()
                .map(|message| Arrived::of(message, payload)),
            erased_at: detail.erased_at.map(|at| at.to_string()),
            edits: detail
                .edits
                .iter()
                .map(|edited| Edit::of(edited, payload))
                .collect(),
            settled: settled.map(Settled::of),
            outcome: settled.map(|settled| Outcome::of(&settled.outcome, payload)),
            timeline: detail.timeline().iter().map(Transition::of).collect(),
            attempts: detail.attempts.iter().map(attempt).collect(),
            steps: detail.steps.iter().map(step).collect(),
        }
    }
}

impl Arrived {
    fn of(message: &Message, payload: Payload) -> Self {
        let origin = message.origin();
        Self {
            topic: Some(origin.topic.clone()).filter(|topic| !topic.is_empty()),
            partition: origin.partition,
            offset: origin.offset,
            schema_version: message.version(),
            fingerprint: message.fingerprint().to_string(),
            headers: Header::all(message.headers().iter(), payload),
            payload: Body::of(message.payload(), payload),
        }
    }
}

impl Edit {
    fn of(edited: &inbox::Edited, payload: Payload) -> Self {
        Self {
            version: edited.version,
            at: edited.at.to_string(),
            by: edited.by.clone(),
            reason: edited.reason.clone(),
            headers: Header::all(edited.edit.headers().iter(), payload),
            payload: Body::of(edited.edit.payload(), payload),
        }
    }
}

impl Transition {
    fn of(transition: &inbox::Transition) -> Self {
        Self {
            at: transition.at.to_string(),
            state: transition.to.name(),
            cause: transition.cause.map(Cause::name),
            detail: transition.detail.clone(),
        }
    }
}

impl Attempt {
    fn of(attempt: &inbox::Attempt, answers: Payload) -> Self {
        let answer = attempt.answer.as_ref();
        Self {
            generation: attempt.generation,
            number: attempt.number,
            fence: attempt.fence.get(),
            worker: attempt.worker.clone(),
            began_at: attempt.began_at.to_string(),
            ended_at: attempt.ended_at.to_string(),
            state: attempt.state.name(),
            cause: attempt.cause.map(Cause::name),
            error: attempt.error.clone(),
            answer: answer.map(|answer| Body::of(answer, answers)),
            late: attempt.late,
        }
    }
}
