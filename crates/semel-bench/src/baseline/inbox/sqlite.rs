//! A plain inbox table in an SQLite file: one connection that writes, a claim and a completion are a transaction each.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::{Connection, params};
use semel_core::{Error, Kind, Result};

use super::{CONSUMER, Dealt, Queue};
use crate::baseline::Done;
use crate::inbox::Letter;
use crate::inbox::letter::{KIND, TOPIC, VERSION};

const TABLE: &str = "
    CREATE TABLE inbox_message (
        consumer_name TEXT NOT NULL,
        message_id TEXT NOT NULL,
        topic TEXT NOT NULL,
        partition_id INTEGER,
        offset_value INTEGER,
        message_key TEXT,
        event_type TEXT NOT NULL,
        event_version INTEGER NOT NULL,
        payload BLOB NOT NULL,
        headers TEXT NOT NULL DEFAULT '{}',
        status TEXT NOT NULL,
        received_at INTEGER NOT NULL,
        locked_until INTEGER,
        attempts INTEGER NOT NULL DEFAULT 0,
        last_error TEXT,
        processed_at INTEGER
    );
    CREATE UNIQUE INDEX inbox_message_id ON inbox_message (consumer_name, message_id);
    CREATE INDEX inbox_pending ON inbox_message (consumer_name, status, received_at)
        WHERE status IN ('RECEIVED', 'FAILED_RETRYABLE')";

const RECEIVE: &str = "
    INSERT INTO inbox_message (consumer_name, message_id, topic, event_type, event_version, payload, status, received_at)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'RECEIVED', CAST(unixepoch('subsec') * 1000 AS INTEGER))
    ON CONFLICT DO NOTHING";

/// SQLite takes a partial index only if its condition stands in the statement word for word.
const CLAIM: &str = "
    UPDATE inbox_message
    SET status = 'IN_PROGRESS', locked_until = unixepoch() * 1000 + 30000, attempts = attempts + 1
    WHERE rowid IN (
        SELECT rowid FROM inbox_message
        WHERE consumer_name = ?1 AND status = 'RECEIVED' AND status IN ('RECEIVED', 'FAILED_RETRYABLE')
          AND (locked_until IS NULL OR locked_until < unixepoch() * 1000)
        ORDER BY received_at LIMIT ?2
    )
    RETURNING rowid, payload";

const COMPLETE: &str = "
    UPDATE inbox_message SET status = 'COMPLETED', processed_at = unixepoch() * 1000, locked_until = NULL
    WHERE rowid = ?1";

/// Pages of the log before it is copied into the file; 64 MB, as the store allows itself.
const CHECKPOINT_PAGES: u32 = 16_384;

/// One connection, and whoever writes has it.
#[derive(Debug)]
pub struct RawSqliteInbox(Arc<Mutex<Connection>>);

impl RawSqliteInbox {
    /// Makes an empty table in a new file at `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let open = || {
            let connection = Connection::open(path)?;
            connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(()))?;
            connection.pragma_update(None, "synchronous", "full")?;
            connection.pragma_update(None, "cache_size", -32_768)?;
            connection.pragma_update_and_check(
                None,
                "wal_autocheckpoint",
                CHECKPOINT_PAGES,
                |_| Ok(()),
            )?;
            connection.execute_batch(TABLE)?;
            Ok(connection)
        };
        let connection = open().map_err(failed)?;
        Ok(Self(Arc::new(Mutex::new(connection))))
    }

    /// Files are waited for elsewhere than where others are served.
    async fn with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Connection) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T> {
        let connection = self.0.clone();
        let done = tokio::task::spawn_blocking(move || {
            // A transaction that panicked was rolled back, so a poisoned lock protects nothing.
            let mut connection = connection.lock().unwrap_or_else(PoisonError::into_inner);
            work(&mut connection).map_err(failed)
        });
        let crashed = |e| Error::new(Kind::Internal, "the raw baseline panicked").caused_by(e);
        done.await.map_err(crashed)?
    }
}

impl Queue for RawSqliteInbox {
    fn name(&self) -> &str {
        "a plain table"
    }

    fn receive(&self, letters: Vec<Letter>) -> Done<'_> {
        Box::pin(self.with(move |connection| receive(connection, &letters)))
    }

    fn deal(&self, max: usize) -> Dealt<'_> {
        Box::pin(async move {
            let claimed = self.with(move |connection| claim(connection, max)).await?;
            let count = claimed.len();
            if count > 0 {
                self.with(move |connection| complete(connection, &claimed))
                    .await?;
            }
            Ok(count)
        })
    }
}

fn receive(connection: &mut Connection, letters: &[Letter]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    let mut insert = transaction.prepare_cached(RECEIVE)?;
    for Letter { id, payload } in letters {
        insert.execute(params![
            CONSUMER,
            id,
            TOPIC,
            KIND,
            VERSION,
            payload.as_slice()
        ])?;
    }
    drop(insert);
    transaction.commit()
}

/// The claimed rows; their payloads are read as a worker would read them.
fn claim(connection: &mut Connection, max: usize) -> rusqlite::Result<Vec<(i64, Vec<u8>)>> {
    let mut update = connection.prepare_cached(CLAIM)?;
    let rows = update.query_map(params![CONSUMER, max], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

fn complete(connection: &mut Connection, claimed: &[(i64, Vec<u8>)]) -> rusqlite::Result<()> {
    let transaction = connection.transaction()?;
    let mut update = transaction.prepare_cached(COMPLETE)?;
    for (row, _payload) in claimed {
        update.execute([row])?;
    }
    drop(update);
    transaction.commit()
}

fn failed(error: rusqlite::Error) -> Error {
    Error::new(Kind::Unavailable, "the raw baseline on SQLite").caused_by(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_finds_its_rows_by_the_index() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(TABLE).unwrap();
        let mut explain = connection
            .prepare(&format!("EXPLAIN QUERY PLAN {CLAIM}"))
            .unwrap();
        let steps = explain.query_map(params![CONSUMER, 1], |row| row.get::<_, String>("detail"));
        let plan: Vec<_> = steps.unwrap().map(Result::unwrap).collect();
        let plan = plan.join("; ");
        assert!(
            plan.contains("INDEX inbox_pending (consumer_name=? AND status=?)"),
            "{plan}"
        );
        assert!(!plan.contains("TEMP B-TREE"), "{plan}");
    }

    #[tokio::test]
    async fn each_letter_is_dealt_with_once_however_often_it_came() {
        let dir = tempfile::tempdir().unwrap();
        let table = RawSqliteInbox::create(&dir.path().join("raw.db")).unwrap();
        let letters: Vec<_> = (0..5).map(|n| Letter::new(1, n)).collect();
        table.receive(letters.clone()).await.unwrap();
        table.receive(letters).await.unwrap();
        let mut dealt = Vec::new();
        for _ in 0..3 {
            dealt.push(table.deal(3).await.unwrap());
        }
        assert_eq!(dealt, [3, 2, 0]);
    }
}
