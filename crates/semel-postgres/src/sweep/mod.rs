//! Housekeeping in bounded steps, shared by all processes.
//!
//! Every part is a transaction of its own, so that one that fails or takes too long undoes nothing of the others:
//!
//! - `follow` goes after the claims at a distance, notes what is still open, and divides the records into ranges of fences. One
//!   process at a time does so.
//! - `leases` writes down which leases have ended, by what was noted.
//! - `walk` deletes expired records, range by range. A range is walked over when retentions in it have ended, and by one process at a time; others
//!   take the next one.
//!
//! After many deletions, `vacuum` makes their space usable again.
//!
//! Nothing here waits for a row that another transaction holds, and no verb waits for the sweep longer than one part lasts.

mod follow;
mod leases;
mod vacuum;
mod walk;

use std::sync::Weak;
use std::time::Duration;

use semel_core::Result;
use semel_core::store::{BATCH_MAX, Swept};
use tokio::time::{Instant, sleep};

use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::partitions;
use crate::session::Session;
use crate::value::{Row, Value};
use vacuum::Vacuum;

pub(crate) use walk::Pace;

/// The most records of a range, which are those that one statement looks at.
const RANGE: usize = 2_048;
/// How many of the claims that were not followed yet are looked at for leases and retentions that have ended already.
const YOUNG: usize = 4_096;
/// The most records that one step of the background sweep deletes.
const STEP: usize = 8_192;
/// The most leases that one step ends.
const LEASES: usize = 256;
/// A step that found nothing more is followed by a pause of at least so many times its length.
const REST: u32 = 20;

/// What a step does, in this order.
const PARTS: [Part; 8] = [
    Part::Follow,
    Part::Leases,
    Part::Open,
    Part::Young,
    Part::Ranges,
    Part::Events,
    Part::Inbox,
    Part::Months,
];

#[derive(Debug, Clone, Copy)]
enum Part {
    Follow,
    Leases,
    Open,
    Young,
    Ranges,
    Events,
    Inbox,
    Months,
}

/// One step: what it may do and what it did.
#[derive(Debug)]
struct Step {
    limit: usize,
    /// Whether everything that has expired is wanted, however little of a range that is.
    thorough: bool,
    history_keep: Duration,
    swept: Swept,
}

impl Step {
    /// How many records may still be deleted.
    const fn budget(&self) -> usize {
        let done = self.swept.deleted + self.swept.archived;
        self.limit.saturating_sub(done)
    }
}

impl Engine {
    /// One bounded step for a caller. What a part could do is done also if another one failed; the first failure is the answer then.
    pub(crate) async fn sweep(&self, limit: usize, history_keep: Duration) -> Result<Swept> {
        self.step(limit.clamp(1, BATCH_MAX), true, history_keep)
            .await
    }

    async fn step(&self, limit: usize, thorough: bool, history_keep: Duration) -> Result<Swept> {
        let mut step = Step {
            limit,
            thorough,
            history_keep,
            swept: Swept::default(),
        };
        let (mut link, mut failed) = (self.links.get().await?, None);
        for part in PARTS {
            match self.part(part, &mut link, &mut step).await {
                Ok(()) => {}
                Err(Failure::Lost(error)) => return Err(error),
                Err(failure) => {
                    failed.get_or_insert(failure.into_error("sweeping"));
                }
            }
        }
        failed.map_or(Ok(step.swept), Err)
    }

    async fn part(&self, part: Part, link: &mut Link, step: &mut Step) -> Result<(), Failure> {
        match part {
            Part::Follow => self.follow(link, step).await,
            Part::Leases => self.end_leases(link, step).await,
            Part::Open => self.relook(link, step).await,
            Part::Young => self.walk_young(link, step).await,
            Part::Ranges => self.walk_ranges(link, step).await,
            Part::Events => self.forget_events(link, step).await,
            Part::Inbox => self.sweep_messages(link, step).await,
            Part::Months => partitions::keep_up(self, link, step.history_keep).await,
        }
    }

    async fn forget_events(&self, link: &mut Link, step: &mut Step) -> Result<(), Failure> {
        let rows = link.ask_alone(&self.sql.now, &[]).await?;
        let keep_ms = i64::try_from(step.history_keep.as_millis()).unwrap_or(i64::MAX);
        let cutoff = Value::int(first(&rows)?.number(0)?.saturating_sub(keep_ms));
        let params = [cutoff, count(step.limit)];
        let gone = link.ask_alone(&self.sql.forget, &params).await?;
        step.swept.events_deleted = gone.len();
        step.swept.more |= step.swept.events_deleted >= step.limit;
        Ok(())
    }

    async fn sweep_messages(&self, link: &mut Link, step: &mut Step) -> Result<(), Failure> {
        link.begin().await?;
        let swept = Session::new(link, &self.sql).sweep_inbox(step.limit).await;
        step.swept.more |= link.end(swept).await?;
        link.begin().await?;
        let mut session = Session::new(link, &self.sql);
        let lanes = session.sweep_lanes(&self.lane_walk).await;
        link.end(lanes).await
    }
}

fn first(rows: &[Row]) -> Result<&Row> {
    rows.first()
        .ok_or_else(|| crate::error::damaged("no answer to a sweep"))
}

fn count(n: usize) -> Value {
    Value::int(i64::try_from(n).unwrap_or(i64::MAX))
}

fn size(row: &Row, at: usize) -> Result<usize> {
    Ok(usize::try_from(row.number(at)?).unwrap_or(0))
}

/// Sweeps every `interval`, and without a rest while there is more to do, until the store is gone.
pub(crate) async fn run(engine: Weak<Engine>, interval: Duration, history_keep: Duration) {
    let (mut pause, mut vacuum) = (interval, Vacuum::default());
    loop {
        sleep(pause).await;
        let Some(engine) = engine.upgrade() else {
            return;
        };
        let began = Instant::now();
        let swept = engine.step(STEP, false, history_keep).await;
        if let Some(watch) = &engine.watch {
            watch.swept(swept.as_ref());
        }
        if let Ok(swept) = &swept {
            vacuum.after(&engine, swept).await;
        }
        // A store that cannot be swept now is swept next time; callers hear of it by themselves. While there is more to do, the
        // sweep takes half of one connection's time.
        pause = match swept {
            Ok(swept) if swept.more => began.elapsed().min(interval),
            Ok(_) => interval.max(began.elapsed() * REST).min(interval * REST),
            Err(_) => interval,
        };
    }
}
