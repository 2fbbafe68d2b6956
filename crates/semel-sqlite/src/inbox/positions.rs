//! How far sources have been received, per partition, and the epochs of their readers.

use rusqlite::params;
use semel_core::Result;
use semel_core::inbox::{Progress, Taken};

use super::sql;
use crate::verbs::Session;

/// Whose positions are to be taken.
pub(super) struct Taking {
    pub(super) source: String,
    pub(super) partitions: Vec<String>,
}

impl Session<'_> {
    /// Makes the caller the owner of positions. They have been checked.
    pub(super) fn take_positions(&mut self, taking: &Taking) -> Result<Vec<Taken>> {
        let (source, now_ms) = (&taking.source, self.now.as_millis());
        let mut taken = Vec::with_capacity(taking.partitions.len());
        for partition in &taking.partitions {
            let found = sql::one(
                self.connection,
                "INSERT INTO semel_positions (source, partition, epoch, changed_ms) VALUES (?1, ?2, 1, ?3) \
                 ON CONFLICT (source, partition) DO UPDATE SET epoch = epoch + 1, changed_ms = excluded.changed_ms \
                 RETURNING position, epoch",
                params![source, partition, now_ms],
                |row| Ok((row.get(0)?, row.get(1)?)),
            )?;
            let (position, epoch) = found.expect("an upsert without a condition returns its row");
            taken.push(Taken {
                partition: partition.clone(),
                position,
                epoch,
            });
        }
        Ok(taken)
    }

    /// Moves positions on; nothing is changed if one of them has another owner.
    pub(super) fn move_positions(&mut self, all: &[Progress]) -> Result<()> {
        for one in all {
            let sql = "SELECT epoch FROM semel_positions WHERE source = ?1 AND partition = ?2";
            let at = params![one.source, one.partition];
            let newest = sql::one(self.connection, sql, at, |row| row.get(0))?;
            one.check_owner(newest.unwrap_or(0))?;
        }
        for one in all {
            let now_ms = self.now.as_millis();
            sql::run(
                self.connection,
                "UPDATE semel_positions SET position = ?3, changed_ms = ?4 WHERE source = ?1 AND partition = ?2",
                params![one.source, one.partition, one.position, now_ms],
            )?;
        }
        Ok(())
    }
}
