//! What operators made of messages: kept beside what arrived, and brought by the claims that follow.

use bytes::Bytes;
use rusqlite::{Connection, Row, params};
use semel_core::inbox::edit::EDITS_MAX;
use semel_core::inbox::{Edit, Edited, Operation};
use semel_core::{Headers, Result, Timestamp};

use super::sql;
use crate::error::damaged;
use crate::verbs::Session;

/// The columns that [`edited_of`] reads.
macro_rules! edit_columns {
    () => {
        "version, at_ms, actor, reason, headers, payload"
    };
}

/// A row of an edit, before its parts are checked again.
pub(super) struct RawEdited {
    version: u32,
    at_ms: i64,
    by: String,
    reason: Option<String>,
    headers: Option<Vec<u8>>,
    payload: Bytes,
}

fn edited_of(row: &Row<'_>) -> rusqlite::Result<RawEdited> {
    Ok(RawEdited {
        version: row.get(0)?,
        at_ms: row.get(1)?,
        by: row.get(2)?,
        reason: row.get(3)?,
        headers: row.get(4)?,
        payload: Bytes::from(row.get::<_, Vec<u8>>(5)?),
    })
}

impl RawEdited {
    /// How many bytes its payload has.
    pub(super) const fn payload_len(&self) -> usize {
        self.payload.len()
    }

    pub(super) fn checked(self) -> Result<Edited> {
        let headers = self
            .headers
            .as_deref()
            .map_or(Ok(Headers::default()), Headers::decode);
        let edit = headers.and_then(|headers| Edit::new(self.payload, headers));
        Ok(Edited {
            version: self.version,
            at: Timestamp::from_millis(self.at_ms),
            by: self.by,
            reason: self.reason,
            edit: edit.map_err(|e| damaged("an edit breaks the rules").caused_by(e))?,
        })
    }
}

impl Session<'_> {
    /// Keeps what an operation makes of a message, if it makes something of it; only the newest edits stay.
    pub(super) fn keep_edit(&self, number: i64, operation: &Operation) -> Result<()> {
        let Some(edit) = &operation.edit else {
            return Ok(());
        };
        let headers = edit.headers();
        sql::run(
            self.connection,
            "INSERT INTO semel_edits (number, version, at_ms, actor, reason, headers, payload) \
             SELECT ?1, coalesce(max(version), 0) + 1, ?2, ?3, ?4, ?5, ?6 FROM semel_edits WHERE number = ?1",
            params![
                number,
                self.now.as_millis(),
                operation.by.as_str(),
                operation.reason,
                (!headers.is_empty()).then(|| headers.encode()),
                edit.payload().as_ref(),
            ],
        )?;
        let sql = "DELETE FROM semel_edits WHERE number = ?1 AND version <= \
                   (SELECT max(version) FROM semel_edits WHERE number = ?1) - ?2";
        sql::run(self.connection, sql, params![number, EDITS_MAX]).map(drop)
    }
}

/// The newest edit of a message.
pub(super) fn newest(connection: &Connection, number: i64) -> Result<Option<RawEdited>> {
    const SQL: &str = concat!(
        "SELECT ",
        edit_columns!(),
        " FROM semel_edits WHERE number = ?1 ORDER BY version DESC LIMIT 1"
    );
    sql::one(connection, SQL, params![number], edited_of)
}

/// The edits of a message, oldest first.
pub(super) fn all(connection: &Connection, number: i64) -> Result<Vec<Edited>> {
    const SQL: &str = concat!(
        "SELECT ",
        edit_columns!(),
        " FROM semel_edits WHERE number = ?1 ORDER BY version"
    );
    let found = sql::all(connection, SQL, params![number], edited_of)?;
    found.into_iter().map(RawEdited::checked).collect()
}
