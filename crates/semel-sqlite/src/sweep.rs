//! One bounded step of housekeeping at a time: leases that have ended, records and events whose retention has ended.
//!
//! The sweep runs inside the one write transaction, every second, so each part reads a bounded number of rows however
//! large the tables are. Expired records have an index. Leases and events have none, because it would have to be written
//! for every claim and every event: the sweep walks over them and remembers where it was. Both grow with time, so the
//! rows that matter lie at one end: of leases the newest, because those that a person is to resolve are old; of events
//! the oldest.
//!
//! A row that cannot be read is reported once and passed over from then on: it must not keep the others from being swept.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::{Connection, Row, params};
use semel_core::protocol;
use semel_core::store::{BATCH_MAX, Swept};
use semel_core::{Error, Record, Result, State};

use crate::error::{damaged, from_sqlite};
use crate::records::{self, record_columns};
use crate::verbs::Session;

/// How many leases one step looks at, at the newest end and where its walk has come to.
const LEASES_LOOK: usize = 2_048;
/// The most rows that are remembered as unreadable.
const UNREADABLE_MAX: usize = 4_096;

pub(crate) const LEASES: &str = "SELECT fence, cause IS NULL AND until_ms <= ?2 FROM semel_leases \
                                 WHERE fence < ?1 ORDER BY fence DESC LIMIT ?3";
pub(crate) const LEASED: &str = concat!(
    "SELECT ",
    record_columns!(listed),
    " FROM semel_leases l JOIN semel_claims c USING (fence) \
     LEFT JOIN semel_outcomes o USING (fence) WHERE l.fence = ?1"
);
pub(crate) const EXPIRED: &str = concat!(
    "SELECT ",
    record_columns!(listed),
    ", o.fence FROM semel_outcomes o LEFT JOIN semel_claims c USING (fence) \
     LEFT JOIN semel_leases l USING (fence) \
     WHERE o.expires_ms <= ?1 ORDER BY o.expires_ms LIMIT ?2"
);
/// Events in their order, whether they are old, and whether they may go: a late outcome stays as long as its record
/// does, because it may be all that is known.
pub(crate) const EVENTS: &str = "SELECT id, at_ms < ?2, at_ms < ?2 AND NOT \
     (event = 'late-outcome' AND EXISTS (SELECT 1 FROM semel_keys k WHERE k.digest = h.digest)) \
     FROM semel_history h WHERE id > ?1 ORDER BY id LIMIT ?3";

/// What the sweep of this process remembers between its steps; losing it costs a second look.
#[derive(Debug, Default)]
pub(crate) struct Walks(Mutex<Positions>);

#[derive(Debug, Default)]
struct Positions {
    /// The walk over leases goes on below this fence; from the newest if there is none.
    leases_below: Option<i64>,
    /// The walk over events goes on above this one.
    events_above: i64,
    /// Fences of records that cannot be read.
    unreadable: BTreeSet<i64>,
}

impl Walks {
    fn positions(&self) -> MutexGuard<'_, Positions> {
        // Each position is whole after every statement, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session<'_> {
    /// One bounded step of housekeeping.
    pub(crate) fn sweep(
        &mut self,
        limit: usize,
        history_keep: Duration,
        walks: &Walks,
    ) -> Result<Swept> {
        let limit = limit.clamp(1, BATCH_MAX);
        let positions = &mut *walks.positions();
        self.file.keep_fresh(self.connection, self.now)?;
        let leases_ended = self.end_leases(limit, positions)?;
        let (deleted, archived) = self.drop_expired(limit, positions)?;
        let more_messages = self.sweep_messages(limit)?;
        let events_deleted = self.forget_events(limit, history_keep, positions)?
            + self.forget_bars(limit, history_keep)?
            + self.forget_audit(limit, history_keep)?;
        let full = |count| count >= limit;
        Ok(Swept {
            leases_ended,
            deleted,
            archived,
            events_deleted,
            more: full(leases_ended)
                || full(deleted + archived)
                || full(events_deleted)
                || more_messages,
        })
    }

    fn end_leases(&mut self, limit: usize, positions: &mut Positions) -> Result<usize> {
        let newest = self.ended_below(i64::MAX)?;
        let (mut ended, below) = (newest.ended, positions.leases_below);
        positions.leases_below = match (below, newest.next) {
            (_, None) => None,
            // Where the newest ones end is as far as the walk must go back.
            (below, Some(next)) => {
                let older = self.ended_below(below.map_or(next, |below| below.min(next)))?;
                ended.extend(older.ended);
                older.next
            }
        };
        let mut count = 0;
        for fence in ended {
            if count == limit {
                // The rest is for the next step, which looks at the same ones again.
                positions.leases_below = below;
                break;
            }
            if positions.unreadable.contains(&fence) {
                continue;
            }
            let done = self.apart(|session| session.end_lease(fence));
            let done = self.or_passed_over(done, fence, positions)?;
            count += usize::from(done.is_some());
        }
        Ok(count)
    }

    /// Leases that have ended among the next few below a fence.
    fn ended_below(&self, below: i64) -> Result<Ended> {
        let values = params![below, self.now.as_millis(), LEASES_LOOK];
        let looked = self.all(LEASES, values, |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, bool>(1)?))
        })?;
        let is_full = looked.len() == LEASES_LOOK;
        Ok(Ended {
            next: looked.last().filter(|_| is_full).map(|(fence, _)| *fence),
            ended: looked
                .into_iter()
                .filter_map(|(fence, ended)| ended.then_some(fence))
                .collect(),
        })
    }

    fn end_lease(&mut self, fence: i64) -> Result<()> {
        let found = self.all(LEASED, params![fence], |row| {
            Ok(records::record_of(row, None))
        })?;
        let record = found
            .into_iter()
            .next()
            .ok_or_else(|| damaged("a lease has no claim"))??;
        let step = protocol::sweep_lease(Some(&record), self.now);
        self.finish(&record.identity, Some(&record), step).map(drop)
    }

    fn drop_expired(&mut self, limit: usize, positions: &mut Positions) -> Result<(usize, usize)> {
        // Those that cannot be read stay where they are, so there must be room for others beside them.
        let room = limit + positions.unreadable.len();
        let values = params![self.kept_since().as_millis(), room];
        let found = self.all(EXPIRED, values, |row| {
            Ok((row.get(23)?, records::record_of(row, None)))
        })?;
        let (mut deleted, mut archived) = (0, 0);
        for (fence, record) in found {
            let fence: i64 = fence;
            if deleted + archived == limit {
                break;
            }
            if positions.unreadable.contains(&fence) {
                continue;
            }
            let done = record.and_then(|record| self.apart(|session| session.retire(&record)));
            match self.or_passed_over(done, fence, positions)? {
                Some(true) => archived += 1,
                Some(false) => deleted += 1,
                None => {}
            }
        }
        Ok((deleted, archived))
    }

    /// Ends a record whose retention has ended; whether it was archived.
    fn retire(&mut self, record: &Record) -> Result<bool> {
        records::retire(self.connection, record).map_err(records::writing)?;
        self.forget_message_of(&record.identity)?;
        Ok(matches!(&record.state, State::Settled(settled) if settled.archive))
    }

    fn forget_events(
        &self,
        limit: usize,
        keep: Duration,
        positions: &mut Positions,
    ) -> Result<usize> {
        let values = params![positions.events_above, self.cutoff_ms(keep), limit];
        let looked = self.all(EVENTS, values, |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?))
        })?;
        let mut deleted = 0;
        for (id, _, may_go) in &looked {
            let id: &i64 = id;
            if *may_go {
                let sql = "DELETE FROM semel_history WHERE id = ?1";
                records::run(self.connection, sql, params![id]).map_err(records::writing)?;
                deleted += 1;
            }
        }
        // Events are written in the order of time: where none is old, none behind it is.
        let goes_on = looked.len() == limit && looked.iter().any(|(_, is_old, _)| *is_old);
        let last = looked.last().filter(|_| goes_on);
        positions.events_above = last.map_or(0, |(id, _, _)| *id);
        Ok(deleted)
    }

    /// Does something to one row, whole or not at all.
    pub(crate) fn apart<A>(&mut self, work: impl FnOnce(&mut Self) -> Result<A>) -> Result<A> {
        let failed = |e| from_sqlite("sweeping", e);
        let run = |connection: &Connection, sql| records::run(connection, sql, &[]).map_err(failed);
        let mark = self.mark();
        run(self.connection, "SAVEPOINT semel_row")?;
        let done = work(self);
        if done.is_err() && !self.connection.is_autocommit() {
            run(self.connection, "ROLLBACK TO semel_row")?;
            self.return_to(mark);
        }
        if !self.connection.is_autocommit() {
            run(self.connection, "RELEASE semel_row")?;
        }
        done
    }

    /// What was done to a row, or nothing if the row is to be passed over from now on. What may succeed later, such as
    /// a write to a disk that is full, is an error of the whole step.
    fn or_passed_over<A>(
        &mut self,
        done: Result<A>,
        fence: i64,
        positions: &mut Positions,
    ) -> Result<Option<A>> {
        match done {
            Ok(done) => Ok(Some(done)),
            Err(error) if error.is_retryable() || self.connection.is_autocommit() => Err(error),
            Err(error) => {
                if positions.unreadable.len() < UNREADABLE_MAX {
                    positions.unreadable.insert(fence);
                }
                let message = format!("the sweep passes over the record with fence {fence}");
                self.troubles
                    .push(Error::new(error.kind(), message).caused_by(error));
                Ok(None)
            }
        }
    }

    fn all<T>(
        &self,
        sql: &str,
        values: &[&dyn rusqlite::ToSql],
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let failed = |e| from_sqlite("sweeping", e);
        let mut statement = self.connection.prepare_cached(sql).map_err(failed)?;
        let found = statement.query_map(values, read).map_err(failed)?;
        found.collect::<rusqlite::Result<_>>().map_err(failed)
    }
}

/// Leases that have ended, and below which fence the walk goes on, if it does.
struct Ended {
    ended: Vec<i64>,
    next: Option<i64>,
}
