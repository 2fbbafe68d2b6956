//! Fences, which outlive the rows that they came from.

use rusqlite::{Connection, params};
use semel_core::{Fence, Timestamp};

use crate::records::run;

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
