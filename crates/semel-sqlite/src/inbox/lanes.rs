//! Lanes as rows, shown to the core's rules: who stands in one, in which order, and how far it has come.
//!
//! A row of work stands in a lane as long as its `lane` is set. Where arrival decides all sequences are -1, so that the number
//! does. What moves when is [`semel_core::inbox::lanes`]'s business; here are its statements.

use rusqlite::{Connection, params};
use semel_core::inbox::lanes::{self, Next, Note, Placed, Row, Rows, Spot};
use semel_core::inbox::{Cause, Message, Order, State};
use semel_core::{Error, Result, Timestamp};

use super::notes::Consumer;
use super::rows::{self, Work};
use super::sql::{self, SqlCause, SqlState, Values};
use crate::verbs::Session;

/// Which lane of which consumer and tenant.
#[derive(Debug, Clone, Copy)]
pub(super) struct LaneKey<'a> {
    pub(super) of: Consumer<'a>,
    pub(super) tenant: &'a str,
    pub(super) name: &'a str,
}

/// The rows of one lane, for the length of one event.
pub(super) struct LaneRows<'a, 's, 'c> {
    session: &'a mut Session<'c>,
    key: LaneKey<'s>,
}

macro_rules! members {
    ($rest:literal) => {
        concat!(
            "SELECT sequence, number, state, due_ms IS NOT NULL, replay, deadline_ms IS NOT NULL, cause, \
             (SELECT m.received_ms FROM semel_messages m WHERE m.number = w.number) \
             FROM semel_work w WHERE consumer = ?1 AND lane = ?2 AND tenant = ?3 ",
            $rest
        )
    };
}

const FIRST: &str = members!("ORDER BY sequence, number LIMIT 1");
const BEFORE_SAME: &str =
    members!("AND sequence = ?4 AND number < ?5 ORDER BY number DESC LIMIT 1");
const BEFORE: &str = members!("AND sequence < ?4 ORDER BY sequence DESC, number DESC LIMIT 1");
const AFTER_SAME: &str = members!("AND sequence = ?4 AND number > ?5 ORDER BY number LIMIT 1");
const AFTER: &str = members!("AND sequence > ?4 ORDER BY sequence, number LIMIT 1");
/// The whole lane, if nothing moves in it: asked only where a person has changed the order of things.
const MOVING: &str = members!("AND due_ms IS NOT NULL AND number <> ?4 LIMIT 1");

/// The statements above, and how many values they take.
#[cfg(test)]
pub(super) const STATEMENTS: [(&str, usize); 6] = [
    (FIRST, 3),
    (BEFORE_SAME, 5),
    (BEFORE, 4),
    (AFTER_SAME, 5),
    (AFTER, 4),
    (MOVING, 4),
];

fn row_of(row: &rusqlite::Row<'_>) -> rusqlite::Result<Row> {
    Ok(Row {
        spot: Spot {
            sequence: u64::try_from(row.get::<_, i64>(0)?).ok(),
            number: row.get(1)?,
        },
        state: row.get::<_, SqlState>(2)?.0,
        is_due: row.get(3)?,
        rerun: rows::rerun_of(row.get(4)?),
        has_deadline: row.get(5)?,
        cause: row.get::<_, SqlCause>(6)?.0,
        received_at: Timestamp::from_millis(row.get::<_, Option<i64>>(7)?.unwrap_or(0)),
    })
}

/// A sequence as a column: -1 where arrival decides.
pub(super) fn sql_sequence(sequence: Option<u64>) -> i64 {
    sequence.map_or(-1, |sequence| i64::try_from(sequence).unwrap_or(i64::MAX))
}

/// The sequence by which a message stands in a lane of this order, if it stands in one.
pub(super) fn stands(order: Order, lane: bool, sequence: Option<u64>) -> Option<Option<u64>> {
    let has_lane = order.has_lane(lane, sequence.is_some());
    has_lane.then(|| sequence.filter(|_| matches!(order, Order::Sequence { .. })))
}

/// The lane and the sequence of a message, if it stands in one.
pub(super) fn home<'a>(
    of: Consumer<'a>,
    message: &'a Message,
) -> Option<(LaneKey<'a>, Option<u64>)> {
    let name = message.lane()?.as_str();
    let sequence = stands(of.plan.order, true, message.sequence())?;
    let tenant = message.identity().tenant().as_str();
    Some((LaneKey { of, tenant, name }, sequence))
}

impl LaneKey<'_> {
    fn one(&self, connection: &Connection, sql: &str, rest: Values<'_>) -> Result<Option<Row>> {
        let mut values: Vec<&dyn rusqlite::ToSql> = vec![&self.of.number, &self.name, &self.tenant];
        values.extend_from_slice(rest);
        sql::one(connection, sql, &values, row_of)
    }

    /// The nearest of the same sequence, else of another one. Two statements, because each is one step in the index.
    fn beside(
        &self,
        connection: &Connection,
        spot: Spot,
        (same, other): (&str, &str),
    ) -> Result<Option<Row>> {
        let sequence = sql_sequence(spot.sequence);
        match self.one(connection, same, &[&sequence, &spot.number])? {
            None => self.one(connection, other, &[&sequence]),
            found => Ok(found),
        }
    }
}

impl Rows for LaneRows<'_, '_, '_> {
    type Error = Error;

    fn next(&mut self) -> Result<Option<Next>> {
        let sql = "SELECT done FROM semel_lanes WHERE consumer = ?1 AND lane = ?2 AND tenant = ?3";
        let values = params![self.key.of.number, self.key.name, self.key.tenant];
        let done: Option<i64> = sql::one(self.session.connection, sql, values, |row| row.get(0))?;
        Ok(done.map(|done| Next(u64::try_from(done + 1).unwrap_or(0))))
    }

    fn first(&mut self) -> Result<Option<Row>> {
        self.key.one(self.session.connection, FIRST, &[])
    }

    fn before(&mut self, spot: Spot) -> Result<Option<Row>> {
        self.key
            .beside(self.session.connection, spot, (BEFORE_SAME, BEFORE))
    }

    fn after(&mut self, spot: Spot) -> Result<Option<Row>> {
        self.key
            .beside(self.session.connection, spot, (AFTER_SAME, AFTER))
    }

    fn is_moving(&mut self, beside: Spot) -> Result<bool> {
        let found = self
            .key
            .one(self.session.connection, MOVING, &[&beside.number])?;
        Ok(found.is_some())
    }

    fn put(&mut self, row: &Row, placed: Placed, note: Option<Note>) -> Result<()> {
        let number = row.spot.number;
        let has_changed = (row.state, row.cause) != (placed.state, placed.cause);
        self.session.put(self.key.of, number, placed, has_changed)?;
        match note {
            Some(note) => self
                .session
                .keep_transition(number, note.to, Some(note.cause), None),
            None => Ok(()),
        }
    }

    fn leave(&mut self, row: &Row) -> Result<()> {
        leave(self.session.connection, row.spot.number)
    }

    fn skip_older(&mut self, row: &Row) -> Result<()> {
        let number = row.spot.number;
        if let Some(work) = rows::work(self.session.connection, number)? {
            self.session
                .skip(self.key.of, &work, Cause::OlderVersion, None)?;
        }
        leave(self.session.connection, number)
    }

    fn pass(&mut self, next: Next) -> Result<()> {
        let done = i64::try_from(next.0).unwrap_or(i64::MAX) - 1;
        sql::run(
            self.session.connection,
            "INSERT INTO semel_lanes (consumer, lane, tenant, done) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT (consumer, lane, tenant) DO UPDATE SET done = max(done, excluded.done)",
            params![self.key.of.number, self.key.name, self.key.tenant, done],
        )
        .map(drop)
    }
}

/// Takes a row out of its lane.
pub(super) fn leave(connection: &Connection, number: i64) -> Result<()> {
    let sql =
        "UPDATE semel_work SET lane = NULL, tenant = NULL, deadline_ms = NULL WHERE number = ?1";
    sql::run(connection, sql, params![number]).map(drop)
}

impl Session<'_> {
    /// Lets something happen to a lane.
    pub(super) fn in_lane<T>(
        &mut self,
        key: LaneKey<'_>,
        event: impl FnOnce(lanes::Lane<'_, LaneRows<'_, '_, '_>>) -> Result<T>,
    ) -> Result<T> {
        let (order, now) = (key.of.plan.order, self.now);
        let mut rows = LaneRows { session: self, key };
        event(lanes::Lane::new(&mut rows, order, now))
    }

    /// The same if the row of work stands in a lane.
    pub(super) fn in_lane_of(
        &mut self,
        of: Consumer<'_>,
        work: &Work,
        event: impl FnOnce(lanes::Lane<'_, LaneRows<'_, '_, '_>>) -> Result<()>,
    ) -> Result<()> {
        match work.lane_key(of) {
            Some(key) => self.in_lane(key, event),
            None => Ok(()),
        }
    }

    /// The row at a spot of a lane, if one stands there.
    pub(super) fn row_at(&mut self, key: LaneKey<'_>, spot: Spot) -> Result<Option<Row>> {
        let after = Spot {
            number: spot.number.saturating_add(1),
            ..spot
        };
        let mut rows = LaneRows { session: self, key };
        Ok(rows.before(after)?.filter(|row| row.spot == spot))
    }

    /// Puts a row of work where it belongs now; `has_changed` if its state or cause did.
    pub(super) fn put(
        &mut self,
        of: Consumer<'_>,
        number: i64,
        placed: Placed,
        has_changed: bool,
    ) -> Result<()> {
        let now_ms = self.now.as_millis();
        sql::run(
            self.connection,
            "UPDATE semel_work SET state = ?2, cause = ?3, due_ms = ?4, deadline_ms = ?5, \
             changed_ms = iif(?6, ?7, changed_ms) WHERE number = ?1",
            params![
                number,
                SqlState(placed.state),
                SqlCause(placed.cause),
                placed.is_due.then_some(now_ms),
                placed.deadline.map(Timestamp::as_millis),
                has_changed,
                now_ms,
            ],
        )?;
        if placed.is_due {
            self.wake(&of.plan.consumer);
        }
        Ok(())
    }
}

impl Work {
    /// The lane it stands in.
    pub(super) fn lane_key<'a>(&'a self, of: Consumer<'a>) -> Option<LaneKey<'a>> {
        let (tenant, name) = (self.tenant.as_deref()?, self.lane.as_deref()?);
        Some(LaneKey { of, tenant, name })
    }

    /// Where it stands in its lane.
    pub(super) fn spot(&self) -> Spot {
        Spot {
            sequence: u64::try_from(self.sequence).ok(),
            number: self.number,
        }
    }

    /// Its row in its lane, once it is in this state.
    pub(super) fn row(&self, state: State, cause: Option<Cause>, is_due: bool) -> Row {
        Row {
            spot: self.spot(),
            state,
            cause,
            is_due,
            has_deadline: false,
            rerun: rows::rerun_of(self.replay),
            received_at: Timestamp::from_millis(self.changed_ms),
        }
    }
}
