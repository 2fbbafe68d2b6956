//! What people see of lanes in which messages wait for others.

use rusqlite::{Connection, params};
use semel_core::inbox::WaitingLane;
use semel_core::inbox::seen::WAITING_MAX;
use semel_core::store::PAGE_MAX;
use semel_core::{Result, Scope, Timestamp};

use super::super::notes;
use super::super::sql;
use super::messages::entry;
use crate::reader::Snapshot;

/// The lanes of the oldest messages that wait. Each state is looked up in the index of what stands still, in the order of arrival.
const LANES: &str = "SELECT lane, tenant, min(number) FROM ( \
     SELECT * FROM (SELECT lane, tenant, number FROM semel_work \
         WHERE state = 0 AND consumer = ?1 AND due_ms IS NULL AND lane IS NOT NULL ORDER BY number LIMIT ?2) \
     UNION ALL \
     SELECT * FROM (SELECT lane, tenant, number FROM semel_work \
         WHERE state = 5 AND consumer = ?1 AND due_ms IS NULL AND lane IS NOT NULL \
           AND cause IN ('gap', 'gap-expired', 'behind-failed') ORDER BY number LIMIT ?2)) \
     GROUP BY lane, tenant ORDER BY 3 LIMIT ?3";

/// The first row of a lane that is no mark, and when the oldest that waits was received.
const HEAD: &str = "SELECT w.number, w.sequence, (SELECT m.received_ms FROM semel_messages m WHERE m.number = ?4) \
     FROM semel_work w WHERE w.consumer = ?1 AND w.lane = ?2 AND w.tenant = ?3 AND w.state <> 6 \
     ORDER BY w.sequence, w.number LIMIT 1";

/// How many wait behind a row of a lane.
const BEHIND: &str = "SELECT count(*) FROM (SELECT 1 FROM semel_work \
     WHERE consumer = ?1 AND lane = ?2 AND tenant = ?3 AND (sequence, number) > (?4, ?5) AND due_ms IS NULL \
       AND (state = 0 OR (state = 5 AND cause IN ('gap', 'gap-expired', 'behind-failed'))) LIMIT ?6)";

/// The lanes of a consumer in which messages wait for others.
pub(in crate::inbox) fn waiting_lanes(
    connection: &Connection,
    consumer: &Scope,
    limit: usize,
) -> Result<Vec<WaitingLane>> {
    let _snapshot = Snapshot::unless_open(connection);
    let Some(consumer) = notes::number_of(connection, consumer)? else {
        return Ok(Vec::new());
    };
    let values = params![consumer, WAITING_MAX, limit.min(PAGE_MAX)];
    let found = sql::all(connection, LANES, values, |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    let lanes = found
        .into_iter()
        .map(|place| lane(connection, consumer, place));
    // A lane without a row that is no mark holds nothing up.
    lanes.filter_map(Result::transpose).collect()
}

fn lane(
    connection: &Connection,
    consumer: i64,
    (lane, tenant, oldest): (String, String, i64),
) -> Result<Option<WaitingLane>> {
    let values = params![consumer, lane, tenant, oldest];
    let head = sql::one(connection, HEAD, values, |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?))
    })?;
    let Some((number, sequence, received_ms)): Option<(i64, i64, i64)> = head else {
        return Ok(None);
    };
    let values = params![consumer, lane, tenant, sequence, number, WAITING_MAX];
    let waiting = sql::one(connection, BEHIND, values, |row| row.get(0))?;
    let head = entry(connection, number)?;
    Ok(head.map(|head| WaitingLane {
        head,
        waiting: waiting.unwrap_or(0),
        oldest: Timestamp::from_millis(received_ms),
    }))
}
