//! Housekeeping in bounded steps, one process at a time.
//!
//! Ended leases are found through the small table of what is open. Expired records have no index: an index on
//! what a settle writes would make every settle slower. Instead the sweep walks over all records by their
//! fences, a piece at a time, and begins again when it is through.

use std::sync::Weak;
use std::time::Duration;

use semel_core::protocol;
use semel_core::store::{BATCH_MAX, Swept};
use semel_core::{Error, Result};
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::engine::Engine;
use crate::link::{Failure, Link};
use crate::partitions;
use crate::rows::{Stored, sql_ms};
use crate::session::Session;
use crate::value::Value;

/// How many records a step looks at for each that it may take.
const LOOKS: usize = 16;
/// The least that a step looks at.
const LOOKS_MIN: usize = 1_024;
/// The most records that one step of the background sweep touches.
const STEP: usize = 256;
/// The most claims that a step follows.
const FOLLOWED: usize = 8_192;
/// A step that found little is followed by a pause of so many times its length, so that the walk
/// over a large table costs little.
const REST: u32 = 20;

impl Engine {
    /// One bounded step.
    pub(crate) async fn sweep(&self, limit: usize, history_keep: Duration) -> Result<Swept> {
        let failed = |failure: Failure| failure.into_error("sweeping");
        let limit = limit.clamp(1, BATCH_MAX);
        let mut link = self.links.get().await?;
        link.begin().await.map_err(failed)?;
        let mut session = Session::new(&mut link, &self.sql);
        let swept = step(&mut session, limit, history_keep).await;
        let ended = std::mem::take(&mut session.ended);
        let swept = link.end(swept).await.map_err(failed)?;
        self.ended(&ended);
        partitions::keep_up(self, &mut link, history_keep)
            .await
            .map_err(failed)?;
        Ok(swept)
    }
}

async fn step(
    session: &mut Session<'_, Link>,
    limit: usize,
    history_keep: Duration,
) -> Result<Swept, Failure> {
    let sql = session.sql;
    let rows = session.driver.ask(&sql.turn, &[]).await?;
    let turn = rows.first().ok_or_else(|| Failure::from(nothing()))?;
    if turn.number(0)? == 0 {
        return Ok(Swept::default());
    }
    let stood = turn.int(1)?.unwrap_or(0);
    let followed = follow(session).await?;
    let leases_ended = end_leases(session, limit).await?;
    let walked = walk(session, stood, limit, history_keep).await?;
    let now = session.now().await?;
    let keep_ms = i64::try_from(history_keep.as_millis()).unwrap_or(i64::MAX);
    let cutoff = Value::int(now.as_millis().saturating_sub(keep_ms));
    let forgotten = session
        .driver
        .ask(&sql.forget, &[cutoff, count(limit)])
        .await?;
    let messages = session.sweep_inbox(limit).await?;
    Ok(Swept {
        leases_ended,
        deleted: walked.deleted,
        archived: walked.archived,
        events_deleted: forgotten.len(),
        more: !followed
            || leases_ended >= limit
            || forgotten.len() >= limit
            || !walked.through
            || messages,
    })
}

fn nothing() -> Error {
    crate::error::damaged("no answer to a sweep")
}

fn count(n: usize) -> Value {
    Value::int(i64::try_from(n).unwrap_or(i64::MAX))
}

/// Keeps up with the claims; false if more of them wait.
async fn follow(session: &mut Session<'_, Link>) -> Result<bool, Failure> {
    let sql = session.sql;
    let rows = session
        .driver
        .ask(&sql.note_open, &[count(FOLLOWED)])
        .await?;
    let noted = rows.first().map_or(Ok(0), |row| row.number(0))?;
    session
        .driver
        .ask(&sql.drop_open, &[count(FOLLOWED)])
        .await?;
    Ok(usize::try_from(noted).unwrap_or(0) < FOLLOWED)
}

/// Writes down that leases have ended, so that no step of the clock can revive them.
async fn end_leases(session: &mut Session<'_, Link>, limit: usize) -> Result<usize, Failure> {
    let sql = session.sql;
    let rows = session.driver.ask(&sql.ended, &[count(limit)]).await?;
    let now = session.now().await?;
    for row in &rows {
        let stored = Stored::of(row, None)?;
        if let Some(record) = &stored.record {
            let (identity, step) = (
                record.identity.clone(),
                protocol::sweep_lease(Some(record), now),
            );
            session
                .finish(&identity, Some(&stored), step, stored.nonce, now)
                .await?;
        }
    }
    Ok(rows.len())
}

struct Walked {
    deleted: usize,
    archived: usize,
    /// Whether the walk has come to its end; the next one begins anew.
    through: bool,
}

async fn walk(
    session: &mut Session<'_, Link>,
    stood: i64,
    limit: usize,
    bars_keep: Duration,
) -> Result<Walked, Failure> {
    let sql = session.sql;
    let looks = (limit * LOOKS).max(LOOKS_MIN);
    let rows = session
        .driver
        .ask(&sql.walk, &[Value::int(stood), count(looks)])
        .await?;
    let (mut due, mut stands): (Vec<Uuid>, i64) = (Vec::new(), stood);
    for row in &rows {
        if due.len() == limit {
            break;
        }
        stands = row.number(0)?;
        if row.int(2)? == Some(1) {
            due.push(row.digest(1)?);
        }
    }
    let through = due.len() < limit && rows.len() < looks;
    let (mut archived, mut deleted) = (0, 0);
    if !due.is_empty() {
        let params = [Value::Uuids(due), Value::int(sql_ms(bars_keep))];
        let rows = session.driver.ask(&sql.retire, &params).await?;
        let row = rows.first().ok_or_else(|| Failure::from(nothing()))?;
        archived = usize::try_from(row.number(0)?).unwrap_or(0);
        deleted = usize::try_from(row.number(1)?).unwrap_or(0) - archived;
    }
    let stands = if through { 0 } else { stands };
    session
        .driver
        .ask(&sql.stand, &[Value::int(stands)])
        .await?;
    Ok(Walked {
        deleted,
        archived,
        through,
    })
}

/// Sweeps every `interval` until the store is gone.
pub(crate) async fn run(engine: Weak<Engine>, interval: Duration, history_keep: Duration) {
    let mut pause = interval;
    loop {
        sleep(pause).await;
        let Some(engine) = engine.upgrade() else {
            return;
        };
        let began = Instant::now();
        let swept = engine.sweep(STEP, history_keep).await;
        if let Some(watch) = &engine.watch {
            watch.swept(swept.as_ref());
        }
        // A store that cannot be swept now is swept next time; callers hear of it by themselves.
        pause = match swept {
            Ok(swept) if swept.more => {
                let much = swept.deleted + swept.archived + swept.leases_ended >= STEP / 2;
                began.elapsed() * if much { 1 } else { REST }
            }
            Ok(_) | Err(_) => interval.max(began.elapsed() * REST),
        };
    }
}
