//! The audit: what people did by hand, to records and to messages.

use semel_core::store::{AuditEntry, PAGE_MAX};
use semel_core::{Error, Result, Timestamp};

use crate::engine::Engine;
use crate::error::damaged;
use crate::session::{Driver, Session};
use crate::value::{Row, Value};

impl<D: Driver> Session<'_, D> {
    /// Writes a line.
    pub(crate) async fn note_audit(&mut self, line: &AuditEntry) -> Result<(), D::Error> {
        let params = vec![
            Value::int(line.at.as_millis()),
            Value::text(&line.by),
            Value::text(&line.verb),
            Value::text(&line.action),
            Value::text(line.scope.to_string()),
            Value::text(&line.selection),
            Value::int(i64::try_from(line.changed).unwrap_or(i64::MAX)),
            Value::Text(line.reason.clone()),
        ];
        let noted = self.driver.rows(&self.sql.note_audit, params);
        noted.await.map(drop)
    }
}

impl Engine {
    /// The lines, the newest first.
    pub(crate) async fn audit(&self, limit: usize) -> Result<Vec<AuditEntry>> {
        let limit = i64::try_from(limit.min(PAGE_MAX)).unwrap_or(i64::MAX);
        let sql = &self.sql.audit;
        let rows = self
            .read("reading the audit", sql, &[Value::int(limit)])
            .await?;
        rows.iter().map(entry_of).collect()
    }
}

fn entry_of(row: &Row) -> Result<AuditEntry> {
    let text = |at| Ok::<_, Error>(row.word(at)?.to_owned());
    let scope = row.word(4)?.parse();
    Ok(AuditEntry {
        at: Timestamp::from_millis(row.number(0)?),
        by: text(1)?,
        verb: text(2)?,
        action: text(3)?,
        scope: scope.map_err(|e: Error| damaged("a scope breaks the rules").caused_by(e))?,
        selection: text(5)?,
        changed: u64::try_from(row.number(6)?).unwrap_or(0),
        reason: row.text(7)?.map(str::to_owned),
    })
}
