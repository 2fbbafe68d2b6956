//! The rules of lanes: pure functions over rows, which every store asks, so that two stores cannot disagree.
//!
//! A lane is the messages of one tenant and one consumer with one key. Only its head is ever due, so no worker can overtake
//! another, however rows are locked or skipped. A store holds the lane (its writer, or a lock), shows its rows through
//! [`Rows`], calls one of the events of [`Lane`], and writes what they put. Nothing here reads a clock or does IO.
//!
//! Where a message stands follows from what stands right before it, and from nothing else:
//!
//! | before it | by arrival | by sequence |
//! |---|---|---|
//! | nothing | due | due if it is the next version; skipped if it is older; else it waits for what is missing |
//! | a row that runs, will run, or waits for its turn | waits for its turn | the same if no version is missing between them |
//! | a row that waits for a missing version | - | waits for that version too |
//! | a row that is stuck, or waits behind one | waits behind it | waits behind it |
//!
//! So a change goes forward along the lane only until a row already says what it should, and at most [`STEP_MAX`] rows in one event: what
//! is left then carries a deadline that has passed, and [`Lane::overdue`] goes on from there. A row that was passed over
//! before its turn, or that the lane goes on without, stays as a *mark*: its version is not missing.

mod events;
mod front;
mod relabel;
mod row;
mod window;

#[cfg(test)]
mod tests;

pub use row::{Next, Note, Placed, Rerun, Row, Spot, is_parked_for_others};
pub use window::{Beyond, Change, Window};

use super::order::Order;
use crate::clock::Timestamp;

/// The most rows that one event changes beyond those it is about.
pub const STEP_MAX: usize = 200;

/// One lane as its rows. All methods see what earlier calls have put.
pub trait Rows {
    /// Why a row cannot be seen or written.
    type Error;

    /// The version that runs next; `None` before the first message of a lane by sequence.
    fn next(&mut self) -> Result<Option<Next>, Self::Error>;

    /// The first row of the lane.
    fn first(&mut self) -> Result<Option<Row>, Self::Error>;

    /// The row right before a spot.
    fn before(&mut self, spot: Spot) -> Result<Option<Row>, Self::Error>;

    /// The row right after a spot.
    fn after(&mut self, spot: Spot) -> Result<Option<Row>, Self::Error>;

    /// Whether a row other than this one runs or is due.
    fn is_moving(&mut self, beside: Spot) -> Result<bool, Self::Error>;

    /// Puts a row where it belongs; a note is kept in the message's history.
    fn put(&mut self, row: &Row, placed: Placed, note: Option<Note>) -> Result<(), Self::Error>;

    /// Takes a row out of the lane.
    fn leave(&mut self, row: &Row) -> Result<(), Self::Error>;

    /// An older version: SKIPPED_DUPLICATE, its record settled, out of the lane.
    fn skip_older(&mut self, row: &Row) -> Result<(), Self::Error>;

    /// Moves the lane on to this version, unless it is further already.
    fn pass(&mut self, next: Next) -> Result<(), Self::Error>;
}

/// A lane with its rules, for one event.
#[derive(Debug)]
pub struct Lane<'a, R> {
    rows: &'a mut R,
    order: Order,
    now: Timestamp,
    /// How many more rows this event may change.
    left: usize,
}

impl<'a, R: Rows> Lane<'a, R> {
    /// The lane of these rows under a consumer's order.
    pub const fn new(rows: &'a mut R, order: Order, now: Timestamp) -> Self {
        Self {
            rows,
            order,
            now,
            left: STEP_MAX,
        }
    }

    /// With another bound than [`STEP_MAX`].
    #[must_use]
    pub const fn at_most(mut self, rows: usize) -> Self {
        self.left = rows;
        self
    }

    /// Takes one step of the event's bound; false once there is none.
    fn step(&mut self) -> bool {
        let has = self.left > 0;
        self.left = self.left.saturating_sub(1);
        has
    }
}
