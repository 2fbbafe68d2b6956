//! Housekeeping: lanes whose patience has ended, and messages whose retention has.

use std::time::Duration;

use rusqlite::{Row, params};
use semel_core::inbox::{BATCH_MAX, Order, Plan, State};
use semel_core::{Error, Identity, Result};

use super::notes::Consumer;
use super::rows::{self, Work};
use super::{records, sql};
use crate::error::damaged;
use crate::verbs::Session;

/// Messages in their order, and whether they are still to be worked on.
pub(crate) const MESSAGES: &str = "SELECT m.number, m.expires_ms, m.tenant, m.key, c.scope, c.version, \
     w.number IS NOT NULL \
     FROM semel_messages m JOIN semel_consumers c ON c.consumer = m.consumer \
     LEFT JOIN semel_work w ON w.number = m.number AND (w.state <> 6 OR w.lane IS NOT NULL) \
     WHERE m.number > ?1 ORDER BY m.number LIMIT ?2";
pub(crate) const AUDIT: &str = "DELETE FROM semel_audit WHERE id IN \
     (SELECT id FROM (SELECT id, at_ms FROM semel_audit ORDER BY id LIMIT ?2) WHERE at_ms < ?1)";

/// Rows that a lane is to be looked at for, because their time has come.
const OVERDUE: &str = "SELECT number FROM semel_work WHERE consumer = ?1 AND deadline_ms <= ?2 \
     ORDER BY deadline_ms LIMIT ?3";
/// The same, and rows that wait for versions of a consumer that no longer goes by them.
const OVERDUE_OR_GAPS: &str = "SELECT number FROM (SELECT number FROM semel_work \
     WHERE consumer = ?1 AND deadline_ms <= ?2 \
     UNION SELECT number FROM semel_work WHERE consumer = ?1 AND cause IN ('gap', 'gap-expired')) LIMIT ?3";
/// Rows that stand in a lane of a consumer that has none any more.
const STRANDED: &str = "SELECT number FROM semel_work \
     WHERE consumer = ?1 AND lane IS NOT NULL AND ?2 IS NOT NULL LIMIT ?3";

/// A message that may have outlived its record.
struct Leftover {
    expires_ms: i64,
    tenant: String,
    key: String,
    scope: String,
    version: u32,
    is_needed: bool,
}

impl Leftover {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            expires_ms: row.get(1)?,
            tenant: row.get(2)?,
            key: row.get(3)?,
            scope: row.get(4)?,
            version: row.get(5)?,
            is_needed: row.get(6)?,
        })
    }
}

impl Session<'_> {
    /// Moves lanes of one consumer on where time or a change of its plan lets them; how many messages it was about.
    pub(super) fn advance_lanes(&mut self, plan: &Plan, limit: usize) -> Result<usize> {
        let Some(of) = self.consumer(plan)? else {
            return Ok(0);
        };
        let sql = match plan.order {
            Order::None => STRANDED,
            Order::Arrival { .. } => OVERDUE_OR_GAPS,
            Order::Sequence { .. } => OVERDUE,
        };
        let values = params![of.number, self.now.as_millis(), limit.min(BATCH_MAX)];
        let numbers: Vec<i64> = sql::all(self.connection, sql, values, |row| row.get(0))?;
        let mut changed = 0;
        for number in numbers {
            // The one before it may have moved it.
            if let Some(work) = rows::work(self.connection, number)? {
                changed += usize::from(self.advance_lane_of(of, &work)?);
            }
        }
        Ok(changed)
    }

    fn advance_lane_of(&mut self, of: Consumer<'_>, work: &Work) -> Result<bool> {
        let Some(key) = work.lane_key(of) else {
            return Ok(false);
        };
        match self.row_at(key, work.spot())? {
            Some(row) => self.in_lane(key, |mut lane| lane.overdue(&row)),
            None => Ok(false),
        }
    }

    /// The message goes with its record, unless it is still to be worked on.
    pub(crate) fn forget_message_of(&mut self, identity: &Identity) -> Result<()> {
        let Some(consumer) = self.consumer_number(identity.scope())? else {
            return Ok(());
        };
        let Some(stored) = rows::find(self.connection, consumer, identity)? else {
            return Ok(());
        };
        let is_needed = |work: Work| work.state != State::SkippedDuplicate || work.lane.is_some();
        match stored.work.is_some_and(is_needed) {
            true => Ok(()),
            false => self.forget_message(stored.number),
        }
    }

    /// Deletes expired messages that have neither work nor a record, such as those whose record a person erased. They are rare, so one
    /// step looks at a few messages and the next one goes on from there. Whether another step at once makes sense.
    pub(crate) fn sweep_messages(&mut self, limit: usize) -> Result<bool> {
        let sql = "SELECT value FROM semel_meta WHERE name = 'swept_number'";
        let from: i64 = sql::one(self.connection, sql, &[], |row| row.get(0))?.unwrap_or(0);
        let looked = sql::all(self.connection, MESSAGES, params![from, limit], |row| {
            Ok((row.get::<_, i64>(0)?, Leftover::of(row)))
        })?;
        let mut deleted = false;
        for (number, leftover) in &looked {
            let forgotten = match leftover {
                Ok(leftover) => self.apart(|session| session.forget_leftover(*number, leftover)),
                Err(error) => Err(damaged(&error.to_string())),
            };
            match forgotten {
                Ok(forgotten) => deleted |= forgotten,
                Err(error) if error.is_retryable() => return Err(error),
                Err(error) => {
                    let message = format!("the sweep passes over message {number}");
                    self.troubles
                        .push(Error::new(error.kind(), message).caused_by(error));
                }
            }
        }
        let is_full = looked.len() == limit;
        let next = looked.last().filter(|_| is_full).map_or(0, |last| last.0);
        if next != from {
            sql::run(
                self.connection,
                "INSERT INTO semel_meta (name, value) VALUES ('swept_number', ?1) \
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                params![next],
            )?;
        }
        Ok(deleted && is_full)
    }

    /// Deletes a message that has neither work nor a record; whether it did.
    fn forget_leftover(&mut self, number: i64, leftover: &Leftover) -> Result<bool> {
        if leftover.is_needed || leftover.expires_ms > self.kept_since().as_millis() {
            return Ok(false);
        }
        let scope = super::inspect::scope(&leftover.scope, leftover.version)?;
        let identity = rows::identity(&scope, &leftover.tenant, &leftover.key)?;
        if records::brief(self.connection, &identity)?.is_some() {
            return Ok(false);
        }
        self.forget_message(number).map(|()| true)
    }

    /// Lines of the audit go when old events do. They are written in the order of time, so the first are the oldest.
    pub(crate) fn forget_audit(&self, limit: usize, keep: Duration) -> Result<usize> {
        sql::run(self.connection, AUDIT, params![self.cutoff_ms(keep), limit])
    }
}
