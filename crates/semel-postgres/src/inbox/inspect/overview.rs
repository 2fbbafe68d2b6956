//! Counts, gaps and the audit.

use semel_core::inbox::{Counts, Gap, Pause};
use semel_core::{Error, Key, Result, Scope, Tenant, Timestamp};

use super::super::rows::unsigned;
use crate::engine::Engine;
use crate::error::damaged;
use crate::value::{Row, Value};

/// Messages of one consumer in one state are counted up to here.
const COUNTED_MAX: i64 = 1_000_000;
/// The most lanes with gaps, and the most lines of the audit, of one answer.
const LINES_MAX: usize = 10_000;
/// The most ranges of missing versions of one lane.
const MISSING_MAX: usize = 100;

impl Engine {
    /// Counts for operators.
    pub(crate) async fn message_counts(&self) -> Result<Vec<Counts>> {
        let params = [Value::int(COUNTED_MAX)];
        let sql = &self.sql.inbox.counts;
        let rows = self.read("counting messages", sql, &params).await?;
        rows.iter().map(counts_of).collect()
    }

    /// Which versions lanes wait for.
    pub(crate) async fn gaps(&self, consumer: &Scope, limit: usize) -> Result<Vec<Gap>> {
        let limit = limit.min(LINES_MAX);
        let params = [
            Value::text(consumer.to_string()),
            Value::int(i64::try_from(limit).unwrap_or(i64::MAX)),
            Value::int(i64::try_from(MISSING_MAX + 1).unwrap_or(i64::MAX)),
        ];
        let sql = &self.sql.inbox.gaps;
        let rows = self.read("looking for gaps", sql, &params).await?;
        let mut gaps: Vec<(Gap, i64)> = Vec::new();
        for row in &rows {
            let (lane, tenant) = (row.word(0)?, row.word(1)?);
            let is_other = |gap: &Gap| (gap.lane.as_str(), gap.tenant.as_str()) != (lane, tenant);
            if gaps.last().is_none_or(|(gap, _)| is_other(gap)) {
                gaps.push(nothing_missing(consumer, row)?);
            }
            if let Some((gap, next)) = gaps.last_mut() {
                range(gap, next, row)?;
            }
        }
        let missing = gaps.into_iter().map(|(gap, _)| gap);
        Ok(missing.filter(|gap| !gap.missing.is_empty()).collect())
    }
}

fn scope_of(row: &Row, at: usize) -> Result<Scope> {
    let parsed = row.word(at)?.parse();
    parsed.map_err(|e: Error| damaged("a consumer breaks the rules").caused_by(e))
}

fn counts_of(row: &Row) -> Result<Counts> {
    let count = |at| Ok::<_, Error>(unsigned(row.int(at)?).unwrap_or(0));
    Ok(Counts {
        consumer: scope_of(row, 0)?,
        received: count(1)?,
        in_progress: count(2)?,
        stale: count(3)?,
        failed_retryable: count(4)?,
        failed_terminal: count(5)?,
        parked: count(6)?,
        skipped: count(7)?,
        at_least: row.number(12)? != 0,
        oldest_pending: row.int(8)?.map(Timestamp::from_millis),
        paused: pause_of(row)?,
    })
}

fn pause_of(row: &Row) -> Result<Option<Pause>> {
    let Some(at_ms) = row.int(9)? else {
        return Ok(None);
    };
    Ok(Some(Pause {
        at: Timestamp::from_millis(at_ms),
        by: row.text(10)?.unwrap_or_default().to_owned(),
        reason: row.text(11)?.map(str::to_owned),
    }))
}

/// The lane of a row, and the version that comes next in it.
fn nothing_missing(consumer: &Scope, row: &Row) -> Result<(Gap, i64)> {
    let broken = |e| damaged("a lane breaks the rules").caused_by(e);
    let lane = Key::new(row.word(0)?).map_err(broken)?;
    let done = row.int(2)?;
    let gap = Gap {
        consumer: consumer.clone(),
        tenant: Tenant::new(row.word(1)?).map_err(broken)?,
        lane,
        done: unsigned(done),
        missing: Vec::new(),
        waiting: 0,
        deadline: None,
    };
    Ok((gap, done.unwrap_or(-1) + 1))
}

/// Goes on to a range of versions that are there.
fn range(gap: &mut Gap, next: &mut i64, row: &Row) -> Result<()> {
    let (first, last, count) = (row.number(3)?, row.number(4)?, row.number(5)?);
    if first > *next && gap.missing.len() < MISSING_MAX {
        let ends = unsigned(Some(*next)).zip(unsigned(Some(first - 1)));
        gap.missing.extend(ends);
    }
    if !gap.missing.is_empty() {
        gap.waiting += unsigned(Some(count)).unwrap_or(0);
        let deadline = row.int(6)?.map(Timestamp::from_millis);
        gap.deadline = gap.deadline.into_iter().chain(deadline).min();
    }
    *next = last + 1;
    Ok(())
}
