//! The audit: what people did by hand, to records and to messages.

use rusqlite::{Connection, params};
use semel_core::store::{AuditEntry, PAGE_MAX};
use semel_core::{Result, Scope, Timestamp};

use crate::error::{damaged, from_sqlite};
use crate::records::{self, run};

/// Writes a line.
pub(crate) fn note(connection: &Connection, line: &AuditEntry) -> Result<()> {
    run(
        connection,
        "INSERT INTO semel_audit (at_ms, actor, verb, action, consumer, selection, changed, reason) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        params![
            line.at.as_millis(),
            line.by,
            line.verb,
            line.action,
            line.scope.to_string(),
            line.selection,
            line.changed,
            line.reason,
        ],
    )
    .map_err(records::writing)
}

/// The lines, the newest first.
pub(crate) fn list(connection: &Connection, limit: usize) -> Result<Vec<AuditEntry>> {
    let failed = |e| from_sqlite("reading the audit", e);
    let sql = "SELECT at_ms, actor, verb, action, selection, changed, reason, consumer \
               FROM semel_audit ORDER BY id DESC LIMIT ?1";
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let mut rows = statement
        .query(params![limit.min(PAGE_MAX)])
        .map_err(failed)?;
    let mut lines = Vec::new();
    while let Some(row) = rows.next().map_err(failed)? {
        let scope: String = row.get(7).map_err(failed)?;
        let scope: Scope = scope
            .parse()
            .map_err(|e| damaged("a scope breaks the rules").caused_by(e))?;
        let read = || -> rusqlite::Result<AuditEntry> {
            Ok(AuditEntry {
                at: Timestamp::from_millis(row.get(0)?),
                by: row.get(1)?,
                verb: row.get(2)?,
                action: row.get(3)?,
                scope,
                selection: row.get(4)?,
                changed: row.get(5)?,
                reason: row.get(6)?,
            })
        };
        lines.push(read().map_err(failed)?);
    }
    Ok(lines)
}
