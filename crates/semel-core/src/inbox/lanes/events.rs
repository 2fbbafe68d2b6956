//! What happens to a lane.

use super::front::Look;
use super::relabel::Label;
use super::row::{Class, Next, Placed, Rerun, Row, Spot};
use super::{Lane, Rows};
use crate::inbox::order::{Baseline, GapThen, OnTerminal, Order};
use crate::inbox::state::{Cause, State};

impl<R: Rows> Lane<'_, R> {
    /// A message arrives at this spot: where it goes. The first one of a lane by sequence gives it its beginning. Once its row
    /// is there, [`Lane::arrived`] follows.
    pub fn arrives(&mut self, spot: Spot) -> Result<Placed, R::Error> {
        if let (Order::Sequence { baseline, .. }, Some(sequence)) = (self.order, spot.sequence)
            && self.rows.next()?.is_none()
        {
            let next = match baseline {
                Baseline::FirstSeen => sequence,
                Baseline::After(done) => done.saturating_add(1),
            };
            self.rows.pass(Next(next))?;
        }
        if self.is_older(spot, Rerun::No)? {
            return Ok(Placed::skipped(Cause::OlderVersion));
        }
        let ahead = self.ahead(spot)?;
        let label = self.label(ahead, spot)?;
        Ok(self.placed(label, self.now))
    }

    /// The message that arrived at this spot stands there now: what waited for its version no longer does.
    pub fn arrived(&mut self, row: &Row) -> Result<(), R::Error> {
        match self.order {
            // Nothing stands behind the last one.
            Order::None | Order::Arrival { .. } => Ok(()),
            Order::Sequence { .. } => self.follow_row(row),
        }
    }

    /// The row at this spot was applied, or passed over in its turn, and is out of the lane: the next one goes on.
    pub fn applied(&mut self, spot: Spot) -> Result<(), R::Error> {
        if let (Order::Sequence { .. }, Some(sequence)) = (self.order, spot.sequence) {
            self.rows.pass(Next(sequence.saturating_add(1)))?;
        }
        let applied = spot.sequence;
        let first = self.front(Look {
            applied,
            ..Look::default()
        })?;
        match first {
            // Something that a person put before it is stuck: what stood behind it now stands behind that.
            Some(first) if first < spot && self.order != Order::None => {
                let ahead = self.ahead(spot)?;
                self.follow(spot, ahead)
            }
            _ => Ok(()),
        }
    }

    /// The row has failed for good or was parked: those behind it wait, or the lane goes on without it.
    pub fn stuck(&mut self, row: &Row) -> Result<(), R::Error> {
        match (self.order, self.order.on_terminal()) {
            (Order::Arrival { .. } | Order::Sequence { .. }, OnTerminal::Park) => {
                self.follow_row(row)?;
                // What a person put before it has waited for it.
                self.front(Look::default()).map(drop)
            }
            (Order::Sequence { .. }, OnTerminal::Advance) if row.spot.sequence.is_some() => {
                self.front(Look::default()).map(drop)
            }
            (Order::None | Order::Arrival { .. } | Order::Sequence { .. }, _) => {
                self.rows.leave(row)?;
                self.front(Look::default()).map(drop)
            }
        }
    }

    /// The row is no longer stuck, without a person's doing: those behind it take their places again.
    pub fn unstuck(&mut self, row: &Row) -> Result<(), R::Error> {
        match self.order {
            Order::None => self.front(Look::default()).map(drop),
            Order::Arrival { .. } | Order::Sequence { .. } => self.follow_row(row),
        }
    }

    /// Whether the lane has gone past the version of a message that is to run again.
    pub fn is_past(&mut self, spot: Spot, rerun: Rerun) -> Result<bool, R::Error> {
        self.is_older(spot, rerun)
    }

    /// Whether a message that is to run again may take its place; `None` if its lane has gone past its version. It may have to wait: for
    /// its turn, for a missing version, or behind a row that is stuck.
    pub fn takes_its_place(
        &mut self,
        spot: Spot,
        rerun: Rerun,
    ) -> Result<Option<Placed>, R::Error> {
        if self.is_older(spot, rerun)? {
            return Ok(None);
        }
        let ahead = self.ahead(spot)?;
        let label = match self.label(ahead, spot)? {
            // The front is looked at when everything that a person changes has changed.
            Label::Due => Label::Waiting,
            label => label,
        };
        Ok(Some(self.placed(label, self.now)))
    }

    /// A person has changed rows at these spots, which are where they should be or are gone: the lane is set right.
    pub fn changed_by_hand(&mut self, spots: &[Spot]) -> Result<(), R::Error> {
        self.front(Look::careful(None))?;
        if self.order == Order::None {
            return Ok(());
        }
        for spot in spots {
            let here = Spot {
                number: spot.number.saturating_add(1),
                ..*spot
            };
            // The row itself, if it still stands there, is before the spot after it.
            let ahead = self.ahead(here)?;
            self.follow(*spot, ahead)?;
        }
        Ok(())
    }

    /// A row whose deadline has passed: its wait for a missing version, or what an event left to do. Whether its lane changed.
    pub fn overdue(&mut self, row: &Row) -> Result<bool, R::Error> {
        let by_sequence = matches!(self.order, Order::Sequence { .. });
        if self.order == Order::None {
            return self.front(Look::default()).map(|_| true);
        }
        let is_gap = row.class(self.order) == Class::Gap && by_sequence;
        if is_gap && self.wrong(row)?.is_none() && !self.is_next(row)? {
            return self.gap_overdue(row);
        }
        let row = self.without_deadline(row)?;
        self.go_on(row.spot).map(|()| true)
    }

    /// Whether it is first and nothing is missing before it.
    fn is_next(&mut self, row: &Row) -> Result<bool, R::Error> {
        let ahead = self.ahead(row.spot)?;
        Ok(self.label(ahead, row.spot)? == Label::Due)
    }

    /// Goes on where an event left off.
    fn go_on(&mut self, spot: Spot) -> Result<(), R::Error> {
        self.front(Look::careful(None))?;
        let after = Spot {
            number: spot.number.saturating_add(1),
            ..spot
        };
        match self.rows.before(after)? {
            Some(row) if row.spot == spot => self.set_right(&row),
            _ => Ok(()),
        }
    }

    fn without_deadline(&mut self, row: &Row) -> Result<Row, R::Error> {
        let placed = Placed {
            state: row.state,
            cause: row.cause,
            is_due: row.is_due,
            deadline: None,
        };
        self.rows.put(row, placed, None)?;
        Ok(row.placed(placed))
    }

    fn gap_overdue(&mut self, row: &Row) -> Result<bool, R::Error> {
        let Order::Sequence { on_gap, .. } = self.order else {
            return Ok(false);
        };
        match on_gap.then {
            GapThen::Hold => {
                let placed = Placed::parked(Cause::GapExpired);
                let note = super::Note {
                    to: State::Parked,
                    cause: Cause::GapExpired,
                };
                self.rows.put(row, placed, Some(note))?;
                self.follow_row(&row.placed(placed)).map(|()| true)
            }
            GapThen::Advance => self.advance_past_gap(row),
        }
    }

    /// The lane goes on with its lowest version, as if the missing ones had been applied. While something in front of the gap moves, it waits.
    fn advance_past_gap(&mut self, row: &Row) -> Result<bool, R::Error> {
        let row = self.without_deadline(row)?;
        let first = self.first_unmarked()?;
        let Some(first) = first.filter(|first| first.class(self.order) == Class::Gap) else {
            self.follow_row(&row)?;
            return Ok(false);
        };
        if let Some(sequence) = first.spot.sequence {
            self.rows.pass(Next(sequence))?;
        }
        self.front(Look::careful(Some(Cause::GapExpired)))?;
        Ok(true)
    }

    fn first_unmarked(&mut self) -> Result<Option<Row>, R::Error> {
        let mut row = self.rows.first()?;
        while let Some(found) = row {
            if found.class(self.order) != Class::Mark {
                return Ok(row);
            }
            row = self.rows.after(found.spot)?;
        }
        Ok(None)
    }
}
