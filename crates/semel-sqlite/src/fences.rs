//! Fences and the time of the newest claim, which outlive the rows that they came from.

use rusqlite::{Connection, OptionalExtension, params};
use semel_core::{Fence, Result, Timestamp};

use crate::error::from_sqlite;
use crate::rows::run;

/// Writes a fence down before its row goes, so that it is never drawn again.
pub(crate) fn keep(connection: &Connection, fence: Fence) -> rusqlite::Result<()> {
    run(
        connection,
        "INSERT INTO semel_meta (name, value) VALUES ('fence_floor', ?1) \
         ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
        params![fence.get()],
    )
}

/// The same for claims of messages, which have no row among the claims until they are settled; and when they were made.
pub(crate) fn keep_claimed(
    connection: &Connection,
    last: u64,
    now: Timestamp,
) -> rusqlite::Result<()> {
    run(
        connection,
        "INSERT INTO semel_meta (name, value) VALUES ('fence_floor', ?1), ('inbox_ms', ?2) \
         ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
        params![last, now.as_millis()],
    )
}

/// The highest fence that was ever drawn, and the time of the newest claim.
pub(crate) fn newest(connection: &Connection) -> Result<(u64, i64)> {
    let failed = |e| from_sqlite("drawing a fence", e);
    let newest = "SELECT fence, claimed_ms FROM semel_claims ORDER BY fence DESC LIMIT 1";
    let mut statement = connection.prepare_cached(newest).map_err(failed)?;
    let newest = statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?)));
    let (fence, at_ms): (u64, i64) = newest.optional().map_err(failed)?.unwrap_or((0, 0));
    let kept = "SELECT coalesce(max(iif(name = 'fence_floor', value, 0)), 0), \
                       coalesce(max(iif(name = 'inbox_ms', value, 0)), 0) \
                FROM semel_meta WHERE name IN ('fence_floor', 'inbox_ms')";
    let mut statement = connection.prepare_cached(kept).map_err(failed)?;
    let kept = statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?)));
    let (floor, inbox_ms): (u64, i64) = kept.map_err(failed)?;
    Ok((fence.max(floor), at_ms.max(inbox_ms)))
}
