//! Where a row belongs, by what stands right before it, and how a change goes forward along the lane.

use super::row::{Class, Next, Note, Placed, Rerun, Row, Spot};
use super::{Lane, Rows};
use crate::clock::Timestamp;
use crate::inbox::order::Order;
use crate::inbox::state::{Cause, State};

/// What stands right before a spot, marks not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ahead {
    /// `None` if nothing does.
    pub(super) class: Option<Class>,
    /// The version up to which nothing is missing, counted from that row or from the lane's beginning; 0 means none.
    until: u64,
}

/// Where a row that waits belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    Due,
    Waiting,
    Gap,
    Blocked,
}

impl Label {
    pub(super) const fn class(self) -> Class {
        match self {
            Self::Due | Self::Waiting => Class::Open,
            Self::Gap => Class::Gap,
            Self::Blocked => Class::Blocked,
        }
    }
}

impl Ahead {
    /// A row of this class, at this spot.
    fn of(class: Class, spot: Spot) -> Self {
        Self {
            class: Some(class),
            until: spot.sequence.map_or(0, |sequence| sequence + 1),
        }
    }

    /// The same after a mark: its version is not missing, but one between may be.
    fn over(self, mark: Spot, next: Option<Next>) -> Self {
        let Some(sequence) = mark.sequence else {
            return self;
        };
        match sequence <= self.reach(next) {
            true => Self {
                until: self.until.max(sequence + 1),
                ..self
            },
            false => self,
        }
    }

    /// The highest version that would not leave a gap.
    fn reach(self, next: Option<Next>) -> u64 {
        self.until.max(next.map_or(0, |next| next.0))
    }
}

impl<R: Rows> Lane<'_, R> {
    /// What stands right before a spot.
    pub(super) fn ahead(&mut self, spot: Spot) -> Result<Ahead, R::Error> {
        let next = self.rows.next()?;
        let (mut at, mut marks) = (spot, Vec::new());
        let mut ahead = loop {
            match self.rows.before(at)? {
                None => {
                    break Ahead {
                        class: None,
                        until: 0,
                    };
                }
                Some(row) => match row.class(self.order) {
                    Class::Mark => marks.push(row.spot),
                    class => break Ahead::of(class, row.spot),
                },
            }
            at = marks.last().copied().unwrap_or(at);
        };
        for mark in marks.into_iter().rev() {
            ahead = ahead.over(mark, next);
        }
        Ok(ahead)
    }

    /// Where a row at this spot belongs.
    pub(super) fn label(&mut self, ahead: Ahead, spot: Spot) -> Result<Label, R::Error> {
        let by_sequence = matches!(self.order, Order::Sequence { .. });
        let is_missing = match spot.sequence.filter(|_| by_sequence) {
            Some(sequence) => sequence > ahead.reach(self.rows.next()?),
            None => false,
        };
        Ok(match ahead.class {
            Some(Class::Blocked) => Label::Blocked,
            Some(Class::Gap) if by_sequence => Label::Gap,
            _ if is_missing => Label::Gap,
            None => Label::Due,
            Some(Class::Open | Class::Gap | Class::Mark) => Label::Waiting,
        })
    }

    /// What a label means for a row; patience is counted from this time.
    pub(super) fn placed(&self, label: Label, from: Timestamp) -> Placed {
        match label {
            Label::Due => Placed::DUE,
            Label::Waiting => Placed::WAITING,
            Label::Blocked => Placed::parked(Cause::BehindFailed),
            Label::Gap => Placed {
                deadline: self.patience_ends(from),
                ..Placed::parked(Cause::Gap)
            },
        }
    }

    /// When a row that waits for a missing version since this time runs out of patience.
    pub(super) fn patience_ends(&self, from: Timestamp) -> Option<Timestamp> {
        match self.order {
            Order::Sequence { on_gap, .. } => Some(from.after(on_gap.deadline)),
            Order::None | Order::Arrival { .. } => None,
        }
    }

    /// Puts a row that waits under its label; `because` is why, if its own label does not say it.
    pub(super) fn relabel(
        &mut self,
        row: &Row,
        label: Label,
        because: Option<Cause>,
    ) -> Result<Row, R::Error> {
        let placed = self.placed(label, self.now);
        let cause = match (placed.cause, row.state) {
            (Some(cause), _) => Some(cause),
            // Its state does not change, only its turn has come.
            (None, State::Received) => None,
            (None, _) => because.or(Some(match row.class(self.order) {
                Class::Gap => Cause::GapFilled,
                Class::Open | Class::Blocked | Class::Mark => Cause::HeadDone,
            })),
        };
        let to = placed.state;
        self.rows
            .put(row, placed, cause.map(|cause| Note { to, cause }))?;
        Ok(row.placed(placed))
    }

    /// Sets right what stands after a spot, until a row already says what it should.
    pub(super) fn follow(&mut self, spot: Spot, ahead: Ahead) -> Result<(), R::Error> {
        let (mut at, mut ahead) = (spot, ahead);
        let next = self.rows.next()?;
        while let Some(row) = self.rows.after(at)? {
            at = row.spot;
            if row.class(self.order) == Class::Mark {
                ahead = ahead.over(at, next);
                continue;
            }
            // What it waits for is its own business, and those behind it look at it alone.
            if !row.is_waiting() {
                break;
            }
            let label = match self.label(ahead, at)? {
                // Whether the head may go is decided in one place.
                Label::Due => Label::Waiting,
                label => label,
            };
            if says(&row, label) {
                break;
            }
            if !self.step() {
                return self.leave_off(&row);
            }
            self.relabel(&row, label, None)?;
            ahead = Ahead::of(label.class(), at);
        }
        Ok(())
    }

    /// Leaves a deadline that has passed on a row that is not right yet: housekeeping goes on from there.
    pub(super) fn leave_off(&mut self, row: &Row) -> Result<(), R::Error> {
        let placed = Placed {
            state: row.state,
            cause: row.cause,
            is_due: row.is_due,
            deadline: Some(self.now),
        };
        self.rows.put(row, placed, None)
    }

    /// Sets a row right that stands in the lane, and what stands after it.
    pub(super) fn set_right(&mut self, row: &Row) -> Result<(), R::Error> {
        let row = match self.wrong(row)? {
            Some(label) => self.relabel(row, label, None)?,
            None => *row,
        };
        self.follow_row(&row)
    }

    /// What a row that waits should say instead of what it says. The head is decided elsewhere.
    pub(super) fn wrong(&mut self, row: &Row) -> Result<Option<Label>, R::Error> {
        let ahead = self.ahead(row.spot)?;
        let label = self.label(ahead, row.spot)?;
        let is_right = label == Label::Due || !row.is_waiting() || says(row, label);
        Ok((!is_right).then_some(label))
    }

    /// Sets right what stands after a row that has changed.
    pub(super) fn follow_row(&mut self, row: &Row) -> Result<(), R::Error> {
        let ahead = match row.class(self.order) {
            Class::Mark => {
                let next = self.rows.next()?;
                self.ahead(row.spot)?.over(row.spot, next)
            }
            class => Ahead::of(class, row.spot),
        };
        self.follow(row.spot, ahead)
    }

    /// Whether its lane has gone past a version, so that it says nothing new.
    pub(super) fn is_older(&mut self, spot: Spot, rerun: Rerun) -> Result<bool, R::Error> {
        let (Order::Sequence { .. }, Some(sequence)) = (self.order, spot.sequence) else {
            return Ok(false);
        };
        let next = self.rows.next()?;
        Ok(rerun != Rerun::Rebuild && next.is_some_and(|next| sequence < next.0))
    }
}

/// Whether a row that waits says so already.
fn says(row: &Row, label: Label) -> bool {
    match (row.state, row.cause) {
        (State::Received, _) => label == Label::Waiting,
        (_, Some(Cause::Gap | Cause::GapExpired)) => label == Label::Gap,
        _ => label == Label::Blocked,
    }
}
