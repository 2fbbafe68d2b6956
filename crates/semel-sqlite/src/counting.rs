//! What operators count. How many records there are must not decide how long it takes: running and unknown records stand in the small table of
//! leases, and of settled and archived ones the first [`COUNTED_MAX`] are counted; where there are more, samples tell how many there may be.

use rusqlite::{Connection, params};
use semel_core::store::Stats;
use semel_core::{Result, Timestamp};

use crate::error::from_sqlite;

/// Above so many rows, settled and archived records are estimated instead of counted.
pub(crate) const COUNTED_MAX: u64 = 100_000;
/// Into so many parts the fences of a table are divided, each of which is sampled at its beginning.
const PARTS: i64 = 64;
/// So many rows are one sample.
const SAMPLE: u64 = 512;

pub(crate) const RUNNING: &str = "SELECT count(*), min(c.claimed_ms) FROM semel_leases l JOIN semel_claims c USING (fence) \
     WHERE l.cause IS NULL AND l.until_ms > ?1";
pub(crate) const UNKNOWN: &str = "SELECT count(*), min(coalesce(since_ms, until_ms)) FROM semel_leases \
     WHERE cause IS NOT NULL OR until_ms <= ?1";
const LATE: &str = "SELECT count(*) FROM semel_history WHERE event = 'late-outcome'";
const BYTES: &str = "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size";

/// How the rows of a table are counted that has one for each of some fences.
pub(crate) struct Table {
    /// Up to ?1 of them.
    pub(crate) first: &'static str,
    /// The lowest fence and the highest.
    pub(crate) ends: &'static str,
    /// The ?3 lowest from ?1 up to, and without, ?2: how many there are, and the highest of them.
    pub(crate) sample: &'static str,
}

macro_rules! table {
    ($name:literal) => {
        Table {
            first: concat!("SELECT count(*) FROM (SELECT 1 FROM ", $name, " LIMIT ?1)"),
            ends: concat!(
                "SELECT (SELECT min(fence) FROM ",
                $name,
                "), (SELECT max(fence) FROM ",
                $name,
                ")"
            ),
            sample: concat!(
                "SELECT count(*), max(fence) FROM (SELECT fence FROM ",
                $name,
                " WHERE fence >= ?1 AND fence < ?2 ORDER BY fence LIMIT ?3)"
            ),
        }
    };
}

pub(crate) const OUTCOMES: Table = table!("semel_outcomes");
pub(crate) const ARCHIVE: Table = table!("semel_archive");

/// Counts for operators. Each statement sees a snapshot of its own, so that none keeps the log from starting over for longer than it takes.
pub(crate) fn stats(connection: &Connection, now: Timestamp) -> Result<Stats> {
    counted(connection, now).map_err(|e| from_sqlite("counting", e))
}

fn counted(connection: &Connection, now: Timestamp) -> rusqlite::Result<Stats> {
    let leases = |sql: &str| -> rusqlite::Result<(u64, Option<Timestamp>)> {
        let mut statement = connection.prepare_cached(sql)?;
        statement.query_row(params![now.as_millis()], |row| {
            let at: Option<i64> = row.get(1)?;
            Ok((row.get(0)?, at.map(Timestamp::from_millis)))
        })
    };
    let one = |sql: &str| -> rusqlite::Result<u64> {
        let mut statement = connection.prepare_cached(sql)?;
        statement.query_row([], |row| row.get(0))
    };
    let (running, oldest_running) = leases(RUNNING)?;
    let (unknown, oldest_unknown) = leases(UNKNOWN)?;
    Ok(Stats {
        running,
        unknown,
        settled: OUTCOMES.rows(connection, COUNTED_MAX)?,
        archived: ARCHIVE.rows(connection, COUNTED_MAX)?,
        late_outcomes: one(LATE)?,
        oldest_running,
        oldest_unknown,
        bytes: Some(one(BYTES)?),
    })
}

impl Table {
    /// How many rows there are: up to `max` exactly, above it an estimate.
    fn rows(&self, connection: &Connection, max: u64) -> rusqlite::Result<u64> {
        let mut first = connection.prepare_cached(self.first)?;
        let counted: u64 = first.query_row(params![max + 1], |row| row.get(0))?;
        match counted > max {
            true => Ok(self.estimated(connection)?.max(counted)),
            false => Ok(counted),
        }
    }

    /// Fences are drawn in their order, and gaps in them are spread as traffic is: a part is taken to be as dense as its beginning.
    fn estimated(&self, connection: &Connection) -> rusqlite::Result<u64> {
        let mut ends = connection.prepare_cached(self.ends)?;
        let ends = ends.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let (Some(lowest), Some(highest)): (Option<i64>, Option<i64>) = ends else {
            return Ok(0);
        };
        let width = (highest.saturating_sub(lowest) / PARTS).saturating_add(1);
        let mut sample = connection.prepare_cached(self.sample)?;
        let mut all = 0.0;
        for part in 0..PARTS {
            let from = lowest.saturating_add(width.saturating_mul(part));
            let to = from.saturating_add(width);
            let (rows, last): (u64, Option<i64>) = sample
                .query_row(params![from, to, SAMPLE], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
            all += match last {
                // The sample did not end with the part: the rest of the part is like it.
                Some(last) if rows == SAMPLE => {
                    let seen = last.saturating_sub(from).saturating_add(1);
                    rows as f64 * (width as f64 / seen as f64)
                }
                _ => rows as f64,
            };
        }
        Ok(all as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inbox::tests::{plan, tables};

    /// Outcomes with every fence up to `highest` but those that `gap` leaves out.
    fn filled(highest: i64, gap: &str) -> Connection {
        let connection = tables();
        let sql = format!(
            "WITH RECURSIVE n(fence) AS (SELECT 1 UNION ALL SELECT fence + 1 FROM n WHERE fence < {highest}) \
             INSERT INTO semel_outcomes (fence, expires_ms, settled_ms, took_ms, flags, status) \
             SELECT fence, 1, 1, 1, 0, 200 FROM n WHERE {gap}"
        );
        connection.execute_batch(&sql).unwrap();
        connection
    }

    fn rows(connection: &Connection, max: u64) -> u64 {
        OUTCOMES.rows(connection, max).unwrap()
    }

    #[test]
    fn few_records_are_counted_and_many_are_estimated() {
        assert_eq!(rows(&tables(), 10), 0);
        for (gap, exact) in [
            ("true", 200_000),
            ("fence % 4 = 0", 50_000),
            // Retention has deleted the older half of them.
            ("fence > 100000", 100_000),
        ] {
            let connection = filled(200_000, gap);
            assert_eq!(rows(&connection, exact), exact, "{gap}");
            let estimated = rows(&connection, 1_000);
            let off = estimated.abs_diff(exact);
            assert!(off * 20 <= exact, "{gap}: {estimated} for {exact}");
        }
    }

    #[test]
    fn counts_touch_a_bounded_number_of_rows() {
        let connection = tables();
        for (sql, values, expected) in [
            (RUNNING, 1, "c USING INTEGER PRIMARY KEY (rowid=?)"),
            (UNKNOWN, 1, "SCAN semel_leases"),
            (
                OUTCOMES.first,
                1,
                "semel_outcomes USING COVERING INDEX semel_outcomes_by_expiry",
            ),
            (ARCHIVE.first, 1, "SCAN semel_archive"),
            (
                OUTCOMES.sample,
                3,
                "semel_outcomes USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            ),
            (
                ARCHIVE.sample,
                3,
                "semel_archive USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)",
            ),
            (
                LATE,
                0,
                "semel_history USING COVERING INDEX semel_history_late",
            ),
            (BYTES, 0, "pragma_page_count"),
        ] {
            let found = plan(&connection, sql, values);
            assert!(found.contains(expected), "{found}");
        }
    }
}
