//! Contents of messages that are erased. What is left tells a redelivery from another message.

use rusqlite::{Connection, params};
use semel_core::Result;

use super::sql;
use crate::erase::overwriting;
use crate::records::run;
use crate::verbs::Session;

impl Session<'_> {
    /// Erases what a message holds, from the file too. Its fingerprint, its place and who decided what stay.
    pub(super) fn erase_contents(&self, number: i64) -> Result<()> {
        let erased = overwriting(self.connection, |connection| {
            run(
                connection,
                "UPDATE semel_messages SET payload = x'', headers = NULL, erased_ms = ?2 WHERE number = ?1",
                params![number, self.now.as_millis()],
            )?;
            erase_beside(connection, number)
        });
        erased.map_err(sql::failed)
    }

    /// Whether the contents of a message were erased.
    pub(super) fn is_erased(&self, number: i64) -> Result<bool> {
        let sql = "SELECT erased_ms IS NOT NULL FROM semel_messages WHERE number = ?1";
        let found = sql::one(self.connection, sql, params![number], |row| row.get(0))?;
        Ok(found.unwrap_or(false))
    }
}

/// Erases what lies beside a message: what people made of it, and what its attempts left.
fn erase_beside(connection: &Connection, number: i64) -> rusqlite::Result<()> {
    for sql in [
        "DELETE FROM semel_edits WHERE number = ?1",
        "DELETE FROM semel_steps WHERE number = ?1",
        "UPDATE semel_attempts SET error = NULL, answer = NULL WHERE number = ?1",
        "UPDATE semel_work SET error = NULL WHERE number = ?1",
        // Why a message could not be read may quote it.
        "UPDATE semel_transitions SET detail = NULL WHERE number = ?1 AND cause = 'unreadable'",
    ] {
        run(connection, sql, params![number])?;
    }
    Ok(())
}
