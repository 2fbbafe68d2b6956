//! Months as partitions: made ahead of time, and dropped whole when nothing in them is kept any longer.
//!
//! The history is dropped by its age, and messages when their retention has ended and no work refers to them. The archive is never dropped from here: that is an operator's decision, one
//! `DROP TABLE` per month.

use std::time::Duration;

use semel_core::inbox::Plan;
use semel_core::{Clock, Timestamp};
use tokio_postgres::error::SqlState;

use crate::engine::Engine;
use crate::link::{Failure, LOCK_WAIT, Link};
use crate::sql;

/// The tables that have months.
const TABLES: [&str; 3] = ["semel_history", "semel_archive", MESSAGES];
const MESSAGES: &str = "semel_messages";

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

/// Makes this month and the next, and drops months of the history that are older than `history_keep`. Once per
/// month and process: otherwise there is nothing to do.
pub(crate) async fn keep_up(
    engine: &Engine,
    link: &mut Link,
    history_keep: Duration,
) -> Result<(), Failure> {
    let now = engine.clock.now();
    let month = Month::of(now);
    if engine.months_kept.swap(month.0) == month.0 {
        return Ok(());
    }
    let kept = keep_up_to(engine, link, month, now, history_keep).await;
    if kept.is_err() {
        engine.months_kept.swap(0);
    }
    kept
}

async fn keep_up_to(
    engine: &Engine,
    link: &mut Link,
    month: Month,
    now: Timestamp,
    history_keep: Duration,
) -> Result<(), Failure> {
    for table in TABLES {
        for month in [month, month.next()] {
            if let Err(failure) = make(engine, link, table, month).await
                && !is_occupied(&failure)
            {
                return Err(failure);
            }
        }
    }
    let keep_ms = i64::try_from(history_keep.as_millis()).unwrap_or(i64::MAX);
    let cutoff = Month::of(Timestamp::from_millis(
        now.as_millis().saturating_sub(keep_ms).max(0),
    ));
    for name in months_of(engine, link, "semel_history").await? {
        if Month::parse(&name).is_some_and(|month| month < cutoff) {
            drop_history(engine, link, &name).await?;
        }
    }
    for name in months_of(engine, link, MESSAGES).await? {
        if Month::parse(&name).is_some_and(|ended| ended < month)
            && let Err(failure) = drop_messages(engine, link, &name).await
            && !is_locked(&failure)
        {
            return Err(failure);
        }
    }
    Ok(())
}

/// Rows of that month have gone to the rest already; they stay there, and so do those that follow.
fn is_occupied(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused(error) if error.code().is_some_and(|state| state.code() == "23514"))
}

impl Engine {
    /// Makes the month in which messages of a plan end that arrive now, and the one after it, once per month and process. If
    /// that cannot be done, they go to the rest.
    pub(crate) async fn message_months(&self, plan: &Plan) {
        let month = Month::of(self.clock.now().after(plan.retention.keep()));
        if !self.message_months.add(month.0) {
            return;
        }
        let Ok(mut link) = self.links.get().await else {
            return self.message_months.forget(month.0);
        };
        for month in [month, month.next()] {
            let made = make(self, &mut link, MESSAGES, month).await;
            if made.is_err_and(|failure| !is_occupied(&failure)) {
                self.message_months.forget(month.0);
            }
        }
    }
}

async fn make(engine: &Engine, link: &mut Link, table: &str, month: Month) -> Result<(), Failure> {
    let template = format!(
        "CREATE TABLE IF NOT EXISTS {{s}}{table}_{} PARTITION OF {{s}}{table} FOR VALUES FROM ({}) TO ({})",
        month.name(),
        month.begins(),
        month.next().begins()
    );
    // Two processes may do this at once, and the second must find it done rather than collide.
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

/// Whether somebody uses the table at this moment. The month goes another time.
fn is_locked(failure: &Failure) -> bool {
    matches!(failure, Failure::Refused(error) if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE))
}

/// Messages that somebody still has to deal with keep their month. The table is locked before the look, so that no replay comes
/// between the look and the end.
async fn drop_messages(engine: &Engine, link: &mut Link, month: &str) -> Result<(), Failure> {
    let template = format!(
        "LOCK TABLE {{s}}semel_messages IN ACCESS EXCLUSIVE MODE; \
         DO $$ BEGIN \
         IF NOT EXISTS (SELECT FROM {{s}}semel_work w JOIN {{s}}semel_messages_{month} m \
             ON m.digest = w.digest AND m.expires_ms = w.expires_ms) THEN \
         DROP TABLE {{s}}semel_messages_{month}; END IF; END $$"
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
        LOCK_WAIT.as_millis()
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
}
