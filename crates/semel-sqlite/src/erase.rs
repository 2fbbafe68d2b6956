//! Erasing contents: what a record, its history and the archive hold of what was asked and answered. The rows stay.
//!
//! SQLite leaves deleted bytes in free space. While contents are erased it overwrites them with zeros, in the pages that the
//! erasure frees or changes; older copies stay in the write-ahead log until it is truncated, which happens when nothing is written for a moment
//! and when the store is closed, and in pages that were freed before, for example by the move to the archive, until they are used again.

use std::cell::Cell;

use rusqlite::{Connection, params};
use semel_core::outcome::Settled;
use semel_core::protocol::{self, Change};
use semel_core::record::Claim;
use semel_core::store::{Resolution, ResolveAnswer, ResolveRequest};
use semel_core::{Identity, Record, Result};

use crate::error::from_sqlite;
use crate::records::{self, FLAG_ERASED, outcome_columns, record_columns, record_of, run};
use crate::verbs::{Session, sql_fence};

const ARCHIVED: &str = concat!(
    "SELECT ",
    record_columns!(archived),
    " FROM semel_archive c JOIN semel_archive o USING (fence) \
     LEFT JOIN semel_leases l USING (fence) WHERE c.fence = ?1"
);

impl Session<'_> {
    /// Decides about the archived record of a claim, if only the archive still has it.
    pub(crate) fn resolve_archived(&mut self, request: &ResolveRequest) -> Result<ResolveAnswer> {
        let Resolution::EraseContents = request.resolution else {
            return Ok(ResolveAnswer::Refused);
        };
        let archived = load_archived(self.connection, &request.claim)?;
        let mut step = protocol::resolve(archived.as_ref(), request, self.now);
        let identity = &request.claim.identity;
        if let Change::EraseContents(settled) = &step.change {
            let fence = sql_fence(request.claim.fence);
            overwriting(self.connection, |connection| {
                erase_archived(connection, fence, settled)?;
                erase_history(connection, identity)
            })
            .map_err(records::writing)?;
            step.change = Change::None;
        }
        self.finish(identity, None, step)
    }
}

fn load_archived(connection: &Connection, claim: &Claim) -> Result<Option<Record>> {
    let failed = |e| from_sqlite("looking up an archived record", e);
    let mut statement = connection.prepare_cached(ARCHIVED).map_err(failed)?;
    let mut rows = statement
        .query(params![sql_fence(claim.fence)])
        .map_err(failed)?;
    let Some(row) = rows.next().map_err(failed)? else {
        return Ok(None);
    };
    let record = record_of(row, Some(&claim.identity))?;
    Ok(Some(record).filter(|record| record.identity == claim.identity))
}

/// Erases the contents of a settled record and of its identity's history.
pub(crate) fn erase(
    connection: &Connection,
    identity: &Identity,
    record: &Record,
    settled: &Settled,
) -> rusqlite::Result<()> {
    let fence = sql_fence(record.fence);
    overwriting(connection, |connection| {
        erase_outcome(connection, fence, settled)?;
        run(
            connection,
            "UPDATE semel_claims SET about = NULL WHERE fence = ?1",
            params![fence],
        )?;
        erase_history(connection, identity)
    })
}

thread_local! {
    /// Whether this thread has overwritten something since it was asked.
    static OVERWRITTEN: Cell<bool> = const { Cell::new(false) };
}

/// Whether this thread has overwritten something since this was asked before, so that the log holds what the file does no longer.
pub(crate) fn has_overwritten() -> bool {
    OVERWRITTEN.take()
}

/// Has SQLite write zeros over what it deletes.
pub(crate) fn overwriting(
    connection: &Connection,
    erase: impl FnOnce(&Connection) -> rusqlite::Result<()>,
) -> rusqlite::Result<()> {
    let set = |on: bool| connection.pragma_update_and_check(None, "secure_delete", on, |_| Ok(()));
    set(true)?;
    OVERWRITTEN.set(true);
    let erased = erase(connection);
    set(false)?;
    erased
}

fn erase_outcome(connection: &Connection, fence: i64, settled: &Settled) -> rusqlite::Result<()> {
    let (.., len, digest) = outcome_columns(&settled.outcome, settled.archive);
    run(
        connection,
        "UPDATE semel_outcomes SET flags = flags | ?2, headers = NULL, body = NULL, omitted_len = ?3, \
         omitted_digest = ?4 WHERE fence = ?1",
        params![fence, FLAG_ERASED, len, digest],
    )
}

fn erase_archived(connection: &Connection, fence: i64, settled: &Settled) -> rusqlite::Result<()> {
    let (.., len, digest) = outcome_columns(&settled.outcome, settled.archive);
    run(
        connection,
        "UPDATE semel_archive SET flags = flags | ?2, headers = NULL, body = NULL, omitted_len = ?3, \
         omitted_digest = ?4, about = NULL WHERE fence = ?1",
        params![fence, FLAG_ERASED, len, digest],
    )
}

/// As [`semel_core::EventKind::without_contents`] says.
fn erase_history(connection: &Connection, identity: &Identity) -> rusqlite::Result<()> {
    let digest = identity.digest().short();
    run(
        connection,
        "UPDATE semel_history SET note = NULL WHERE digest = ?1 AND event = 'became-unknown'",
        params![digest],
    )?;
    run(
        connection,
        "UPDATE semel_history SET omitted_len = coalesce(omitted_len, length(body), 0), headers = NULL, body = NULL, \
         omitted_digest = NULL WHERE digest = ?1 AND event = 'late-outcome'",
        params![digest],
    )
}
