//! A part of a lane in memory, for stores that load rows, ask, and write back what has changed.

use std::collections::{BTreeMap, BTreeSet};

use super::row::{Next, Note, Placed, Row, Spot};
use super::{Lane, Rows};
use crate::clock::Timestamp;
use crate::inbox::order::Order;
use crate::inbox::state::Cause;

/// The lowest and the highest spot of a lane.
const LOWEST: Spot = Spot {
    sequence: None,
    number: i64::MIN,
};
const HIGHEST: Spot = Spot {
    sequence: Some(u64::MAX),
    number: i64::MAX,
};

/// The rules asked for a row that was not loaded: the store loads more around this spot and asks again from the beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Beyond(pub Spot);

/// What the rules did to one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The row as it is now.
    pub row: Row,
    /// When its lane is to be looked at because of it.
    pub deadline: Option<Timestamp>,
    /// Whether it stands in the lane no longer.
    pub has_left: bool,
    /// Whether it was skipped as an older version, so that its record is settled.
    pub is_skipped: bool,
}

/// A part of a lane: its rows between spots that were looked at.
#[derive(Debug, Clone, Default)]
pub struct Window {
    rows: BTreeMap<Spot, Row>,
    /// Stretches in which all rows are known, from one spot to another.
    known: Vec<(Spot, Spot)>,
    next: Option<Next>,
    has_passed: bool,
    /// Other rows that run or are due, if the store has looked for them.
    moving: BTreeSet<Spot>,
    changes: BTreeMap<Spot, Change>,
    notes: Vec<(Spot, Note)>,
}

impl Window {
    /// A lane that stands at this version, with nothing loaded yet.
    pub fn new(next: Option<Next>) -> Self {
        Self {
            next,
            ..Self::default()
        }
    }

    /// The first rows of the lane; `is_all` if there are no more.
    pub fn load_first(&mut self, rows: impl IntoIterator<Item = Row>, is_all: bool) {
        self.load((LOWEST, None), rows, is_all);
    }

    /// Rows before a spot, and those at it and after it; whether the lane begins and ends with them.
    pub fn load_around(
        &mut self,
        spot: Spot,
        before: impl IntoIterator<Item = Row>,
        is_beginning: bool,
        after: impl IntoIterator<Item = Row>,
        is_end: bool,
    ) {
        let before: Vec<Row> = before.into_iter().collect();
        let from = match (is_beginning, before.iter().map(|row| row.spot).min()) {
            (true, _) => LOWEST,
            (false, first) => first.unwrap_or(spot),
        };
        self.load((from, Some(spot)), before, false);
        self.load((spot, None), after, is_end);
    }

    fn load(
        &mut self,
        (from, to): (Spot, Option<Spot>),
        rows: impl IntoIterator<Item = Row>,
        is_end: bool,
    ) {
        let mut last = to.unwrap_or(from);
        for row in rows {
            last = last.max(row.spot);
            self.rows.insert(row.spot, row);
        }
        self.known.push((from, if is_end { HIGHEST } else { last }));
    }

    /// Another row of the lane runs or is due.
    pub fn load_moving(&mut self, spot: Spot) {
        self.moving.insert(spot);
    }

    /// A row as it is now, which its store has changed or added before it asks.
    pub fn set(&mut self, row: Row) {
        if !row.is_due {
            self.moving.remove(&row.spot);
        }
        self.rows.insert(row.spot, row);
    }

    /// A row that the store has taken out of the lane before it asks.
    pub fn remove(&mut self, spot: Spot) {
        self.moving.remove(&spot);
        self.rows.remove(&spot);
    }

    /// The lane with its rules.
    pub const fn lane(&mut self, order: Order, now: Timestamp) -> Lane<'_, Self> {
        Lane::new(self, order, now)
    }

    /// The same lane once what the rules changed is written.
    #[must_use]
    pub fn written(mut self) -> Self {
        self.changes.clear();
        self.notes.clear();
        self.has_passed = false;
        self
    }

    /// What the rules changed, in the order of the lane.
    pub fn changes(&self) -> impl Iterator<Item = &Change> {
        self.changes.values()
    }

    /// What histories are to say, in the order it happened.
    pub fn notes(&self) -> &[(Spot, Note)] {
        &self.notes
    }

    /// The version that the lane has moved on to, if it has.
    pub fn passed(&self) -> Option<Next> {
        self.next.filter(|_| self.has_passed)
    }

    fn change(&mut self, row: Row) -> &mut Change {
        self.changes.entry(row.spot).or_insert(Change {
            row,
            deadline: None,
            has_left: false,
            is_skipped: false,
        })
    }

    /// The end of the stretch around a spot in which all rows are known.
    fn stretch(&self, spot: Spot, ahead: bool) -> Result<Spot, Beyond> {
        let around = self
            .known
            .iter()
            .filter(|(from, to)| (*from..=*to).contains(&spot));
        let end = match ahead {
            true => around.map(|(_, to)| *to).max(),
            false => around.map(|(from, _)| *from).min(),
        };
        end.ok_or(Beyond(spot))
    }
}

impl Rows for Window {
    type Error = Beyond;

    fn next(&mut self) -> Result<Option<Next>, Beyond> {
        Ok(self.next)
    }

    fn first(&mut self) -> Result<Option<Row>, Beyond> {
        self.after(LOWEST)
    }

    fn before(&mut self, spot: Spot) -> Result<Option<Row>, Beyond> {
        let from = self.stretch(spot, false)?;
        match self.rows.range(from..spot).next_back() {
            Some((_, row)) => Ok(Some(*row)),
            None if from == LOWEST => Ok(None),
            // Stretches that touch are one.
            None if from < spot => self.before(from),
            None => Err(Beyond(spot)),
        }
    }

    fn after(&mut self, spot: Spot) -> Result<Option<Row>, Beyond> {
        use std::ops::Bound::{Excluded, Included};
        let to = self.stretch(spot, true)?;
        let mut rows = self.rows.range((Excluded(spot), Included(to)));
        match rows.next() {
            Some((_, row)) => Ok(Some(*row)),
            None if to == HIGHEST => Ok(None),
            None if to > spot => self.after(to),
            None => Err(Beyond(spot)),
        }
    }

    fn is_moving(&mut self, beside: Spot) -> Result<bool, Beyond> {
        let loaded = self.rows.values().filter(|row| row.is_due);
        let mut moving = loaded
            .map(|row| row.spot)
            .chain(self.moving.iter().copied());
        Ok(moving.any(|spot| spot != beside))
    }

    fn put(&mut self, row: &Row, placed: Placed, note: Option<Note>) -> Result<(), Beyond> {
        let row = row.placed(placed);
        self.set(row);
        let change = self.change(row);
        (change.row, change.deadline) = (row, placed.deadline);
        self.notes.extend(note.map(|note| (row.spot, note)));
        Ok(())
    }

    fn leave(&mut self, row: &Row) -> Result<(), Beyond> {
        self.remove(row.spot);
        let change = self.change(*row);
        (change.has_left, change.deadline) = (true, None);
        Ok(())
    }

    fn skip_older(&mut self, row: &Row) -> Result<(), Beyond> {
        let placed = Placed::skipped(Cause::OlderVersion);
        let note = Note {
            to: placed.state,
            cause: Cause::OlderVersion,
        };
        self.put(row, placed, Some(note))?;
        let row = row.placed(placed);
        self.leave(&row)?;
        self.change(row).is_skipped = true;
        Ok(())
    }

    fn pass(&mut self, next: Next) -> Result<(), Beyond> {
        if self.next < Some(next) {
            (self.next, self.has_passed) = (Some(next), true);
        }
        Ok(())
    }
}
