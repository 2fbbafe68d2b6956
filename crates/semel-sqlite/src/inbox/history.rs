//! What did not go as it should, kept with its message: attempts that did not complete, and changes of state.

use rusqlite::params;
use semel_core::Result;
use semel_core::inbox::{Attempt, Cause, State};

use super::sql::{self, SqlCause, SqlState};
use crate::verbs::Session;

/// The most attempts and the most changes of state that are kept of one message; the oldest go first.
const KEPT_MAX: i64 = 100;

impl Session<'_> {
    /// Keeps an attempt that did not complete.
    pub(super) fn keep_attempt(&self, number: i64, attempt: &Attempt) -> Result<()> {
        let sql = "SELECT coalesce(max(position), 0) + 1 FROM semel_attempts WHERE number = ?1";
        let position = self.next_position(sql, number)?;
        sql::run(
            self.connection,
            "INSERT INTO semel_attempts (number, position, generation, attempt, fence, began_ms, \
             ended_ms, state, late, worker, cause, error, answer) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
            params![
                number,
                position,
                attempt.generation,
                attempt.number,
                crate::verbs::sql_fence(attempt.fence),
                attempt.began_at.as_millis(),
                attempt.ended_at.as_millis(),
                SqlState(attempt.state),
                attempt.late,
                attempt.worker,
                SqlCause(attempt.cause),
                attempt.error,
                attempt.answer.as_deref(),
            ],
        )?;
        let sql = "DELETE FROM semel_attempts WHERE number = ?1 AND position <= ?2";
        self.forget_oldest(sql, number, position)
    }

    /// Keeps a change of state.
    pub(super) fn keep_transition(
        &self,
        number: i64,
        to: State,
        cause: Option<Cause>,
        detail: Option<&str>,
    ) -> Result<()> {
        let sql = "SELECT coalesce(max(position), 0) + 1 FROM semel_transitions WHERE number = ?1";
        let position = self.next_position(sql, number)?;
        sql::run(
            self.connection,
            "INSERT INTO semel_transitions (number, position, at_ms, state, cause, detail) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![
                number,
                position,
                self.now.as_millis(),
                SqlState(to),
                SqlCause(cause),
                detail,
            ],
        )?;
        let sql = "DELETE FROM semel_transitions WHERE number = ?1 AND position <= ?2";
        self.forget_oldest(sql, number, position)
    }

    fn next_position(&self, sql: &str, number: i64) -> Result<i64> {
        let found = sql::one(self.connection, sql, params![number], |row| row.get(0))?;
        Ok(found.unwrap_or(1))
    }

    fn forget_oldest(&self, sql: &str, number: i64, newest: i64) -> Result<()> {
        if newest > KEPT_MAX {
            sql::run(self.connection, sql, params![number, newest - KEPT_MAX])?;
        }
        Ok(())
    }

    /// Deletes all that is known of a message. Its lane's done and its record stay.
    pub(super) fn forget_message(&self, number: i64) -> Result<()> {
        for sql in [
            "DELETE FROM semel_messages WHERE number = ?1",
            "DELETE FROM semel_work WHERE number = ?1",
            "DELETE FROM semel_attempts WHERE number = ?1",
            "DELETE FROM semel_transitions WHERE number = ?1",
            "DELETE FROM semel_steps WHERE number = ?1",
            "DELETE FROM semel_duplicates WHERE number = ?1",
            "DELETE FROM semel_generations WHERE number = ?1",
            "DELETE FROM semel_edits WHERE number = ?1",
        ] {
            sql::run(self.connection, sql, params![number])?;
        }
        Ok(())
    }
}
