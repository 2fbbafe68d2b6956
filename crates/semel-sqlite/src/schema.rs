//! The schema and its migrations: applied in order, each once, never past what this version knows.

use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};
use semel_core::{Error, Kind, Result};

use crate::config::Config;
use crate::error::from_sqlite;

/// The migrations in order; a file at version `n` has had the first `n`.
const MIGRATIONS: [&str; 9] = [
    include_str!("../migrations/0001_records.sql"),
    include_str!("../migrations/0002_bars.sql"),
    include_str!("../migrations/0003_inbox.sql"),
    include_str!("../migrations/0004_counts.sql"),
    include_str!("../migrations/0005_lanes.sql"),
    include_str!("../migrations/0006_known.sql"),
    include_str!("../migrations/0007_positions.sql"),
    include_str!("../migrations/0008_edits.sql"),
    include_str!("../migrations/0009_erased.sql"),
];
/// The oldest version whose tables are this version's, so that it can be looked at as it is.
const SAME_TABLES_SINCE: usize = 9;

/// Refuses, before anything is written, a file that a newer version wrote, and one that is no store
/// of ours where it was to be one.
pub(crate) fn check(connection: &Connection, config: &Config) -> Result<()> {
    match version(connection).map_err(|e| from_sqlite("reading the schema's version", e))? {
        0 if !config.create => {
            let path = config.path.display();
            Err(Error::invalid(format!("{path} is no Semel store")))
        }
        found if found > MIGRATIONS.len() => Err(newer(found)),
        found if !config.create && found < SAME_TABLES_SINCE => Err(older(found)),
        _ => Ok(()),
    }
}

/// Looking changes nothing: the Semel that serves the file may be older, and would not start again.
fn older(found: usize) -> Error {
    let known = MIGRATIONS.len();
    Error::invalid(format!(
        "the store has schema version {found}, this Semel looks at versions {SAME_TABLES_SINCE} to {known}; \
         nothing was changed, look with the version of Semel that serves it, or let `semel serve` of this one bring \
         it up to date"
    ))
}

/// Brings the file to this version's schema; refuses one that a newer version wrote.
pub(crate) fn migrate(connection: &mut Connection) -> Result<()> {
    let failed = |e| from_sqlite("bringing the schema up to date", e);
    if version(connection).map_err(failed)? == MIGRATIONS.len() {
        return Ok(());
    }
    // The lock is taken before the version is read again: two processes may start at once.
    let behavior = TransactionBehavior::Immediate;
    let transaction = connection
        .transaction_with_behavior(behavior)
        .map_err(failed)?;
    let found = version(&transaction).map_err(failed)?;
    if found > MIGRATIONS.len() {
        return Err(newer(found));
    }
    for migration in &MIGRATIONS[found..] {
        transaction.execute_batch(migration).map_err(failed)?;
    }
    set_version(&transaction, MIGRATIONS.len()).map_err(failed)?;
    transaction.commit().map_err(failed)
}

fn newer(found: usize) -> Error {
    let known = MIGRATIONS.len();
    Error::new(
        Kind::NewerVersion,
        format!(
            "the store has schema version {found}, this Semel knows up to {known}; \
             nothing was changed, use the version of Semel that wrote it or a later one"
        ),
    )
}

/// The version is kept in a table of ours, because `user_version` belongs to whoever owns the file.
fn version(connection: &Connection) -> rusqlite::Result<usize> {
    let exists = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'semel_meta'";
    if connection
        .query_row(exists, [], |_| Ok(()))
        .optional()?
        .is_none()
    {
        return Ok(0);
    }
    let version = "SELECT value FROM semel_meta WHERE name = 'schema_version'";
    let version = connection
        .query_row(version, [], |row| row.get(0))
        .optional()?;
    Ok(version.unwrap_or(0))
}

fn set_version(connection: &Connection, version: usize) -> rusqlite::Result<()> {
    let sql = "INSERT OR REPLACE INTO semel_meta (name, value) VALUES ('schema_version', ?1)";
    connection.execute(sql, params![version]).map(drop)
}
