//! The place of a message in its lane, by the core's decision.

use rusqlite::params;
use semel_core::Result;
use semel_core::inbox::message::SEQUENCE_MAX;
use semel_core::inbox::order::{Head, LaneView, Place, place};
use semel_core::inbox::{Baseline, Cause, Message, Order, State};

use super::lanes::{Lane, Member, Spot, Stance};
use super::notes::Consumer;
use super::rows::REBUILD;
use super::sql::{self, SqlCause, SqlState};
use crate::verbs::Session;

/// What a place means for a row of work.
#[derive(Debug, Clone, Copy)]
pub(super) struct Placed {
    pub(super) state: State,
    pub(super) cause: Option<Cause>,
    pub(super) due_ms: Option<i64>,
    pub(super) deadline_ms: Option<i64>,
}

impl Placed {
    /// Stored, and nobody may claim it.
    pub(super) const WAITING: Self = Self {
        state: State::Received,
        cause: None,
        due_ms: None,
        deadline_ms: None,
    };

    /// Due at this time.
    pub(super) const fn due(at_ms: i64) -> Self {
        Self {
            due_ms: Some(at_ms),
            ..Self::WAITING
        }
    }

    /// Parked for this reason.
    pub(super) const fn parked(cause: Cause) -> Self {
        Self {
            state: State::Parked,
            cause: Some(cause),
            ..Self::WAITING
        }
    }
}

/// The sequence by which a message stands in a lane, if it stands in one.
pub(super) fn sequence_in_lane(order: Order, message: &Message) -> Option<i64> {
    lane_sequence(order, message.lane().is_some(), message.sequence())
}

/// The same, from a message's parts.
pub(super) fn lane_sequence(order: Order, lane: bool, sequence: Option<u64>) -> Option<i64> {
    match order {
        _ if !order.has_lane(lane, sequence.is_some()) => None,
        Order::Sequence { .. } => sequence.and_then(|s| i64::try_from(s).ok()),
        Order::Arrival { .. } | Order::None => Some(-1),
    }
}

impl Session<'_> {
    /// The place of a row that stands, or is about to stand, at this spot. The first message of a lane by sequence
    /// gives it its beginning.
    pub(super) fn place(&self, lane: Lane<'_>, spot: Spot, replay: u8) -> Result<Place> {
        let order = lane.order();
        let front = lane.before(self.connection, spot)?;
        let head = self.head(lane, front.as_ref())?;
        if !matches!(order, Order::Sequence { .. }) || spot.sequence < 0 {
            let view = LaneView {
                head,
                ..LaneView::default()
            };
            return Ok(place(order, view, None).0);
        }
        let begun = lane.done(self.connection)?;
        // A rebuild sets the lane back to just before this version, for this version.
        let done = match begun {
            Some(done) if replay == REBUILD && spot.sequence <= done => Some(spot.sequence - 1),
            done => done,
        };
        let view = LaneView {
            done: done.map(shifted),
            head,
            between: self.between(lane, spot, front.as_ref(), done)?,
        };
        let (found, done) = place(shifted_order(order), view, Some(shifted(spot.sequence)));
        if let (None, Some(done)) = (begun, done) {
            let done = i64::try_from(done).unwrap_or(i64::MAX) - 1;
            lane.pass(self.connection, done)?;
        }
        Ok(found)
    }

    /// What is in front, not counting what the lane goes on without. Everything behind a stuck row waits for it, so the
    /// nearest row tells.
    fn head(&self, lane: Lane<'_>, front: Option<&Member>) -> Result<Head> {
        let mut front = front.cloned();
        while let Some(member) = front {
            match member.stance(lane.order()) {
                Stance::Passed => front = lane.before(self.connection, member.spot)?,
                Stance::Moving | Stance::Gap => return Ok(Head::Moving),
                Stance::BehindFailed | Stance::Stuck => return Ok(Head::Stuck),
            }
        }
        Ok(Head::Free)
    }

    /// How many versions between the lane's done and a spot have arrived.
    fn between(
        &self,
        lane: Lane<'_>,
        spot: Spot,
        front: Option<&Member>,
        done: Option<i64>,
    ) -> Result<u64> {
        let (Some(front), Some(done)) = (front, done) else {
            return Ok(0);
        };
        // Next to a row without a gap before it there is none either; a lane with many waiting rows need not be counted.
        let is_next = front.spot.sequence >= spot.sequence - 1 && front.spot.sequence > done;
        if is_next && front.stance(lane.order()) == Stance::Moving {
            return Ok(u64::try_from(spot.sequence - done - 1).unwrap_or(0));
        }
        lane.between(self.connection, done, spot.sequence)
    }

    /// What a place means for a row of this consumer.
    pub(super) fn placed(&self, of: Consumer<'_>, place: Place) -> Placed {
        match place {
            Place::Due => Placed::due(self.now.as_millis()),
            Place::Behind => Placed::WAITING,
            Place::BehindStuck => Placed::parked(Cause::BehindFailed),
            Place::Gap => Placed {
                deadline_ms: patience_ms(of.plan.order)
                    .map(|ms| self.now.as_millis().saturating_add(ms)),
                ..Placed::parked(Cause::Gap)
            },
            Place::Older => Placed {
                state: State::SkippedDuplicate,
                cause: Some(Cause::OlderVersion),
                ..Placed::WAITING
            },
        }
    }

    /// Puts a row of work where it belongs now.
    pub(super) fn put(&mut self, of: Consumer<'_>, number: i64, placed: Placed) -> Result<()> {
        sql::run(
            self.connection,
            "UPDATE semel_work SET state = ?2, cause = ?3, due_ms = ?4, deadline_ms = ?5, \
             changed_ms = ?6 WHERE number = ?1",
            params![
                number,
                SqlState(placed.state),
                SqlCause(placed.cause),
                placed.due_ms,
                placed.deadline_ms,
                self.now.as_millis(),
            ],
        )?;
        if placed.due_ms.is_some() {
            self.wake(&of.plan.consumer);
        }
        Ok(())
    }
}

/// How long a message waits for a missing version.
pub(super) fn patience_ms(order: Order) -> Option<i64> {
    match order {
        Order::Sequence { on_gap, .. } => {
            // Kept far from the largest number, so that an arrival can be added to it.
            let ms = i64::try_from(on_gap.deadline.as_millis()).unwrap_or(i64::MAX);
            Some(ms.min(i64::MAX / 4))
        }
        Order::None | Order::Arrival { .. } => None,
    }
}

/// Sequences are shifted by one for the core's decision, so that a lane which has begun at 0 with nothing done yet
/// (-1) differs from one that has not begun.
fn shifted(sequence: i64) -> u64 {
    u64::try_from(sequence + 1).unwrap_or(0)
}

fn shifted_order(order: Order) -> Order {
    match order {
        Order::Sequence {
            baseline: Baseline::After(done),
            on_gap,
            on_terminal,
        } => Order::Sequence {
            baseline: Baseline::After(done.min(SEQUENCE_MAX) + 1),
            on_gap,
            on_terminal,
        },
        order => order,
    }
}
