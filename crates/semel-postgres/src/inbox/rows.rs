//! Between rows and messages.

use semel_core::inbox::lanes::Rerun;
use semel_core::inbox::{Cause, Message, Origin, State};
use semel_core::{
    Error, Fence, Fingerprint, Headers, Identity, Key, Result, Scope, Tenant, Timestamp,
};
use uuid::Uuid;

use crate::error::damaged;
use crate::records::{bytes32, fence_of};
use crate::value::Row;

/// A row of `semel_work`, as far as decisions need it.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    pub(crate) digest: Uuid,
    pub(crate) expires_ms: i64,
    pub(crate) fence: Fence,
    pub(crate) changed_ms: i64,
    pub(crate) due_ms: Option<i64>,
    pub(crate) deadline_ms: Option<i64>,
    pub(crate) sequence: Option<i64>,
    pub(crate) attempts: i64,
    pub(crate) generation: i64,
    pub(crate) state: State,
    pub(crate) replay: bool,
    pub(crate) stepped: bool,
    pub(crate) worker: Option<String>,
    pub(crate) lane: Option<String>,
    pub(crate) cause: Option<Cause>,
    pub(crate) error: Option<String>,
    /// Whose lane it stands in, if it stands in one.
    pub(crate) tenant: Option<String>,
    pub(crate) first_ms: Option<i64>,
    pub(crate) key_generation: i64,
    pub(crate) rebuild: bool,
    pub(crate) number: i64,
    pub(crate) received_ms: i64,
}

/// How many columns `{work}` has.
pub(crate) const WORK_COLUMNS: usize = 22;

impl Work {
    /// Reads `{work}`.
    pub(crate) fn of(row: &Row) -> Result<Self> {
        let text = |at| Ok::<_, Error>(row.text(at)?.map(str::to_owned));
        Ok(Self {
            digest: row.digest(0)?,
            expires_ms: row.number(1)?,
            fence: fence_of(row.number(2)?),
            changed_ms: row.number(3)?,
            due_ms: row.int(4)?,
            deadline_ms: row.int(5)?,
            sequence: row.int(6)?,
            attempts: row.number(7)?,
            generation: row.number(8)?,
            state: state_of(row.number(9)?)?,
            replay: row.number(10)? != 0,
            stepped: row.number(11)? != 0,
            worker: text(12)?,
            lane: text(13)?,
            cause: cause_of(row.text(14)?)?,
            error: text(15)?,
            tenant: text(16)?,
            first_ms: row.int(17)?,
            key_generation: row.number(18)?,
            rebuild: row.number(19)? != 0,
            number: row.number(20)?,
            received_ms: row.number(21)?,
        })
    }

    /// Puts it into another state.
    pub(crate) fn change(&mut self, state: State, cause: Option<Cause>, now: Timestamp) {
        (self.state, self.cause, self.changed_ms) = (state, cause, now.as_millis());
        (self.due_ms, self.deadline_ms) = (None, None);
    }

    /// Takes it out of its lane.
    pub(crate) fn leave(&mut self) {
        (self.lane, self.tenant, self.sequence) = (None, None, None);
    }

    /// Whether it runs once more.
    pub(crate) const fn rerun(&self) -> Rerun {
        match (self.replay, self.rebuild) {
            (_, true) => Rerun::Rebuild,
            (true, false) => Rerun::Replay,
            (false, false) => Rerun::No,
        }
    }

    /// The attempt under its claim does not count, and was no first one.
    pub(crate) fn uncount(&mut self, claimed_ms: i64) {
        self.attempts = (self.attempts - 1).max(0);
        if self.first_ms == Some(claimed_ms) {
            self.first_ms = None;
        }
    }
}

pub(crate) fn state_of(number: i64) -> Result<State> {
    i16::try_from(number)
        .ok()
        .and_then(State::from_number)
        .ok_or_else(|| damaged(&format!("a message has the state {number}")))
}

pub(crate) fn cause_of(name: Option<&str>) -> Result<Option<Cause>> {
    match name {
        None => Ok(None),
        Some(name) => Cause::from_name(name)
            .map(Some)
            .ok_or_else(|| damaged(&format!("a message has the cause {name:?}"))),
    }
}

/// How many columns `{message}` has.
pub(crate) const MESSAGE_COLUMNS: usize = 15;

/// Reads `{message}` from column `at` on, and when it was received.
pub(crate) fn message_of(row: &Row, at: usize) -> Result<(Message, Timestamp)> {
    let identity = identity_of(row, at)?;
    let broken = |e: Error| damaged("a message breaks the rules").caused_by(e);
    let payload = row.bytes(at + 13)?.cloned().unwrap_or_default();
    let mut message = Message::new(identity, payload).map_err(broken)?;
    message = message.with_fingerprint(fingerprint_of(row, at)?);
    if let Some(lane) = row.text(at + 5)? {
        message = message.with_lane(Key::new(lane).map_err(broken)?);
    }
    if let Some(sequence) = unsigned(row.int(at + 6)?) {
        message = message.with_sequence(sequence).map_err(broken)?;
    }
    if let Some(kind) = row.text(at + 7)? {
        let version = row.int(at + 8)?.and_then(|v| u32::try_from(v).ok());
        message = message.with_kind(kind, version).map_err(broken)?;
    }
    let origin = Origin {
        topic: row.text(at + 9)?.unwrap_or_default().to_owned(),
        partition: row.int(at + 10)?.and_then(|p| i32::try_from(p).ok()),
        offset: row.int(at + 11)?,
    };
    message = message.with_origin(origin).map_err(broken)?;
    if let Some(headers) = row.bytes(at + 12)? {
        message = message.with_headers(Headers::decode(headers)?);
    }
    Ok((message, Timestamp::from_millis(row.number(at + 14)?)))
}

/// The fingerprint of the message that [`message_of`] reads.
pub(crate) fn fingerprint_of(row: &Row, at: usize) -> Result<Fingerprint> {
    Ok(Fingerprint::from_bytes(bytes32(row, at + 4)?))
}

/// Reads tenant, scope, version and key from column `at` on.
pub(crate) fn identity_of(row: &Row, at: usize) -> Result<Identity> {
    let identity = || {
        let version = u32::try_from(row.number(at + 2)?).unwrap_or(0);
        let scope = Scope::new(row.word(at + 1)?, version)?;
        Ok(Identity::new(
            Tenant::new(row.word(at)?)?,
            scope,
            Key::new(row.word(at + 3)?)?,
        ))
    };
    identity().map_err(|e: Error| damaged("an identity breaks the rules").caused_by(e))
}

/// A count or a sequence as a column holds it.
pub(crate) fn unsigned(number: Option<i64>) -> Option<u64> {
    number.and_then(|number| u64::try_from(number).ok())
}

/// A number for a column that holds it without fail: counts and sequences are far below the limit.
pub(crate) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// A small count as people see it.
pub(crate) fn small(number: i64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
