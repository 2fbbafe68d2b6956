//! What did not go as it should, kept for people: attempts that did not complete, and changes of state.

use bytes::Bytes;
use semel_core::inbox::{Cause, State};
use semel_core::{Fence, Timestamp};
use uuid::Uuid;

use super::rows::Work;
use crate::records::sql_fence;
use crate::session::{Driver, Session};
use crate::value::Value;

/// The most attempts, and the most transitions, of one message.
const NOTES_MAX: i64 = 100;

/// An attempt that did not complete.
#[derive(Debug)]
pub(crate) struct Attempt {
    pub(crate) digest: Uuid,
    pub(crate) expires_ms: i64,
    pub(crate) fence: Fence,
    pub(crate) began_ms: i64,
    pub(crate) ended_ms: i64,
    pub(crate) generation: i64,
    pub(crate) number: i64,
    pub(crate) state: State,
    pub(crate) late: bool,
    pub(crate) worker: Option<String>,
    pub(crate) cause: Option<Cause>,
    pub(crate) error: Option<String>,
    pub(crate) answer: Option<Bytes>,
}

/// A change of state.
#[derive(Debug)]
pub(crate) struct Transition {
    pub(crate) digest: Uuid,
    pub(crate) expires_ms: i64,
    pub(crate) at_ms: i64,
    pub(crate) fence: Fence,
    pub(crate) generation: i64,
    pub(crate) state: State,
    pub(crate) cause: Option<Cause>,
    pub(crate) detail: Option<String>,
    /// The generation in which the message got the key that it has.
    pub(crate) key_generation: i64,
}

impl Transition {
    /// The change that `work` has just been through.
    pub(crate) fn of(work: &Work, cause: Cause, now: Timestamp) -> Self {
        Self {
            digest: work.digest,
            expires_ms: work.expires_ms,
            at_ms: now.as_millis(),
            fence: work.fence,
            generation: work.generation,
            state: work.state,
            cause: Some(cause),
            detail: None,
            key_generation: work.key_generation,
        }
    }

    /// The same with who decided.
    pub(crate) fn by(mut self, detail: &str) -> Self {
        self.detail = Some(detail.to_owned());
        self
    }
}

impl<D: Driver> Session<'_, D> {
    /// Writes attempts down.
    pub(crate) async fn note_attempts(&mut self, all: &[Attempt]) -> Result<(), D::Error> {
        if all.is_empty() {
            return Ok(());
        }
        let ints =
            |of: &dyn Fn(&Attempt) -> i64| Value::Ints(all.iter().map(|a| Some(of(a))).collect());
        let texts =
            |of: &dyn Fn(&Attempt) -> Option<String>| Value::Texts(all.iter().map(of).collect());
        let params = vec![
            Value::Uuids(all.iter().map(|a| a.digest).collect()),
            ints(&|a| a.expires_ms),
            ints(&|a| sql_fence(a.fence)),
            ints(&|a| a.began_ms),
            ints(&|a| a.ended_ms),
            ints(&|a| a.generation),
            ints(&|a| a.number),
            ints(&|a| i64::from(a.state.number())),
            ints(&|a| i64::from(a.late)),
            texts(&|a| a.worker.clone()),
            texts(&|a| a.cause.map(|cause| cause.name().to_owned())),
            texts(&|a| a.error.clone()),
            Value::ByteStrings(all.iter().map(|a| a.answer.clone()).collect()),
        ];
        self.driver
            .rows(&self.sql.inbox.note_attempts, params)
            .await?;
        self.trim_attempts(all.iter().map(|a| a.digest).collect())
            .await
    }

    /// Drops the oldest attempts of messages that have too many.
    pub(crate) async fn trim_attempts(&mut self, digests: Vec<Uuid>) -> Result<(), D::Error> {
        let params = vec![Value::Uuids(digests), Value::int(NOTES_MAX)];
        let trimmed = self.driver.rows(&self.sql.inbox.trim_attempts, params);
        trimmed.await.map(drop)
    }

    /// Writes changes of state down.
    pub(crate) async fn note_transitions(&mut self, all: &[Transition]) -> Result<(), D::Error> {
        if all.is_empty() {
            return Ok(());
        }
        let ints = |of: &dyn Fn(&Transition) -> i64| {
            Value::Ints(all.iter().map(|t| Some(of(t))).collect())
        };
        let texts =
            |of: &dyn Fn(&Transition) -> Option<String>| Value::Texts(all.iter().map(of).collect());
        let digests: Vec<Uuid> = all.iter().map(|t| t.digest).collect();
        let params = vec![
            Value::Uuids(digests.clone()),
            ints(&|t| t.expires_ms),
            ints(&|t| t.at_ms),
            ints(&|t| sql_fence(t.fence)),
            ints(&|t| t.generation),
            ints(&|t| i64::from(t.state.number())),
            texts(&|t| t.cause.map(|cause| cause.name().to_owned())),
            texts(&|t| t.detail.clone()),
            ints(&|t| t.key_generation),
        ];
        let sql = &self.sql.inbox;
        self.driver.rows(&sql.note_transitions, params).await?;
        let params = vec![Value::Uuids(digests), Value::int(NOTES_MAX)];
        self.driver
            .rows(&sql.trim_transitions, params)
            .await
            .map(drop)
    }
}
