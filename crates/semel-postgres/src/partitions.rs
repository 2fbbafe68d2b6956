//! Months as partitions: made ahead of time, and dropped whole when nothing in them is kept any longer.
//!
//! The history is dropped by its age, and messages when their retention has ended and no work refers to them. The archive is never dropped from here: that is an operator's decision, one
//! `DROP TABLE` per month.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::inbox::Plan;
use semel_core::{Clock, Timestamp};
use tokio_postgres::error::SqlState;

use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::sql;

/// The tables that have months.
const TABLES: [&str; 3] = ["semel_history", "semel_archive", MESSAGES];
const MESSAGES: &str = "semel_messages";
/// How long a change waits for those who use a table; those who come after it wait as long.
const TABLE_WAIT: Duration = Duration::from_millis(100);
/// The first and the longest pause between two tries.
const PAUSE_FIRST_MS: i64 = 1_000;
const PAUSE_MAX_MS: i64 = 60_000;

/// A month of the calendar, counted from year 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Month(i64);

impl Month {
    fn of(at: Timestamp) -> Self {
        // An instant is shown as a date in RFC 3339; year and month stand in front.
        let text = at.to_string();
        let mut parts = text
            .splitn(3, '-')
            .map(|part| part.parse::<i64>().unwrap_or(0));
        let (year, month) = (parts.next().unwrap_or(0), parts.next().unwrap_or(1));
        Self(year * 12 + month - 1)
    }

    const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    fn name(self) -> String {
        let (year, month) = (self.0.div_euclid(12), self.0.rem_euclid(12) + 1);
        format!("{year:04}_{month:02}")
    }

    fn parse(name: &str) -> Option<Self> {
        let (year, month) = name.split_once('_')?;
        let (year, month): (i64, i64) = (year.parse().ok()?, month.parse().ok()?);
        (1..=12)
            .contains(&month)
            .then_some(Self(year * 12 + month - 1))
    }

    /// When it begins, as SQL.
    fn begins(self) -> String {
        let (year, month) = (self.0.div_euclid(12), self.0.rem_euclid(12) + 1);
        format!(
            "(extract(epoch FROM timestamptz '{year:04}-{month:02}-01 00:00:00Z') * 1000)::bigint"
        )
    }
}

/// Which months were dealt with by this process, and when to try again where another session was in the way. It may be in the way for
/// hours (`pg_dump` holds every table), and each try makes others wait for a moment.
#[derive(Debug, Default)]
pub(crate) struct Months(Mutex<BTreeMap<i64, Tried>>);

#[derive(Debug, Clone, Copy)]
struct Tried {
    again_ms: i64,
    pause_ms: i64,
}

impl Months {
    /// Whether `month` is to be dealt with now, by the caller.
    fn is_due(&self, month: Month, now: Timestamp) -> bool {
        let (mut months, now_ms) = (self.months(), now.as_millis());
        let tried = months.entry(month.0).or_insert(Tried {
            again_ms: 0,
            pause_ms: PAUSE_FIRST_MS,
        });
        if tried.again_ms > now_ms {
            return false;
        }
        tried.again_ms = now_ms.saturating_add(tried.pause_ms);
        tried.pause_ms = (tried.pause_ms * 2).min(PAUSE_MAX_MS);
        true
    }

    /// There is nothing left to do for `month`.
    fn done(&self, month: Month) {
        if let Some(tried) = self.months().get_mut(&month.0) {
            tried.again_ms = i64::MAX;
        }
    }

    fn months(&self) -> MutexGuard<'_, BTreeMap<i64, Tried>> {
        // The map is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes this month and the next, and drops months that are over. Once per month and process, or until it is done; where another session uses a
/// table, it is done another time, and rows of a month without a table go to the rest.
pub(crate) async fn keep_up(
    engine: &Engine,
    link: &mut Link,
    history_keep: Duration,
) -> Result<(), Failure> {
    let now = engine.clock.now();
    let month = Month::of(now);
    if !engine.months_kept.is_due(month, now) {
        return Ok(());
    }
    let mut done = true;
    for table in TABLES {
        done &= make(engine, link, table, month).await?;
    }
    let cutoff = Month::of(before(now, history_keep));
    for name in months_of(engine, link, "semel_history").await? {
        if Month::parse(&name).is_some_and(|month| month < cutoff) {
            done &= unless_used(drop_history(engine, link, &name).await)?;
        }
    }
    // A message that was received when its month was about to end may still be about to be committed.
    let cutoff = Month::of(before(now, Duration::from_secs(24 * 60 * 60)));
    for name in months_of(engine, link, MESSAGES).await? {
        if let Some(month) = Month::parse(&name).filter(|month| *month < cutoff) {
            done &= unless_used(drop_messages(engine, link, month).await)?;
        }
    }
    if done {
        engine.months_kept.done(month);
    }
    Ok(())
}

fn before(now: Timestamp, ago: Duration) -> Timestamp {
    let ago = i64::try_from(ago.as_millis()).unwrap_or(i64::MAX);
    Timestamp::from_millis(now.as_millis().saturating_sub(ago).max(0))
}

/// Whether it was done: if another session uses the table at this moment, it is done another time.
fn unless_used(done: Result<(), Failure>) -> Result<bool, Failure> {
    match done {
        Ok(()) => Ok(true),
        Err(failure) if has_state(&failure, &SqlState::LOCK_NOT_AVAILABLE) => Ok(false),
        Err(failure) => Err(failure),
    }
}

fn has_state(failure: &Failure, state: &SqlState) -> bool {
    matches!(failure, Failure::Refused(error) if error.code() == Some(state))
}

impl Engine {
    /// Makes the month in which messages of a plan end that arrive now, and the one after it, once per month and process. Until
    /// that can be done, they go to the rest.
    pub(crate) async fn message_months(&self, plan: &Plan) {
        let now = self.clock.now();
        let month = Month::of(now.after(plan.retention.keep()));
        if !self.message_months.is_due(month, now) {
            return;
        }
        let Ok(mut link) = self.links.get().await else {
            return;
        };
        if let Ok(true) = make(self, &mut link, MESSAGES, month).await {
            self.message_months.done(month);
        }
    }
}

/// Makes a month and the next one, unless they are there; says whether they are.
async fn make(
    engine: &Engine,
    link: &mut Link,
    table: &str,
    month: Month,
) -> Result<bool, Failure> {
    let there = months_of(engine, link, table).await?;
    let mut done = true;
    for month in [month, month.next()] {
        if there.contains(&month.name()) {
            continue;
        }
        match unless_used(attach(engine, link, table, month).await) {
            Ok(made) => done &= made,
            // Rows of that month have gone to the rest already; they stay there, and so do those that follow.
            Err(failure) if has_state(&failure, &SqlState::CHECK_VIOLATION) => {}
            Err(failure) => return Err(failure),
        }
    }
    Ok(done)
}

/// A table that is made first and attached then needs no lock that readers and writers of the parent would wait for.
async fn attach(
    engine: &Engine,
    link: &mut Link,
    table: &str,
    month: Month,
) -> Result<(), Failure> {
    let (name, begins, ends) = (month.name(), month.begins(), month.next().begins());
    // Another process may have done it: the catalogue is asked, as in `schema::version`.
    let template = format!(
        "DO $$ BEGIN \
         IF NOT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace \
             WHERE n.nspname = '{{schema}}' AND c.relname = '{table}_{name}') THEN \
         CREATE TABLE {{s}}{table}_{name} (LIKE {{s}}{table} INCLUDING ALL); \
         EXECUTE format('ALTER TABLE {{s}}{table} ATTACH PARTITION {{s}}{table}_{name} FOR VALUES FROM (%s) TO (%s)', \
             {begins}, {ends}); \
         END IF; END $$"
    );
    in_turn(engine, link, &template).await
}

/// Late outcomes of records that are still there are moved to the rest first: they may be all that is known.
async fn drop_history(engine: &Engine, link: &mut Link, month: &str) -> Result<(), Failure> {
    let template = format!(
        "ALTER TABLE {{s}}semel_history DETACH PARTITION {{s}}semel_history_{month}; \
         INSERT INTO {{s}}semel_history SELECT h.* FROM {{s}}semel_history_{month} h \
         WHERE h.event = 'late-outcome' AND EXISTS (SELECT FROM {{s}}semel_records r \
         WHERE r.digest = h.digest AND r.state <> 3); \
         DROP TABLE {{s}}semel_history_{month}"
    );
    in_turn(engine, link, &template).await
}

/// Messages that still have work to do keep their month. What is looked at is not locked: only a replay by hand could refer to
/// a month that is over, and it waits for the turn (`sql/inbox/hold_months.sql`).
async fn drop_messages(engine: &Engine, link: &mut Link, month: Month) -> Result<(), Failure> {
    let (name, begins, ends) = (month.name(), month.begins(), month.next().begins());
    let template = format!(
        "DO $$ BEGIN \
         IF NOT EXISTS (SELECT FROM {{s}}semel_work w WHERE w.expires_ms >= {begins} AND w.expires_ms < {ends}) THEN \
         DROP TABLE {{s}}semel_messages_{name}; END IF; END $$"
    );
    in_turn(engine, link, &template).await
}

/// Runs statements that change tables, alone.
async fn in_turn(engine: &Engine, link: &mut Link, template: &str) -> Result<(), Failure> {
    // The turn of another process may take longer than rows are waited for; the tables themselves may not.
    let lock = format!(
        "SET LOCAL lock_timeout = 0; \
         SELECT pg_advisory_xact_lock(hashtextextended('semel months {}', 0)); \
         SET LOCAL lock_timeout = {}",
        engine.schema,
        TABLE_WAIT.as_millis()
    );
    link.begin().await?;
    let ran = match link.run(&lock).await {
        Ok(()) => link.run(&sql::text(&engine.schema, template)).await,
        Err(failure) => Err(failure),
    };
    link.end(ran).await
}

/// The months that `table` has, by name.
async fn months_of(engine: &Engine, link: &mut Link, table: &str) -> Result<Vec<String>, Failure> {
    let text = format!(
        "SELECT c.relname::text FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
         WHERE i.inhparent = '{{s}}{table}'::regclass ORDER BY 1"
    );
    let rows = link.ask(&sql::text(&engine.schema, &text), &[]).await?;
    let mut names = Vec::new();
    for row in &rows {
        let name = row.text(0)?.and_then(|name| name.strip_prefix(table));
        names.extend(name.map(|name| name.trim_start_matches('_').to_owned()));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_have_names_bounds_and_an_order() {
        let december = Month::of(Timestamp::from_millis(1_797_000_000_000));
        assert_eq!(december.name(), "2026_12");
        assert_eq!(december.next().name(), "2027_01");
        assert!(december.next().begins().contains("2027-01-01"));
        assert_eq!(Month::parse("2026_12"), Some(december));
        assert!(Month::parse("2026_11") < Some(december));
        assert_eq!(Month::parse("rest"), None);
        assert_eq!(Month::parse("2026_13"), None);
    }

    #[test]
    fn a_month_that_could_not_be_made_is_tried_again_in_longer_and_longer_intervals() {
        let (months, month) = (Months::default(), Month(24_322));
        let mut tries = Vec::new();
        for second in 0..200 {
            if months.is_due(month, Timestamp::from_millis(1_000 * (1_000 + second))) {
                tries.push(second);
            }
        }
        assert_eq!(tries, [0, 1, 3, 7, 15, 31, 63, 123, 183]);
        months.done(month);
        assert!(!months.is_due(month, Timestamp::from_millis(i64::MAX - 1)));
    }
}
