//! The time that the file knows, which outlives the rows and the processes that it came from.
//!
//! `semel_core::clock` has the rule; this is where its numbers are kept and where leases are moved. All of them stand in
//! `semel_meta`: `clock_ms` is the newest time that was written down by itself, `inbox_ms` that of the newest claim of a
//! message, `doubt_by_ms` and `doubt_since_ms` are a doubt, `refused_ms` is the last one that was refused. The time of
//! the newest claim counts too, unless its fence is at or below `clock_fence`: that claim was made in a time that was
//! refused.

use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};
use semel_core::clock::{Correction, Doubt, Known};
use semel_core::{Result, SteadyClock, Timestamp};

use crate::error::from_sqlite;
use crate::records::run;

/// How old the newest time may be before the sweep writes a newer one down.
const WRITTEN_EVERY: Duration = Duration::from_secs(60);

/// What the file knows at the beginning of a transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileTime {
    /// The highest fence that was ever drawn.
    pub(crate) last_fence: u64,
    pub(crate) known: Known,
}

/// Numbers of `semel_meta`, by name.
#[derive(Debug, Default)]
struct Meta {
    fence_floor: u64,
    clock_fence: u64,
    inbox_ms: i64,
    clock_ms: i64,
    doubt_by_ms: Option<i64>,
    doubt_since_ms: Option<i64>,
    refused_ms: Option<i64>,
}

impl FileTime {
    /// Reads it.
    pub(crate) fn read(connection: &Connection) -> Result<Self> {
        let failed = |e| from_sqlite("reading the time of the file", e);
        let newest = "SELECT fence, claimed_ms FROM semel_claims ORDER BY fence DESC LIMIT 1";
        let mut statement = connection.prepare_cached(newest).map_err(failed)?;
        let newest = statement.query_row([], |row| Ok((row.get(0)?, row.get(1)?)));
        let (fence, claimed_ms): (u64, i64) = newest.optional().map_err(failed)?.unwrap_or((0, 0));
        let meta = Meta::read(connection).map_err(failed)?;
        let claimed_ms = if fence > meta.clock_fence {
            claimed_ms
        } else {
            0
        };
        let newest_ms = claimed_ms.max(meta.inbox_ms).max(meta.clock_ms);
        Ok(Self {
            last_fence: fence.max(meta.fence_floor),
            known: Known {
                newest: (newest_ms > 0).then_some(Timestamp::from_millis(newest_ms)),
                doubt: meta.doubt(),
                refused: meta.refused_ms.map(Timestamp::from_millis),
            },
        })
    }

    /// Does what the clock asks for, in the open transaction.
    pub(crate) fn correct(
        &self,
        connection: &Connection,
        correction: Correction,
        clock: &SteadyClock,
    ) -> Result<()> {
        let now = clock.now();
        let corrected = match correction {
            Correction::None => Ok(()),
            Correction::Begin(doubt, moved) => begin(connection, doubt)
                .and_then(|()| move_ahead(connection, now.before(moved), moved))
                .and_then(|()| set(connection, "clock_ms", now.as_millis())),
            Correction::Accept => end_doubt(connection),
            Correction::Refuse(doubt) => end_doubt(connection)
                .and_then(|()| set(connection, "refused_ms", doubt.since.as_millis()))
                .and_then(|()| move_back(connection, doubt))
                .and_then(|()| self.forget_later_times(connection, now)),
            Correction::Ignore => self.forget_later_times(connection, now),
        };
        corrected.map_err(|e| from_sqlite("correcting the time of the file", e))
    }

    /// Writes the time down if nothing else has lately, so that the next process can tell a restart from a jump.
    pub(crate) fn keep_fresh(&self, connection: &Connection, now: Timestamp) -> Result<()> {
        let is_fresh = |newest| now.since(newest) < WRITTEN_EVERY;
        if self.known.newest.is_none_or(is_fresh) {
            return Ok(());
        }
        set(connection, "clock_ms", now.as_millis())
            .map_err(|e| from_sqlite("writing the time down", e))
    }

    /// Makes `now` the newest time of the file.
    fn forget_later_times(&self, connection: &Connection, now: Timestamp) -> rusqlite::Result<()> {
        set(connection, "clock_ms", now.as_millis())?;
        let fence = i64::try_from(self.last_fence).unwrap_or(i64::MAX);
        set(connection, "clock_fence", fence)?;
        run(
            connection,
            "UPDATE semel_meta SET value = min(value, ?1) WHERE name = 'inbox_ms'",
            params![now.as_millis()],
        )
    }
}

impl Meta {
    fn read(connection: &Connection) -> rusqlite::Result<Self> {
        let mut meta = Self::default();
        // The table has a handful of rows on one page: reading all of them is less work than looking for each.
        let mut statement = connection.prepare_cached("SELECT name, value FROM semel_meta")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            match row.get_ref(0)?.as_str()? {
                "fence_floor" => meta.fence_floor = row.get(1)?,
                "clock_fence" => meta.clock_fence = row.get(1)?,
                "inbox_ms" => meta.inbox_ms = row.get(1)?,
                "clock_ms" => meta.clock_ms = row.get(1)?,
                "doubt_by_ms" => meta.doubt_by_ms = row.get(1)?,
                "doubt_since_ms" => meta.doubt_since_ms = row.get(1)?,
                "refused_ms" => meta.refused_ms = row.get(1)?,
                _other => {}
            }
        }
        Ok(meta)
    }

    fn doubt(&self) -> Option<Doubt> {
        let by_ms = u64::try_from(self.doubt_by_ms?).ok()?;
        Some(Doubt {
            by: Duration::from_millis(by_ms),
            since: Timestamp::from_millis(self.doubt_since_ms?),
        })
    }
}

fn set(connection: &Connection, name: &str, value: i64) -> rusqlite::Result<()> {
    run(
        connection,
        "INSERT INTO semel_meta (name, value) VALUES (?1, ?2) \
         ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        params![name, value],
    )
}

fn begin(connection: &Connection, doubt: Doubt) -> rusqlite::Result<()> {
    set(connection, "doubt_by_ms", sql_ms(doubt.by))?;
    set(connection, "doubt_since_ms", doubt.since.as_millis())
}

fn end_doubt(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "DELETE FROM semel_meta WHERE name IN ('doubt_by_ms', 'doubt_since_ms')";
    run(connection, sql, params![])
}

/// Whatever was alive at `from` is alive by as much after the jump: leases, work in progress, and the patience of lanes.
fn move_ahead(connection: &Connection, from: Timestamp, by: Duration) -> rusqlite::Result<()> {
    for sql in [
        "UPDATE semel_leases SET until_ms = until_ms + ?2 WHERE cause IS NULL AND until_ms > ?1",
        "UPDATE semel_work SET due_ms = due_ms + ?2 WHERE state = 1 AND due_ms > ?1",
        "UPDATE semel_work SET deadline_ms = deadline_ms + ?2 WHERE deadline_ms > ?1",
    ] {
        run(connection, sql, params![from.as_millis(), sql_ms(by)])?;
    }
    Ok(())
}

/// All that was moved by the jump, or written after it.
fn move_back(connection: &Connection, doubt: Doubt) -> rusqlite::Result<()> {
    for sql in [
        "UPDATE semel_leases SET until_ms = until_ms - ?2 WHERE cause IS NULL AND until_ms > ?1",
        "UPDATE semel_work SET due_ms = due_ms - ?2 WHERE due_ms >= ?1",
        "UPDATE semel_work SET deadline_ms = deadline_ms - ?2 WHERE deadline_ms >= ?1",
    ] {
        let values = params![doubt.since.as_millis(), sql_ms(doubt.by)];
        run(connection, sql, values)?;
    }
    Ok(())
}

fn sql_ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
