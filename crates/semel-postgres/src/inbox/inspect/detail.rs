//! All that is known about one message.

use semel_core::inbox::{Attempt, Detail, Entry, State, Step, Transition};
use semel_core::outcome::Settled;
use semel_core::{Identity, Record, Result, Timestamp};

use super::super::edits::edited_of;
use super::super::rows::MESSAGE_COLUMNS;
use super::super::rows::{cause_of, fingerprint_of, message_of, small, state_of};
use super::list::{ENTRY_COLUMNS, entry_of};
use crate::engine::Engine;
use crate::query::seen;
use crate::records::{digest, fence_of};
use crate::value::{Row, Value};

impl Engine {
    /// All that is known about one message.
    pub(crate) async fn message(&self, identity: &Identity) -> Result<Option<Detail>> {
        let id = Value::Uuid(Some(digest(identity)));
        let sql = &self.sql.inbox;
        let doing = "reading a message";
        let rows = self
            .read(doing, &sql.detail, std::slice::from_ref(&id))
            .await?;
        let record = self.load(std::slice::from_ref(identity)).await?;
        let record = record.into_iter().next().and_then(seen);
        let mut detail = match (rows.first(), record.as_deref()) {
            (Some(row), _) => found(row)?,
            (None, Some(record)) if settled_of(record).is_some() => only_record(record),
            (None, _) => return Ok(None),
        };
        if detail.entry.identity != *identity {
            return Ok(None);
        }
        detail.settled = record.as_deref().and_then(settled_of).cloned();
        let since = Value::int(detail.entry.received_at.as_millis());
        let params = [id.clone(), since];
        let rows = self.read(doing, &sql.attempts, &params).await?;
        detail.attempts = rows.iter().map(attempt_of).collect::<Result<_>>()?;
        let rows = self.read(doing, &sql.transitions, &params).await?;
        detail.transitions = rows.iter().map(transition_of).collect::<Result<_>>()?;
        let rows = self.read(doing, &sql.edits, &params).await?;
        detail.edits = rows.iter().map(edited_of).collect::<Result<_>>()?;
        let digests = Value::Uuids(vec![digest(identity)]);
        let rows = self.read(doing, &sql.steps, &[digests]).await?;
        detail.steps = rows.iter().map(step_of).collect::<Result<_>>()?;
        Ok(Some(detail))
    }
}

fn found(row: &Row) -> Result<Detail> {
    let erased_ms = row.int(ENTRY_COLUMNS + MESSAGE_COLUMNS)?;
    Ok(Detail {
        entry: entry_of(row, 0)?,
        fingerprint: fingerprint_of(row, ENTRY_COLUMNS)?,
        message: match erased_ms {
            None => Some(message_of(row, ENTRY_COLUMNS)?.0),
            Some(_) => None,
        },
        erased_at: erased_ms.map(Timestamp::from_millis),
        edits: Vec::new(),
        settled: None,
        attempts: Vec::new(),
        transitions: Vec::new(),
        steps: Vec::new(),
    })
}

fn settled_of(record: &Record) -> Option<&Settled> {
    match &record.state {
        semel_core::State::Settled(settled) => Some(settled),
        semel_core::State::Running { .. } | semel_core::State::Unknown { .. } => None,
    }
}

/// The message is no longer kept, or came through another door.
fn only_record(record: &Record) -> Detail {
    let changed_at = settled_of(record).map_or(record.claimed_at, |settled| settled.at);
    Detail {
        entry: Entry {
            identity: record.identity.clone(),
            number: 0,
            state: State::Completed,
            cause: None,
            error: None,
            kind: None,
            lane: None,
            sequence: None,
            received_at: record.claimed_at,
            changed_at,
            due_at: None,
            attempts: record.attempt,
            generation: 0,
            duplicates: 0,
            worker: None,
            payload_bytes: None,
        },
        fingerprint: record.fingerprint,
        message: None,
        erased_at: None,
        edits: Vec::new(),
        settled: None,
        attempts: Vec::new(),
        transitions: Vec::new(),
        steps: Vec::new(),
    }
}

fn attempt_of(row: &Row) -> Result<Attempt> {
    Ok(Attempt {
        generation: small(row.number(0)?),
        number: small(row.number(1)?),
        fence: fence_of(row.number(2)?),
        worker: row.text(3)?.map(str::to_owned),
        began_at: Timestamp::from_millis(row.number(4)?),
        ended_at: Timestamp::from_millis(row.number(5)?),
        state: state_of(row.number(6)?)?,
        cause: cause_of(row.text(7)?)?,
        error: row.text(8)?.map(str::to_owned),
        answer: row.bytes(10)?.cloned(),
        late: row.number(9)? != 0,
    })
}

fn transition_of(row: &Row) -> Result<Transition> {
    Ok(Transition {
        at: Timestamp::from_millis(row.number(0)?),
        to: state_of(row.number(1)?)?,
        cause: cause_of(row.text(2)?)?,
        detail: row.text(3)?.map(str::to_owned),
    })
}

fn step_of(row: &Row) -> Result<Step> {
    Step::new(row.word(1)?, row.bytes(2)?.cloned().unwrap_or_default())
}
