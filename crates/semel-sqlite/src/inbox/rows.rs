//! Messages and work as rows.

use bytes::Bytes;
use rusqlite::{Connection, Row, params};
use semel_core::inbox::decide::may_finish;
use semel_core::inbox::lanes::Rerun;
use semel_core::inbox::{Cause, Message, Origin, State};
use semel_core::{
    Error, Fence, Fingerprint, Headers, Identity, Key, Result, Scope, Tenant, Timestamp,
};

use super::edits::RawEdited;
use super::notes::Consumer;
use super::sql::{self, SqlCause, SqlState};
use crate::error::damaged;

/// Whether a message runs once more, as a column.
pub(super) const fn sql_rerun(rerun: Rerun) -> u8 {
    match rerun {
        Rerun::No => 0,
        Rerun::Replay => 1,
        Rerun::Rebuild => 2,
    }
}

/// Whether a message runs once more, from its column.
pub(super) const fn rerun_of(replay: u8) -> Rerun {
    match replay {
        0 => Rerun::No,
        1 => Rerun::Replay,
        _ => Rerun::Rebuild,
    }
}

/// What is known of a message that the verbs change.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) number: i64,
    pub(super) fingerprint: Fingerprint,
    pub(super) received_ms: i64,
    /// `None` once it is completed.
    pub(super) work: Option<Work>,
}

/// A row of work.
#[derive(Debug)]
pub(super) struct Work {
    pub(super) number: i64,
    pub(super) state: State,
    pub(super) fence: Fence,
    pub(super) attempts: u32,
    pub(super) generation: u32,
    pub(super) replay: u8,
    /// For what is in progress: when it was claimed.
    pub(super) changed_ms: i64,
    pub(super) sequence: i64,
    pub(super) lane: Option<String>,
    pub(super) worker: Option<String>,
    pub(super) cause: Option<Cause>,
    /// Whose lane it stands in, if it stands in one.
    pub(super) tenant: Option<String>,
    pub(super) first_ms: Option<i64>,
    pub(super) key_generation: u32,
}

impl Work {
    /// Whether the claim with this fence may still say how it ended.
    pub(super) fn is_held_by(&self, fence: Fence) -> bool {
        may_finish(self.state, self.cause, self.fence, fence)
    }
}

/// How many columns [`work_of`] reads.
pub(super) const WORK_COLUMNS: usize = 14;

/// The columns that [`work_of`] reads.
macro_rules! work_columns {
    () => {
        "w.number, w.state, w.fence, w.attempts, w.generation, w.replay, \
         w.changed_ms, w.sequence, w.lane, w.worker, w.cause, w.tenant, w.first_ms, w.key_generation"
    };
}
pub(super) use work_columns;

/// Reads a row of work from column `first` on.
pub(super) fn work_of(row: &Row<'_>, first: usize) -> rusqlite::Result<Work> {
    Ok(Work {
        number: row.get(first)?,
        state: row.get::<_, SqlState>(first + 1)?.0,
        fence: Fence::new(row.get(first + 2)?),
        attempts: row.get(first + 3)?,
        generation: row.get(first + 4)?,
        replay: row.get(first + 5)?,
        changed_ms: row.get(first + 6)?,
        sequence: row.get(first + 7)?,
        lane: row.get(first + 8)?,
        worker: row.get(first + 9)?,
        cause: row.get::<_, SqlCause>(first + 10)?.0,
        tenant: row.get(first + 11)?,
        first_ms: row.get(first + 12)?,
        key_generation: row.get(first + 13)?,
    })
}

/// A message by its identity, with its work.
pub(super) const FIND: &str = concat!(
    "SELECT m.number, m.fingerprint, m.received_ms, ",
    work_columns!(),
    " FROM semel_messages m LEFT JOIN semel_work w ON w.number = m.number \
     WHERE m.consumer = ?1 AND m.key = ?2 AND m.tenant = ?3"
);

/// The message of an identity, and its work.
pub(super) fn find(
    connection: &Connection,
    consumer: i64,
    identity: &Identity,
) -> Result<Option<Stored>> {
    let (key, tenant) = (identity.key().as_str(), identity.tenant().as_str());
    sql::one(connection, FIND, params![consumer, key, tenant], |row| {
        let has_work = row.get::<_, Option<i64>>(3)?.is_some();
        Ok(Stored {
            number: row.get(0)?,
            fingerprint: Fingerprint::from_bytes(row.get(1)?),
            received_ms: row.get(2)?,
            work: has_work.then(|| work_of(row, 3)).transpose()?,
        })
    })
}

/// A row of work by its number.
pub(super) fn work(connection: &Connection, number: i64) -> Result<Option<Work>> {
    const SQL: &str = concat!(
        "SELECT ",
        work_columns!(),
        " FROM semel_work w WHERE w.number = ?1"
    );
    sql::one(connection, SQL, params![number], |row| work_of(row, 0))
}

/// Writes a message down; its number.
pub(super) fn insert(
    connection: &Connection,
    of: Consumer<'_>,
    message: &Message,
    now: Timestamp,
) -> Result<i64> {
    let (identity, origin) = (message.identity(), message.origin());
    let headers = message.headers();
    sql::run(
        connection,
        "INSERT INTO semel_messages (consumer, key, tenant, fingerprint, received_ms, expires_ms, \
         lane, sequence, kind, schema_version, topic, topic_partition, topic_offset, headers, payload) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)",
        params![
            of.number,
            identity.key().as_str(),
            identity.tenant().as_str(),
            message.fingerprint().as_bytes(),
            now.as_millis(),
            now.after(of.plan.retention.keep()).as_millis(),
            message.lane().map(Key::as_str),
            message.sequence(),
            message.kind(),
            message.version(),
            (!origin.topic.is_empty()).then_some(&origin.topic),
            origin.partition,
            origin.offset,
            (!headers.is_empty()).then(|| headers.encode()),
            message.payload().as_ref(),
        ],
    )?;
    Ok(connection.last_insert_rowid())
}

/// The columns that [`message_of`] reads.
macro_rules! message_columns {
    () => {
        "m.tenant, m.key, m.fingerprint, m.lane, m.sequence, m.kind, m.schema_version, m.topic, \
         m.topic_partition, m.topic_offset, m.headers, m.payload"
    };
}
pub(super) use message_columns;

/// A message as it is in its row, before its parts are checked again.
pub(super) struct RawMessage {
    tenant: String,
    key: String,
    pub(super) fingerprint: Fingerprint,
    lane: Option<String>,
    sequence: Option<u64>,
    kind: Option<String>,
    version: Option<u32>,
    origin: Origin,
    headers: Option<Vec<u8>>,
    payload: Bytes,
    /// What runs instead of what arrived.
    pub(super) edit: Option<RawEdited>,
}

/// Reads a message from column `first` on.
pub(super) fn message_of(row: &Row<'_>, first: usize) -> rusqlite::Result<RawMessage> {
    Ok(RawMessage {
        tenant: row.get(first)?,
        key: row.get(first + 1)?,
        fingerprint: Fingerprint::from_bytes(row.get(first + 2)?),
        lane: row.get(first + 3)?,
        sequence: row.get(first + 4)?,
        kind: row.get(first + 5)?,
        version: row.get(first + 6)?,
        origin: Origin {
            topic: row.get::<_, Option<String>>(first + 7)?.unwrap_or_default(),
            partition: row.get(first + 8)?,
            offset: row.get(first + 9)?,
        },
        headers: row.get(first + 10)?,
        payload: Bytes::from(row.get::<_, Vec<u8>>(first + 11)?),
        edit: None,
    })
}

impl RawMessage {
    /// How many bytes the payload has that runs.
    pub(super) fn payload_len(&self) -> usize {
        let edit = self.edit.as_ref();
        edit.map_or(self.payload.len(), RawEdited::payload_len)
    }

    /// The message of this consumer.
    pub(super) fn checked(self, consumer: &Scope) -> Result<Message> {
        let identity = identity(consumer, &self.tenant, &self.key)?;
        let message = || -> Result<Message> {
            let mut message = Message::new(identity, self.payload)?
                .with_fingerprint(self.fingerprint)
                .with_origin(self.origin)?;
            if let Some(lane) = self.lane {
                message = message.with_lane(Key::new(lane)?);
            }
            if let Some(sequence) = self.sequence {
                message = message.with_sequence(sequence)?;
            }
            if let Some(kind) = self.kind {
                message = message.with_kind(&kind, self.version)?;
            }
            if let Some(headers) = self.headers {
                message = message.with_headers(Headers::decode(&headers)?);
            }
            if let Some(edit) = self.edit {
                let edited = edit.checked()?;
                message = message.with_edit(edited.version, edited.edit);
            }
            Ok(message)
        };
        message().map_err(|e| damaged("a message breaks the rules").caused_by(e))
    }
}

/// The identity of a message, from its columns.
pub(super) fn identity(consumer: &Scope, tenant: &str, key: &str) -> Result<Identity> {
    let parts = || -> Result<_> { Ok((Tenant::new(tenant)?, Key::new(key)?)) };
    let (tenant, key) =
        parts().map_err(|e: Error| damaged("an identity breaks the rules").caused_by(e))?;
    Ok(Identity::new(tenant, consumer.clone(), key))
}

/// The identity and fingerprint of the message with this number.
pub(super) fn named(
    connection: &Connection,
    consumer: &Scope,
    number: i64,
) -> Result<(Identity, Fingerprint)> {
    let sql = "SELECT tenant, key, fingerprint FROM semel_messages WHERE number = ?1";
    let found = sql::one(connection, sql, params![number], |row| {
        let (tenant, key): (String, String) = (row.get(0)?, row.get(1)?);
        Ok((tenant, key, Fingerprint::from_bytes(row.get(2)?)))
    })?;
    let (tenant, key, print) = found.ok_or_else(|| damaged("a row of work has no message"))?;
    Ok((identity(consumer, &tenant, &key)?, print))
}
