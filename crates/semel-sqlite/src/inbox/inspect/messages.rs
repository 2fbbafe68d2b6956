//! What people see of single messages: lists and details.

use std::time::Duration;

use bytes::Bytes;
use rusqlite::{Connection, Row, params, params_from_iter};
use semel_core::inbox::{Attempt, Detail, Entry, Page, Query, State, Transition};
use semel_core::{Fence, Identity, Key, Record, Result, Scope, Timestamp};

use super::super::filter::{Filter, Source};
use super::super::rows::{message_columns, message_of};
use super::super::sql::{self, SqlCause, SqlState, failed};
use super::super::{claim, edits, notes, rows};
use crate::error::damaged;
use crate::query::view_kept;
use crate::reader::Snapshot;

/// The columns that [`raw_entry_of`] reads, and the tables beside messages and work that they come from.
macro_rules! entry_columns {
    () => {
        "c.scope, c.version, m.tenant, m.key, m.number, m.kind, m.lane, m.sequence, m.received_ms, \
         iif(m.erased_ms IS NULL, length(m.payload), NULL), w.state, w.cause, w.error, w.changed_ms, w.due_ms, w.attempts, w.worker, \
         coalesce(w.generation, g.generation, 0), coalesce(d.count, 0)"
    };
}
macro_rules! entry_tables {
    () => {
        " JOIN semel_consumers c ON c.consumer = m.consumer \
         LEFT JOIN semel_duplicates d ON d.number = m.number \
         LEFT JOIN semel_generations g ON g.number = m.number "
    };
}

struct RawEntry {
    scope: (String, u32),
    tenant: String,
    key: String,
    lane: Option<String>,
    has_work: bool,
    entry: Unnamed,
}

/// An entry without the names that are still to be checked.
struct Unnamed {
    number: u64,
    state: State,
    cause: SqlCause,
    error: Option<String>,
    kind: Option<String>,
    sequence: Option<u64>,
    received_ms: i64,
    changed_ms: i64,
    due_ms: Option<i64>,
    attempts: u32,
    generation: u32,
    duplicates: u64,
    worker: Option<String>,
    payload_bytes: Option<u64>,
}

fn raw_entry_of(row: &Row<'_>) -> rusqlite::Result<RawEntry> {
    let state: Option<SqlState> = row.get(10)?;
    let received_ms = row.get(8)?;
    Ok(RawEntry {
        scope: (row.get(0)?, row.get(1)?),
        tenant: row.get(2)?,
        key: row.get(3)?,
        lane: row.get(6)?,
        has_work: state.is_some(),
        entry: Unnamed {
            number: row.get(4)?,
            state: state.map_or(State::Completed, |state| state.0),
            cause: row.get(11)?,
            error: row.get(12)?,
            kind: row.get(5)?,
            sequence: row.get(7)?,
            received_ms,
            changed_ms: row.get::<_, Option<i64>>(13)?.unwrap_or(received_ms),
            due_ms: row.get(14)?,
            attempts: row.get::<_, Option<u32>>(15)?.unwrap_or(0),
            generation: row.get(17)?,
            duplicates: row.get(18)?,
            worker: row.get(16)?,
            payload_bytes: row.get(9)?,
        },
    })
}

impl RawEntry {
    /// The entry; of what is completed, the record says the rest.
    fn checked(self, connection: &Connection) -> Result<Entry> {
        let identity = rows::identity(
            &scope(&self.scope.0, self.scope.1)?,
            &self.tenant,
            &self.key,
        )?;
        let settled = match self.has_work {
            true => None,
            false => settled_in_short(connection, &identity)?,
        };
        let raw = self.entry;
        let waits_for_time = matches!(raw.state, State::InProgress | State::FailedRetryable);
        let in_progress = raw.state == State::InProgress;
        let lane = self.lane.map(Key::new).transpose();
        Ok(Entry {
            identity,
            number: raw.number,
            state: raw.state,
            cause: raw.cause.0,
            error: raw.error,
            kind: raw.kind,
            lane: lane.map_err(|e| damaged("a lane breaks the rules").caused_by(e))?,
            sequence: raw.sequence,
            received_at: Timestamp::from_millis(raw.received_ms),
            changed_at: Timestamp::from_millis(settled.map_or(raw.changed_ms, |s| s.0)),
            due_at: raw
                .due_ms
                .filter(|_| waits_for_time)
                .map(Timestamp::from_millis),
            attempts: settled.map_or(raw.attempts, |s| s.1),
            generation: raw.generation,
            duplicates: raw.duplicates,
            worker: raw.worker.filter(|_| in_progress),
            payload_bytes: raw.payload_bytes,
        })
    }
}

/// When the record of an identity was settled, and in which attempt.
fn settled_in_short(connection: &Connection, identity: &Identity) -> Result<Option<(i64, u32)>> {
    let sql = "SELECT o.settled_ms, c.attempt FROM semel_keys k \
               JOIN semel_claims c ON c.fence = k.fence \
               JOIN semel_outcomes o ON o.fence = k.fence WHERE k.digest = ?1";
    sql::one(connection, sql, params![identity.digest().short()], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })
}

/// A consumer's name from its columns.
pub(in crate::inbox) fn scope(name: &str, version: u32) -> Result<Scope> {
    Scope::new(name, version).map_err(|e| damaged("a consumer breaks the rules").caused_by(e))
}

/// One page of messages, the newest first.
pub(in crate::inbox) fn list(connection: &Connection, query: &Query) -> Result<Page> {
    let _snapshot = Snapshot::unless_open(connection);
    let consumer = match &query.consumer {
        None => None,
        Some(scope) => match notes::number_of(connection, scope)? {
            Some(number) => Some(number),
            None => return Ok(Page::default()),
        },
    };
    let before = query.before.map(|n| i64::try_from(n).unwrap_or(i64::MAX));
    let from = match query.id {
        // Its place is found by its id, whatever its state.
        Some(_) => Source::MESSAGES,
        None => Source::of(&query.states),
    };
    let mut filter = Filter::default()
        .and_if(format!("{} = ?", from.consumer), consumer)
        .and_if(format!("{} < ?", from.number), before)
        .and_if(
            // Ids are found in their index consumer by consumer.
            "m.key = ? AND m.consumer IN (SELECT consumer FROM semel_consumers)",
            query.id.as_ref().map(Key::to_string),
        )
        .and_if("m.lane = ?", query.lane.as_ref().map(Key::to_string))
        .and_if(
            "m.tenant = ?",
            query.tenant.as_ref().map(ToString::to_string),
        )
        .and_if("m.received_ms >= ?", query.from.map(Timestamp::as_millis))
        .and_if("m.received_ms < ?", query.until.map(Timestamp::as_millis))
        .and_cause(query.cause);
    if !query.states.is_empty() {
        filter = filter.and_states(&query.states);
    }
    let (conditions, mut values) = filter.into_parts();
    let len = query.page_len();
    values.push(i64::try_from(len + 1).unwrap_or(i64::MAX).into());
    let sql = format!(
        concat!(
            "SELECT ",
            entry_columns!(),
            " FROM {} ",
            entry_tables!(),
            "WHERE {} ORDER BY {} DESC LIMIT ?"
        ),
        from.tables, conditions, from.number
    );
    let mut statement = connection.prepare(&sql).map_err(failed)?;
    let found = statement.query_map(params_from_iter(values), raw_entry_of);
    let found: rusqlite::Result<Vec<RawEntry>> = found.map_err(failed)?.collect();
    let checked = found.map_err(failed)?.into_iter();
    let mut entries: Vec<Entry> = checked
        .map(|raw| raw.checked(connection))
        .collect::<Result<_>>()?;
    let more = entries.len() > len;
    entries.truncate(len);
    let next = entries.last().filter(|_| more).map(|entry| entry.number);
    Ok(Page { entries, next })
}

/// What a list shows of the message with this number.
pub(super) fn entry(connection: &Connection, number: i64) -> Result<Option<Entry>> {
    const SQL: &str = concat!(
        "SELECT ",
        entry_columns!(),
        " FROM semel_messages m LEFT JOIN semel_work w ON w.number = m.number ",
        entry_tables!(),
        "WHERE m.number = ?1"
    );
    let found = sql::one(connection, SQL, params![number], raw_entry_of)?;
    found.map(|raw| raw.checked(connection)).transpose()
}

/// All that is known about one message.
pub(in crate::inbox) fn message(
    connection: &Connection,
    identity: &Identity,
    (now, grace): (Timestamp, Duration),
) -> Result<Option<Detail>> {
    const SQL: &str = concat!(
        "SELECT ",
        entry_columns!(),
        ", ",
        message_columns!(),
        ", m.erased_ms FROM semel_messages m LEFT JOIN semel_work w ON w.number = m.number ",
        entry_tables!(),
        "WHERE m.consumer = ?1 AND m.key = ?2 AND m.tenant = ?3"
    );
    let _snapshot = Snapshot::unless_open(connection);
    let found = crate::records::load(connection, identity, Duration::ZERO)?;
    let record = view_kept(found, now, grace);
    let (key, tenant) = (identity.key().as_str(), identity.tenant().as_str());
    let found = match notes::number_of(connection, identity.scope())? {
        None => None,
        Some(consumer) => sql::one(connection, SQL, params![consumer, key, tenant], |row| {
            let erased_ms: Option<i64> = row.get(31)?;
            Ok((raw_entry_of(row)?, message_of(row, 19)?, erased_ms))
        })?,
    };
    let Some((raw, message, erased_ms)) = found else {
        return Ok(record.and_then(known_by_its_record));
    };
    let entry = raw.checked(connection)?;
    let number = i64::try_from(entry.number).unwrap_or(i64::MAX);
    Ok(Some(Detail {
        fingerprint: message.fingerprint,
        message: match erased_ms {
            None => Some(message.checked(identity.scope())?),
            Some(_) => None,
        },
        erased_at: erased_ms.map(Timestamp::from_millis),
        edits: edits::all(connection, number)?,
        settled: record.and_then(settled_of),
        attempts: attempts(connection, number)?,
        transitions: transitions(connection, number)?,
        steps: claim::steps(connection, number)?,
        entry,
    }))
}

/// Where one message stands.
pub(in crate::inbox) fn state(
    connection: &Connection,
    identity: &Identity,
    (now, grace): (Timestamp, Duration),
) -> Result<Option<State>> {
    let _snapshot = Snapshot::unless_open(connection);
    let stored = match notes::number_of(connection, identity.scope())? {
        Some(consumer) => rows::find(connection, consumer, identity)?,
        None => None,
    };
    if let Some(stored) = stored {
        return Ok(Some(
            stored.work.map_or(State::Completed, |work| work.state),
        ));
    }
    let found = crate::records::load(connection, identity, Duration::ZERO)?;
    let settled = view_kept(found, now, grace).and_then(settled_of);
    Ok(settled.map(|_| State::Completed))
}

fn settled_of(record: Record) -> Option<semel_core::outcome::Settled> {
    match record.state {
        semel_core::State::Settled(settled) => Some(settled),
        semel_core::State::Running { .. } | semel_core::State::Unknown { .. } => None,
    }
}

/// A message that is no longer kept, or that another door dealt with: its record is all that is known.
fn known_by_its_record(record: Record) -> Option<Detail> {
    let (identity, attempts, received_at) =
        (record.identity.clone(), record.attempt, record.claimed_at);
    let fingerprint = record.fingerprint;
    let settled = settled_of(record)?;
    let entry = Entry {
        identity,
        number: 0,
        state: State::Completed,
        cause: None,
        error: None,
        kind: None,
        lane: None,
        sequence: None,
        received_at,
        changed_at: settled.at,
        due_at: None,
        attempts,
        generation: 0,
        duplicates: 0,
        worker: None,
        payload_bytes: None,
    };
    Some(Detail {
        entry,
        fingerprint,
        message: None,
        erased_at: None,
        edits: Vec::new(),
        settled: Some(settled),
        attempts: Vec::new(),
        transitions: Vec::new(),
        steps: Vec::new(),
    })
}

fn attempts(connection: &Connection, number: i64) -> Result<Vec<Attempt>> {
    let sql = "SELECT generation, attempt, fence, worker, began_ms, ended_ms, state, cause, error, late, answer \
               FROM semel_attempts WHERE number = ?1 ORDER BY position";
    sql::all(connection, sql, params![number], |row| {
        Ok(Attempt {
            generation: row.get(0)?,
            number: row.get(1)?,
            fence: Fence::new(row.get(2)?),
            worker: row.get(3)?,
            began_at: Timestamp::from_millis(row.get(4)?),
            ended_at: Timestamp::from_millis(row.get(5)?),
            state: row.get::<_, SqlState>(6)?.0,
            cause: row.get::<_, SqlCause>(7)?.0,
            error: row.get(8)?,
            answer: row.get::<_, Option<Vec<u8>>>(10)?.map(Bytes::from),
            late: row.get(9)?,
        })
    })
}

fn transitions(connection: &Connection, number: i64) -> Result<Vec<Transition>> {
    let sql = "SELECT at_ms, state, cause, detail FROM semel_transitions \
               WHERE number = ?1 ORDER BY position";
    sql::all(connection, sql, params![number], |row| {
        Ok(Transition {
            at: Timestamp::from_millis(row.get(0)?),
            to: row.get::<_, SqlState>(1)?.0,
            cause: row.get::<_, SqlCause>(2)?.0,
            detail: row.get(3)?,
        })
    })
}
