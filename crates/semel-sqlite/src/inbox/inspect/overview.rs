//! What people see of an inbox as a whole: counts, gaps.

use std::collections::BTreeMap;

use rusqlite::{Connection, params};
use semel_core::inbox::{Counts, Gap, State};
use semel_core::store::PAGE_MAX;
use semel_core::{Key, Result, Scope, Tenant, Timestamp};

use super::super::notes;
use super::super::pauses::pause_of;
use super::super::sql::{self, SqlState, Values};
use super::messages::scope;
use crate::error::damaged;

/// The most ranges of missing versions that one gap shows.
const RANGES_MAX: usize = 100;

/// Counts of every consumer.
pub(in crate::inbox) fn counts(connection: &Connection, now: Timestamp) -> Result<Vec<Counts>> {
    let sql =
        "SELECT consumer, scope, version, paused_ms, paused_by, paused_reason FROM semel_consumers";
    let consumers = sql::all(connection, sql, &[], |row| {
        let name: String = row.get(1)?;
        Ok((row.get(0)?, name, row.get(2)?, pause_of(row, 3)?))
    })?;
    let mut counts: BTreeMap<i64, (Counts, Option<i64>)> = BTreeMap::new();
    for (number, name, version, paused) in consumers {
        let mut none = Counts::none(scope(&name, version)?);
        none.paused = paused;
        counts.insert(number, (none, None));
    }
    // What stands still is counted in its index, whatever else is in the table.
    for sql in [
        "SELECT consumer, state, count(*), min(number), 0 FROM semel_work \
         WHERE due_ms IS NULL AND ?1 IS NOT NULL GROUP BY state, consumer",
        "SELECT consumer, state, count(*), min(number), sum(due_ms <= ?1) FROM semel_work \
         WHERE due_ms IS NOT NULL GROUP BY consumer, state",
    ] {
        let groups = sql::all(connection, sql, params![now.as_millis()], |row| {
            let state: SqlState = row.get(1)?;
            Ok((row.get(0)?, state.0, row.get(2)?, row.get(3)?, row.get(4)?))
        })?;
        for (consumer, state, count, first, past) in groups {
            if let Some((counts, oldest)) = counts.get_mut(&consumer) {
                add(
                    counts,
                    oldest,
                    Group {
                        state,
                        count,
                        first,
                        past,
                    },
                );
            }
        }
    }
    let mut all = Vec::with_capacity(counts.len());
    for (mut counts, oldest) in counts.into_values() {
        counts.oldest_pending = received_at(connection, oldest)?;
        all.push(counts);
    }
    all.sort_by(|a, b| a.consumer.cmp(&b.consumer));
    Ok(all)
}

/// Work of one consumer in one state.
struct Group {
    state: State,
    count: u64,
    /// The lowest number.
    first: i64,
    /// How much of it has been due.
    past: u64,
}

fn add(counts: &mut Counts, oldest: &mut Option<i64>, group: Group) {
    match group.state {
        State::Received => counts.received += group.count,
        State::InProgress => {
            counts.in_progress += group.count;
            counts.stale += group.past;
        }
        State::FailedRetryable => counts.failed_retryable += group.count,
        State::FailedTerminal => counts.failed_terminal += group.count,
        State::Parked => counts.parked += group.count,
        State::SkippedDuplicate => counts.skipped += group.count,
        State::Completed => {}
    }
    if matches!(
        group.state,
        State::Received | State::InProgress | State::FailedRetryable
    ) {
        // Numbers are drawn in the order of arrival.
        *oldest = Some(oldest.map_or(group.first, |oldest| oldest.min(group.first)));
    }
}

fn received_at(connection: &Connection, number: Option<i64>) -> Result<Option<Timestamp>> {
    let Some(number) = number else {
        return Ok(None);
    };
    let sql = "SELECT received_ms FROM semel_messages WHERE number = ?1";
    let found = sql::one(connection, sql, params![number], |row| row.get(0))?;
    Ok(found.map(Timestamp::from_millis))
}

/// The lanes of a consumer that wait for versions.
pub(in crate::inbox) fn gaps(
    connection: &Connection,
    consumer: &Scope,
    limit: usize,
) -> Result<Vec<Gap>> {
    let Some(number) = notes::number_of(connection, consumer)? else {
        return Ok(Vec::new());
    };
    let sql = "SELECT lane, tenant, min(deadline_ms) FROM semel_work WHERE consumer = ?1 \
               AND cause IN ('gap', 'gap-expired') AND lane IS NOT NULL \
               GROUP BY lane, tenant ORDER BY lane, tenant LIMIT ?2";
    let limit = limit.min(PAGE_MAX);
    let lanes = sql::all(connection, sql, params![number, limit], |row| {
        Ok((
            row.get::<_, String>(0)?,
            row.get::<_, String>(1)?,
            row.get(2)?,
        ))
    })?;
    let mut gaps = Vec::with_capacity(lanes.len());
    for (lane, tenant, deadline_ms) in lanes {
        let at: Values<'_> = params![number, lane, tenant];
        let (done, missing) = missing(connection, at)?;
        let Some((first, _)) = missing.first() else {
            // What was missing has arrived and is being dealt with.
            continue;
        };
        let waiting = waiting(connection, at, *first)?;
        let broken = |e| damaged("a lane breaks the rules").caused_by(e);
        gaps.push(Gap {
            consumer: consumer.clone(),
            lane: Key::new(&lane).map_err(broken)?,
            tenant: Tenant::new(&tenant).map_err(broken)?,
            done,
            missing,
            waiting,
            deadline: Option::<i64>::map(deadline_ms, Timestamp::from_millis),
        });
    }
    Ok(gaps)
}

/// How many wait for a version that is missing, in the lane of these values.
fn waiting(connection: &Connection, lane: Values<'_>, missing: u64) -> Result<u64> {
    let sql = "SELECT count(*) FROM semel_work \
               WHERE consumer = ?1 AND lane = ?2 AND tenant = ?3 AND sequence > ?4 AND state <> 6";
    let values = [lane, params![missing]].concat();
    let found = sql::one(connection, sql, &values, |row| row.get(0))?;
    Ok(found.unwrap_or(0))
}

type Missing = (Option<u64>, Vec<(u64, u64)>);

/// How far a lane has come, and the ranges of versions that neither stand in it nor were passed.
fn missing(connection: &Connection, lane: Values<'_>) -> Result<Missing> {
    let sql = "SELECT done FROM semel_lanes WHERE consumer = ?1 AND lane = ?2 AND tenant = ?3";
    let done = sql::one(connection, sql, lane, |row| row.get(0))?;
    let done: i64 = done.unwrap_or(-1);
    let mut next = u64::try_from(done + 1).unwrap_or(0);
    let sql = "SELECT DISTINCT sequence FROM semel_work \
               WHERE consumer = ?1 AND lane = ?2 AND tenant = ?3 AND sequence > ?4 ORDER BY sequence";
    let values = [lane, params![done]].concat();
    let present = sql::all(connection, sql, &values, |row| row.get::<_, u64>(0))?;
    let mut ranges = Vec::new();
    for sequence in present {
        if sequence > next {
            ranges.push((next, sequence - 1));
        }
        next = sequence + 1;
        if ranges.len() == RANGES_MAX {
            break;
        }
    }
    Ok((u64::try_from(done).ok(), ranges))
}
