//! Lanes as rows: who stands in one, in which order, and how far it has come.
//!
//! A row of work stands in a lane as long as its `lane` is set. By arrival all sequences are -1, so that the number
//! decides. A row that the lane has gone on without leaves it; one that is passed over before its turn stays, by sequence, until the
//! lane has come to it, because its version is not missing.

use rusqlite::{Connection, Row, params};
use semel_core::Result;
use semel_core::inbox::{Cause, OnTerminal, Order, State};

use super::notes::Consumer;
use super::rows::Work;
use super::sql::{self, SqlCause, SqlState, Values};

/// A lane of a consumer.
#[derive(Debug, Clone, Copy)]
pub(super) struct Lane<'a> {
    pub(super) of: Consumer<'a>,
    pub(super) name: &'a str,
}

/// Where a row stands in its lane: by sequence, then by arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Spot {
    pub(super) sequence: i64,
    pub(super) number: i64,
}

/// A row that stands in a lane.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) spot: Spot,
    pub(super) state: State,
    pub(super) is_due: bool,
    pub(super) replay: u8,
    pub(super) has_deadline: bool,
    pub(super) cause: Option<Cause>,
}

/// What a row means for those behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stance {
    /// It runs, or will by itself.
    Moving,
    /// It waits for a version that has not arrived.
    Gap,
    /// It waits for a head that is stuck.
    BehindFailed,
    /// It waits for a person, and those behind it wait with it.
    Stuck,
    /// The lane goes on without it.
    Passed,
}

/// The stance of a row in this state.
pub(super) fn stance(state: State, cause: Option<Cause>, order: Order) -> Stance {
    let stuck = match order.on_terminal() {
        OnTerminal::Park => Stance::Stuck,
        OnTerminal::Advance => Stance::Passed,
    };
    match (state, cause) {
        (State::Received | State::InProgress | State::FailedRetryable, _) => Stance::Moving,
        (State::Parked, Some(Cause::Gap | Cause::GapExpired)) => Stance::Gap,
        (State::Parked, Some(Cause::BehindFailed)) => Stance::BehindFailed,
        (State::FailedTerminal | State::Parked, _) => stuck,
        (State::SkippedDuplicate | State::Completed, _) => Stance::Passed,
    }
}

impl Member {
    pub(super) fn stance(&self, order: Order) -> Stance {
        stance(self.state, self.cause, order)
    }
}

impl Work {
    /// Where it stands in its lane.
    pub(super) const fn spot(&self) -> Spot {
        Spot {
            sequence: self.sequence,
            number: self.number,
        }
    }
}

macro_rules! members {
    ($rest:literal) => {
        concat!(
            "SELECT sequence, number, state, due_ms IS NOT NULL, replay, deadline_ms IS NOT NULL, cause \
             FROM semel_work WHERE consumer = ?1 AND lane = ?2 ",
            $rest
        )
    };
}

const FIRST: &str = members!("ORDER BY sequence, number LIMIT 1");
const BEFORE_SAME: &str =
    members!("AND sequence = ?3 AND number < ?4 ORDER BY number DESC LIMIT 1");
const BEFORE: &str = members!("AND sequence < ?3 ORDER BY sequence DESC, number DESC LIMIT 1");
const AFTER_SAME: &str = members!("AND sequence = ?3 AND number > ?4 ORDER BY number LIMIT 1");
const AFTER: &str = members!("AND sequence > ?3 ORDER BY sequence, number LIMIT 1");

/// The statements above, and how many values they take.
#[cfg(test)]
pub(super) const STATEMENTS: [(&str, usize); 5] = [
    (FIRST, 2),
    (BEFORE_SAME, 4),
    (BEFORE, 3),
    (AFTER_SAME, 4),
    (AFTER, 3),
];

fn member_of(row: &Row<'_>) -> rusqlite::Result<Member> {
    Ok(Member {
        spot: Spot {
            sequence: row.get(0)?,
            number: row.get(1)?,
        },
        state: row.get::<_, SqlState>(2)?.0,
        is_due: row.get(3)?,
        replay: row.get(4)?,
        has_deadline: row.get(5)?,
        cause: row.get::<_, SqlCause>(6)?.0,
    })
}

impl<'a> Lane<'a> {
    /// In which order the lane runs.
    pub(super) const fn order(&self) -> Order {
        self.of.plan.order
    }

    /// The first row of the lane.
    pub(super) fn first(&self, connection: &Connection) -> Result<Option<Member>> {
        let values = params![self.of.number, self.name];
        sql::one(connection, FIRST, values, member_of)
    }

    /// The row before a spot.
    pub(super) fn before(&self, connection: &Connection, spot: Spot) -> Result<Option<Member>> {
        self.beside(connection, spot, BEFORE_SAME, BEFORE)
    }

    /// The row after a spot.
    pub(super) fn after(&self, connection: &Connection, spot: Spot) -> Result<Option<Member>> {
        self.beside(connection, spot, AFTER_SAME, AFTER)
    }

    /// The nearest of the same sequence, else of another one. Two statements, because each is one step in the index.
    fn beside(
        &self,
        connection: &Connection,
        spot: Spot,
        same: &str,
        other: &str,
    ) -> Result<Option<Member>> {
        let (of, name) = (self.of.number, self.name);
        let values: Values<'_> = params![of, name, spot.sequence, spot.number];
        match sql::one(connection, same, values, member_of)? {
            None => sql::one(connection, other, &values[..3], member_of),
            found => Ok(found),
        }
    }

    /// Whether another row of the lane may be claimed, now or later.
    pub(super) fn has_due(&self, connection: &Connection, beside: i64) -> Result<bool> {
        let sql = members!("AND due_ms IS NOT NULL AND number <> ?3 LIMIT 1");
        let values = params![self.of.number, self.name, beside];
        Ok(sql::one(connection, sql, values, member_of)?.is_some())
    }

    /// How many different sequences stand in the lane above one and below another.
    pub(super) fn between(&self, connection: &Connection, above: i64, below: i64) -> Result<u64> {
        let sql = "SELECT count(DISTINCT sequence) FROM semel_work \
                   WHERE consumer = ?1 AND lane = ?2 AND sequence > ?3 AND sequence < ?4";
        let values = params![self.of.number, self.name, above, below];
        let found = sql::one(connection, sql, values, |row| row.get(0))?;
        Ok(found.unwrap_or(0))
    }

    /// The last sequence that was applied or passed over; -1 if the lane has begun and none was.
    pub(super) fn done(&self, connection: &Connection) -> Result<Option<i64>> {
        let sql = "SELECT done FROM semel_lanes WHERE consumer = ?1 AND lane = ?2";
        let values = params![self.of.number, self.name];
        sql::one(connection, sql, values, |row| row.get(0))
    }

    /// Moves the lane's done forward.
    pub(super) fn pass(&self, connection: &Connection, done: i64) -> Result<()> {
        sql::run(
            connection,
            "INSERT INTO semel_lanes (consumer, lane, done) VALUES (?1, ?2, ?3) \
             ON CONFLICT (consumer, lane) DO UPDATE SET done = max(done, excluded.done)",
            params![self.of.number, self.name, done],
        )
        .map(drop)
    }
}

/// Takes a row out of its lane.
pub(super) fn leave(connection: &Connection, number: i64) -> Result<()> {
    let sql = "UPDATE semel_work SET lane = NULL, deadline_ms = NULL WHERE number = ?1";
    sql::run(connection, sql, params![number]).map(drop)
}
