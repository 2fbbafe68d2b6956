//! What happens to one lane in one transaction, written down first and carried out on a part of the lane, for stores that load rows in
//! bulk. Carrying it out has no effect outside the window, so it begins anew whenever a row was missing.

use super::row::{Placed, Rerun, Row, Spot};
use super::window::{Beyond, Window};
use super::{Rows, STEP_MAX};
use crate::clock::Timestamp;
use crate::inbox::order::Order;
use crate::inbox::state::State;

/// Something that happens to a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A message arrives at this spot. Answers where it goes.
    Arrive(Spot),
    /// The row at this spot was applied, or passed over in its turn, and is out of the lane.
    Applied(Spot),
    /// The row has failed for good or was parked, and is so now.
    Stuck(Row),
    /// The row is no longer stuck, without a person's doing, and is so now.
    Unstuck(Row),
    /// A person changed this row, which is so now.
    Changed(Row),
    /// A person took this row out of the lane.
    Taken(Row),
    /// A person lets this message take its place, which the lane decides. Answers where it goes.
    TakePlace(Row),
    /// The deadline of this row has passed. Answers where it is, if its lane changed.
    Overdue(Row),
}

impl Event {
    const fn is_by_hand(&self) -> bool {
        matches!(self, Self::Changed(_) | Self::Taken(_) | Self::TakePlace(_))
    }

    /// The spot it is about.
    pub const fn spot(&self) -> Spot {
        match self {
            Self::Arrive(spot) | Self::Applied(spot) => *spot,
            Self::Stuck(row)
            | Self::Unstuck(row)
            | Self::Changed(row)
            | Self::Taken(row)
            | Self::TakePlace(row)
            | Self::Overdue(row) => row.spot,
        }
    }
}

impl Window {
    /// Lets things happen in their order; what each of them answers. What people did is set right when all of it has been done.
    pub fn run(
        &mut self,
        order: Order,
        now: Timestamp,
        events: &[Event],
        steps_max: usize,
    ) -> Result<Vec<Option<Placed>>, Beyond> {
        let mut answers = Vec::with_capacity(events.len());
        for event in events {
            answers.push(self.happen(order, now, event)?);
        }
        let by_hand = events.iter().filter(|event| event.is_by_hand());
        let mut spots: Vec<Spot> = by_hand.map(Event::spot).collect();
        if !spots.is_empty() {
            spots.sort_unstable();
            self.lane(order, now)
                .at_most(steps_max.max(STEP_MAX))
                .changed_by_hand(&spots)?;
        }
        Ok(answers)
    }

    fn happen(
        &mut self,
        order: Order,
        now: Timestamp,
        event: &Event,
    ) -> Result<Option<Placed>, Beyond> {
        match event {
            Event::Arrive(spot) => return self.arrive(order, now, *spot).map(Some),
            Event::Applied(spot) => {
                self.remove(*spot);
                self.lane(order, now).applied(*spot)?;
            }
            Event::Stuck(row) => {
                self.set(*row);
                self.lane(order, now).stuck(row)?;
            }
            Event::Unstuck(row) => {
                self.set(*row);
                self.lane(order, now).unstuck(row)?;
            }
            Event::Changed(row) => self.set(*row),
            Event::Taken(row) => self.remove(row.spot),
            Event::TakePlace(row) => {
                let placed = self.lane(order, now).takes_its_place(row.spot, row.rerun)?;
                let placed = placed.unwrap_or(Placed::WAITING);
                self.put(row, placed, None)?;
                return Ok(Some(placed));
            }
            Event::Overdue(row) => {
                let there = self.at(row.spot)?;
                // An event before this one may have dealt with it.
                let Some(there) = there.filter(|there| there.has_deadline == row.has_deadline)
                else {
                    return Ok(None);
                };
                let has_changed = self.lane(order, now).overdue(&there)?;
                return Ok(has_changed.then_some(Placed::WAITING));
            }
        }
        Ok(None)
    }

    fn arrive(&mut self, order: Order, now: Timestamp, spot: Spot) -> Result<Placed, Beyond> {
        let placed = self.lane(order, now).arrives(spot)?;
        if placed.state == State::SkippedDuplicate {
            return Ok(placed);
        }
        let row = Row {
            spot,
            state: placed.state,
            cause: placed.cause,
            is_due: placed.is_due,
            has_deadline: placed.deadline.is_some(),
            rerun: Rerun::No,
            received_at: now,
        };
        self.set(row);
        self.lane(order, now).arrived(&row)?;
        Ok(placed)
    }

    /// The row at a spot, if one stands there.
    fn at(&mut self, spot: Spot) -> Result<Option<Row>, Beyond> {
        let after = Spot {
            number: spot.number.saturating_add(1),
            ..spot
        };
        Ok(self.before(after)?.filter(|row| row.spot == spot))
    }
}
