//! Consumers that people have paused, and lines of the audit.

use rusqlite::{Connection, params};
use semel_core::inbox::{Pause, Plan};
use semel_core::store::{Actor, AuditEntry};
use semel_core::{Result, Scope, Timestamp};

use super::sql;
use crate::audit;
use crate::verbs::Session;

/// Whether a consumer is paused.
pub(super) fn is_paused(connection: &Connection, consumer: i64) -> Result<bool> {
    let sql = "SELECT paused_ms IS NOT NULL FROM semel_consumers WHERE consumer = ?1";
    let found = sql::one(connection, sql, params![consumer], |row| row.get(0))?;
    Ok(found.unwrap_or(false))
}

/// A pause from its columns, if there is one.
pub(super) fn pause_of(row: &rusqlite::Row<'_>, first: usize) -> rusqlite::Result<Option<Pause>> {
    let at_ms: Option<i64> = row.get(first)?;
    at_ms
        .map(|ms| {
            Ok(Pause {
                at: Timestamp::from_millis(ms),
                by: row.get::<_, Option<String>>(first + 1)?.unwrap_or_default(),
                reason: row.get(first + 2)?,
            })
        })
        .transpose()
}

/// What a person says about a consumer.
#[derive(Debug)]
pub(super) struct Pausing {
    pub(super) consumer: Scope,
    pub(super) paused: bool,
    pub(super) by: Actor,
    pub(super) reason: Option<String>,
}

impl Session<'_> {
    /// Pauses a consumer or lets it go on; whether that changed anything.
    pub(super) fn set_paused(&mut self, asked: &Pausing) -> Result<bool> {
        let plan = Plan::new(asked.consumer.clone());
        let of = self.consumer_or_new(&plan)?;
        if is_paused(self.connection, of.number)? == asked.paused {
            return Ok(false);
        }
        let by = asked.by.as_str();
        sql::run(
            self.connection,
            "UPDATE semel_consumers SET paused_ms = iif(?2, ?3, NULL), paused_by = iif(?2, ?4, NULL), \
             paused_reason = iif(?2, ?5, NULL) WHERE consumer = ?1",
            params![
                of.number,
                asked.paused,
                self.now.as_millis(),
                by,
                asked.reason
            ],
        )?;
        let (verb, action) = match asked.paused {
            true => ("inbox pause", "pause"),
            false => ("inbox resume", "resume"),
        };
        let reason = asked.reason.as_deref();
        self.note_audit((by, verb, action), &asked.consumer, "all", 1, reason)?;
        self.wake(&asked.consumer);
        Ok(true)
    }

    /// Writes a line of the audit: who, by which verb, did which action.
    pub(super) fn note_audit(
        &self,
        (by, verb, action): (&str, &str, &str),
        consumer: &Scope,
        selection: &str,
        changed: u64,
        reason: Option<&str>,
    ) -> Result<()> {
        let line = AuditEntry {
            at: self.now,
            by: by.to_owned(),
            verb: verb.to_owned(),
            action: action.to_owned(),
            scope: consumer.clone(),
            selection: selection.to_owned(),
            changed,
            reason: reason.map(str::to_owned),
        };
        audit::note(self.connection, &line)
    }
}
