//! The front of a lane: its first row may go, is older, or waits for what is missing.

use std::ops::ControlFlow;

use super::relabel::Label;
use super::row::{Class, Next, Placed, Rerun, Row, Spot};
use super::{Lane, Rows};
use crate::inbox::order::Order;
use crate::inbox::state::{Cause, State};

/// Why the front is looked at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Look {
    /// The version that was applied just now.
    pub(super) applied: Option<u64>,
    /// Why the next row is released, if its own label does not say it.
    pub(super) because: Option<Cause>,
    /// Whether something else than the front may be running, because a person has changed the order of things.
    pub(super) is_careful: bool,
}

impl Look {
    /// A look after which nothing is released while something else of the lane runs.
    pub(super) const fn careful(because: Option<Cause>) -> Self {
        Self {
            applied: None,
            because,
            is_careful: true,
        }
    }
}

impl<R: Rows> Lane<'_, R> {
    /// Lets the first row go that may, and takes out of the lane what is done or passed over before it. Where the first row stood.
    pub(super) fn front(&mut self, look: Look) -> Result<Option<Spot>, R::Error> {
        let mut began = None;
        while let Some(first) = self.rows.first()? {
            began = began.or(Some(first.spot));
            let step = match self.order {
                Order::None => self.dissolve(&first)?,
                Order::Arrival { .. } | Order::Sequence { .. } => self.front_row(&first, look)?,
            };
            if step.is_break() {
                break;
            }
        }
        Ok(began)
    }

    /// The consumer has no order any more: whatever waits is due, and nothing stands in a lane.
    pub(super) fn dissolve(&mut self, row: &Row) -> Result<ControlFlow<()>, R::Error> {
        if !self.step() {
            // Housekeeping finds whatever stands in a lane that should not be one.
            return Ok(ControlFlow::Break(()));
        }
        if row.is_waiting() {
            self.relabel(row, Label::Due, None)?;
        }
        self.rows.leave(row)?;
        Ok(ControlFlow::Continue(()))
    }

    fn front_row(&mut self, first: &Row, look: Look) -> Result<ControlFlow<()>, R::Error> {
        if first.class(self.order) == Class::Mark {
            return self.pass_mark(first);
        }
        if !first.is_waiting() {
            // It runs and its end looks here again, or it is stuck and those behind it wait.
            return Ok(ControlFlow::Break(()));
        }
        // What is rebuilt may run below the next version, but no version twice in a row.
        let is_twin = look.applied.is_some() && first.spot.sequence == look.applied;
        if (is_twin && first.rerun == Rerun::Rebuild) || self.is_older(first.spot, first.rerun)? {
            if !self.step() {
                return self.leave_off(first).map(ControlFlow::Break);
            }
            self.rows.skip_older(first)?;
            return Ok(ControlFlow::Continue(()));
        }
        let ahead = self.ahead(first.spot)?;
        match self.label(ahead, first.spot)? {
            Label::Due => self.let_go(first, look)?,
            label => self.wait_for_missing(first, label)?,
        }
        Ok(ControlFlow::Break(()))
    }

    /// A mark in front leaves as soon as everything before it is done.
    fn pass_mark(&mut self, first: &Row) -> Result<ControlFlow<()>, R::Error> {
        if let (Order::Sequence { .. }, Some(sequence)) = (self.order, first.spot.sequence) {
            let next = self.rows.next()?.map_or(0, |next| next.0);
            if sequence > next {
                return self.behind_mark(first);
            }
            if !self.step() {
                return self.leave_off(first).map(ControlFlow::Break);
            }
            self.rows.pass(Next(next.max(sequence + 1)))?;
        }
        self.rows.leave(first)?;
        Ok(ControlFlow::Continue(()))
    }

    /// A mark in front that waits for a missing version: the row behind it says so.
    fn behind_mark(&mut self, mark: &Row) -> Result<ControlFlow<()>, R::Error> {
        let mut at = mark.spot;
        while let Some(row) = self.rows.after(at)? {
            at = row.spot;
            if row.class(self.order) == Class::Mark && self.step() {
                continue;
            }
            if row.is_waiting() {
                self.wait_for_missing(&row, Label::Gap)?;
            }
            break;
        }
        Ok(ControlFlow::Break(()))
    }

    /// The row is next: it is due now, unless something else of the lane runs.
    fn let_go(&mut self, first: &Row, look: Look) -> Result<(), R::Error> {
        let label = match look.is_careful && self.rows.is_moving(first.spot)? {
            true => Label::Waiting,
            false => Label::Due,
        };
        if label == Label::Waiting && first.state == State::Received {
            return Ok(());
        }
        let was = first.class(self.order);
        let row = self.relabel(first, label, look.because)?;
        match was == Class::Open {
            true => Ok(()),
            false => self.follow_row(&row),
        }
    }

    /// The first row waits for a version that has not arrived: it says so, and its patience is counted from its arrival.
    fn wait_for_missing(&mut self, first: &Row, label: Label) -> Result<(), R::Error> {
        match first.cause {
            Some(Cause::GapExpired) => Ok(()),
            Some(Cause::Gap) if first.has_deadline => Ok(()),
            Some(Cause::Gap) => {
                let placed = Placed {
                    deadline: self.patience_ends(first.received_at),
                    ..Placed::parked(Cause::Gap)
                };
                self.rows.put(first, placed, None)
            }
            _ => {
                let was = first.class(self.order);
                let row = self.relabel(first, label, None)?;
                match was == row.class(self.order) {
                    true => Ok(()),
                    false => self.follow_row(&row),
                }
            }
        }
    }
}
