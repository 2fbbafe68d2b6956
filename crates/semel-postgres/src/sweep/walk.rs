//! Expired records, range by range.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use semel_core::Result;

use super::{RANGE, Step, YOUNG, count, first, size};
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::records::sql_ms;
use crate::value::{Row, Value};

/// The most ranges that one step walks over.
const RANGES: usize = 16;
/// A range is looked at again after this time, whatever its records say, and then in longer and longer intervals: rows may have been
/// committed long after their fences were drawn.
pub(super) const AGAIN_FIRST: Duration = Duration::from_secs(300);
/// A range whose rows another transaction holds is walked over again after this time.
const HELD: Duration = Duration::from_secs(1);
/// Later than anything ends.
const NEVER_MS: i64 = 1 << 60;

/// How many records a walk looks at: fewer after one that the server did not finish in time.
#[derive(Debug)]
pub(crate) struct Pace(AtomicUsize);

impl Default for Pace {
    fn default() -> Self {
        Self(AtomicUsize::new(RANGE))
    }
}

impl Pace {
    pub(super) fn records(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }

    pub(super) fn slower(&self) {
        self.0.store((self.records() / 4).max(1), Ordering::Relaxed);
    }

    fn faster(&self) {
        self.0
            .store((self.records() * 2).min(RANGE), Ordering::Relaxed);
    }
}

/// A range that only this process walks over.
#[derive(Debug, Clone, Copy)]
struct Range {
    /// The fence before its first.
    above: i64,
    upto: i64,
    made_ms: i64,
    /// How many it had at the last look.
    records: usize,
}

impl Range {
    fn of(row: &Row) -> Result<Self> {
        Ok(Self {
            upto: row.number(0)?,
            above: row.number(1)?,
            made_ms: row.number(2)?,
            records: size(row, 3)?,
        })
    }
}

/// What one statement found and did.
#[derive(Debug, Clone, Copy)]
struct Walked {
    archived: usize,
    settled: usize,
    barred: usize,
    removed: usize,
    due: usize,
    seen: usize,
    last_fence: i64,
    /// When the first retention ends of those that have not.
    ends_ms: Option<i64>,
    now_ms: i64,
}

impl Walked {
    fn of(row: &Row) -> Result<Self> {
        Ok(Self {
            archived: size(row, 0)?,
            settled: size(row, 1)?,
            barred: size(row, 2)?,
            removed: size(row, 3)?,
            due: size(row, 4)?,
            seen: size(row, 5)?,
            last_fence: row.int(6)?.unwrap_or(0),
            ends_ms: row.int(7)?,
            now_ms: row.number(8)?,
        })
    }

    const fn add_to(&self, step: &mut Step) {
        step.swept.archived += self.archived;
        step.swept.deleted += self.settled + self.barred - self.archived;
    }

    /// Whether what was due is still there, because another transaction held it.
    const fn left_some(&self) -> bool {
        self.removed + self.barred < self.due
    }

    /// What is known about the records that are left. A range in which more are found than there were is as good as new: others may follow.
    fn known(&self, range: Range, bars_keep_ms: i64) -> Known {
        let made_ms = match self.seen > range.records {
            true => self.now_ms,
            false => range.made_ms,
        };
        let mut ends_ms = self.ends_ms.unwrap_or(NEVER_MS);
        if self.barred > 0 {
            ends_ms = ends_ms.min(self.now_ms.saturating_add(bars_keep_ms));
        }
        if self.left_some() {
            ends_ms = ends_ms.min(self.now_ms.saturating_add(sql_ms(HELD)));
        }
        Known {
            ends_ms,
            walk_ms: walk_ms(self.now_ms, made_ms, ends_ms),
            made_ms,
            records: i64::try_from(self.seen - self.removed).unwrap_or(i64::MAX),
        }
    }
}

/// What a range says about its records.
#[derive(Debug, Clone, Copy)]
struct Known {
    ends_ms: i64,
    walk_ms: i64,
    made_ms: i64,
    records: i64,
}

impl Known {
    fn values(&self, upto: i64) -> [Value; 5] {
        [upto, self.ends_ms, self.walk_ms, self.made_ms, self.records].map(Value::int)
    }
}

/// When a range is walked over next. A walk waits for an eighth of the time that the range has lasted beyond its first end, so that it
/// finds many and not one by one: what is deleted late costs space only, and never more than an eighth.
fn walk_ms(now_ms: i64, made_ms: i64, ends_ms: i64) -> i64 {
    let lasted = ends_ms.saturating_sub(made_ms).max(0);
    let worth_it = ends_ms.saturating_add(lasted / 8).saturating_add(1_000);
    let again = sql_ms(AGAIN_FIRST).max(now_ms.saturating_sub(made_ms).saturating_mul(4));
    worth_it.min(now_ms.saturating_add(again))
}

impl Engine {
    /// Deletes what has expired among the claims that were not followed yet.
    pub(super) async fn walk_young(&self, link: &mut Link, step: &mut Step) -> Result<(), Failure> {
        let rows = link.ask(&self.sql.followed, &[]).await?;
        let young = Range {
            above: first(&rows)?.number(0)?,
            upto: i64::MAX,
            made_ms: 0,
            records: 0,
        };
        let limit = step.budget().min(self.pace.records());
        let mut params = retire_values(young, YOUNG, step, false);
        params[3] = count(limit);
        let rows = link.ask_alone(&self.sql.retire, &params).await?;
        let walked = Walked::of(first(&rows)?)?;
        walked.add_to(step);
        step.swept.more |= walked.left_some() && walked.removed + walked.barred == limit;
        Ok(())
    }

    /// Walks over the ranges whose time has come.
    pub(super) async fn walk_ranges(
        &self,
        link: &mut Link,
        step: &mut Step,
    ) -> Result<(), Failure> {
        for _ in 0..RANGES {
            if step.budget() == 0 {
                break;
            }
            link.begin().await?;
            let mut taken = None;
            let walked = self.walk_one(link, step, &mut taken).await;
            match (link.end(walked).await, taken) {
                (Ok(Some(walked)), _) => {
                    self.pace.faster();
                    walked.add_to(step);
                }
                (Ok(None), _) => return Ok(()),
                (Err(failure), taken) => {
                    self.pace.slower();
                    if let (Some(range), Failure::Refused(_) | Failure::Failed(_)) =
                        (taken, &failure)
                    {
                        let params = [Value::int(range.upto)];
                        link.ask_alone(&self.sql.postpone, &params).await?;
                    }
                    return Err(failure);
                }
            }
        }
        step.swept.more = true;
        Ok(())
    }

    /// Walks over one range; `None` if there is none to be walked over.
    async fn walk_one(
        &self,
        link: &mut Link,
        step: &Step,
        taken: &mut Option<Range>,
    ) -> Result<Option<Walked>, Failure> {
        let sql = match step.thorough {
            true => &self.sql.take_ended,
            false => &self.sql.take,
        };
        let rows = link.ask(sql, &[]).await?;
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let range = *taken.insert(Range::of(row)?);
        let looks = self.pace.records();
        let params = retire_values(range, looks, step, true);
        let rows = link.ask(&self.sql.retire, &params).await?;
        let walked = Walked::of(first(&rows)?)?;
        // What the limit left is still due.
        if walked.removed + walked.barred < step.budget() {
            let known = walked.known(range, sql_ms(step.history_keep));
            self.learn(link, range, &walked, &known, looks).await?;
        }
        Ok(Some(walked))
    }

    /// Writes down what a walk has found out about a range.
    async fn learn(
        &self,
        link: &mut Link,
        range: Range,
        walked: &Walked,
        known: &Known,
        looks: usize,
    ) -> Result<(), Failure> {
        if walked.seen == looks && walked.last_fence < range.upto {
            // There is more of it. The first part is known now; if nothing is left of it, it belongs to the rest.
            return match known.records {
                0 => Ok(()),
                _ => {
                    let params = known.values(walked.last_fence);
                    link.ask(&self.sql.split, &params).await.map(drop)
                }
            };
        }
        let [upto, ends, walk, made, records] = known.values(range.upto);
        let params = [upto, ends, walk, made, records, count(RANGE)];
        link.ask(&self.sql.bound, &params).await.map(drop)
    }
}

fn retire_values(range: Range, looks: usize, step: &Step, note: bool) -> [Value; 6] {
    [
        Value::int(range.above),
        Value::int(range.upto),
        count(looks),
        count(step.budget()),
        Value::int(sql_ms(step.history_keep)),
        Value::int(note),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_comes_when_much_has_ended_and_once_in_a_while_anyway() {
        const MINUTE: i64 = 60_000;
        for (now, made, ends, expected) in [
            // Short retentions: all of a range end together, a moment later.
            (0, 0, 10_000, 12_250),
            // Long ones: first a look for what was committed late, then rarer ones.
            (0, 0, 90 * 24 * 60 * MINUTE, 5 * MINUTE),
            (10 * MINUTE, 0, 90 * 24 * 60 * MINUTE, 50 * MINUTE),
            // Nothing ends, and nothing overflows.
            (0, 0, NEVER_MS, 5 * MINUTE),
            (i64::MAX / 2, 0, NEVER_MS, NEVER_MS / 8 * 9 + 1_000),
        ] {
            assert_eq!(walk_ms(now, made, ends), expected, "{now} {made} {ends}");
        }
    }
}
