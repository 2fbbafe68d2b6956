//! What a lane does next, by what stands in front in it: a pure decision.

use semel_core::Timestamp;
use semel_core::inbox::order::GapThen;
use semel_core::inbox::{Cause, OnTerminal, Order, Plan, State};

use super::super::notes::Transition;
use super::super::rows::Work;
use super::Lane;
use super::place::gap_deadline;

/// What a look at the front of a lane leads to.
#[derive(Debug, Default)]
pub(super) struct Moves {
    pub(super) changed: Vec<Work>,
    pub(super) notes: Vec<Transition>,
    /// Whether one of them became due.
    pub(super) due: bool,
    /// Whether the lane stands still now, so that nothing behind what was looked at matters.
    pub(super) stands: bool,
}

impl Moves {
    fn keep(&mut self, work: Work) {
        self.changed.push(work);
    }

    fn note(&mut self, work: &Work, cause: Cause, now: Timestamp) {
        self.notes.push(Transition::of(work, cause, now));
    }

    /// Makes a row due that has waited; `cause` is told if it was parked.
    fn release(&mut self, mut work: Work, cause: Cause, now: Timestamp) {
        let was_parked = work.state == State::Parked;
        work.change(State::Received, None, now);
        work.due_ms = Some(now.as_millis());
        if was_parked {
            self.note(&work, cause, now);
        }
        self.keep(work);
        (self.due, self.stands) = (true, true);
    }

    fn leave(&mut self, mut work: Work) {
        work.leave();
        self.keep(work);
    }
}

/// Goes through what stands in front, in order. `elsewhere`: whether something of the lane is known to move that may not
/// be among `front`.
pub(super) fn moves(
    plan: &Plan,
    lane: &mut Lane,
    front: Vec<Work>,
    elsewhere: bool,
    now: Timestamp,
) -> Moves {
    match plan.order {
        Order::None => by_nothing(front, now),
        Order::Arrival { on_terminal } => by_arrival(on_terminal, front, elsewhere, now),
        Order::Sequence { .. } => by_sequence(plan, lane, front, now),
    }
}

/// The consumer had an order once, and has none now: everybody goes.
fn by_nothing(front: Vec<Work>, now: Timestamp) -> Moves {
    let mut moves = Moves::default();
    for work in front {
        depart(work, now, &mut moves);
    }
    moves.stands = false;
    moves
}

/// A row that has no place in its lane any more. One that moves is left to its worker.
fn depart(mut work: Work, now: Timestamp, moves: &mut Moves) {
    if work.is_moving() {
        return;
    }
    let is_waiting = work.is_waiting();
    work.leave();
    match is_waiting {
        true => moves.release(work, Cause::HeadDone, now),
        false => moves.keep(work),
    }
}

fn by_arrival(on_terminal: OnTerminal, front: Vec<Work>, elsewhere: bool, now: Timestamp) -> Moves {
    let mut moves = Moves::default();
    if elsewhere || front.iter().any(Work::is_moving) {
        moves.stands = true;
        return moves;
    }
    for work in front {
        if work.is_waiting() {
            moves.release(work, Cause::HeadDone, now);
        } else if work.is_stuck() && on_terminal == OnTerminal::Park {
            moves.stands = true;
        } else {
            moves.leave(work);
        }
        if moves.stands {
            break;
        }
    }
    moves
}

fn by_sequence(plan: &Plan, lane: &mut Lane, front: Vec<Work>, now: Timestamp) -> Moves {
    let (mut moves, mut moving) = (Moves::default(), false);
    for work in front {
        let Some(sequence) = work.sequence else {
            // It came when the consumer went by arrival.
            depart(work, now, &mut moves);
            moves.stands = false;
            continue;
        };
        if lane.done >= Some(sequence) {
            moving |= work.is_moving();
            pass(plan, work, now, &mut moves);
            continue;
        }
        if moving || work.is_moving() {
            moves.stands = true;
        } else if work.is_waiting() {
            next(plan, lane, work, sequence, now, &mut moves);
        } else if !work.is_stuck() {
            // Passed over by hand: it counts as soon as everything before it is done.
            if lane.done.unwrap_or(-1) + 1 == sequence {
                lane.advance(Some(sequence));
                moves.leave(work);
            }
        } else if plan.order.on_terminal() == OnTerminal::Advance {
            lane.advance(Some(sequence));
            moves.leave(work);
        } else {
            moves.stands = true;
        }
        if moves.stands {
            break;
        }
    }
    moves
}

/// A row at or below what is done: one that waited is older now, and anything else that does not move is left behind.
fn pass(plan: &Plan, mut work: Work, now: Timestamp, moves: &mut Moves) {
    if work.is_moving() {
        return;
    }
    if work.is_waiting() {
        work.change(State::SkippedDuplicate, Some(Cause::OlderVersion), now);
        work.deadline_ms = Some(now.after(plan.retention.keep()).as_millis());
        moves.note(&work, Cause::OlderVersion, now);
    }
    moves.leave(work);
}

/// The first that waits: it is next, or it waits for what is missing.
fn next(
    plan: &Plan,
    lane: &mut Lane,
    mut work: Work,
    sequence: i64,
    now: Timestamp,
    moves: &mut Moves,
) {
    let is_next = lane.done.unwrap_or(-1) + 1 == sequence;
    if is_next {
        let behind = work.cause == Some(Cause::BehindFailed);
        let cause = if behind {
            Cause::HeadDone
        } else {
            Cause::GapFilled
        };
        return moves.release(work, cause, now);
    }
    let passes =
        matches!(plan.order, Order::Sequence { on_gap, .. } if on_gap.then == GapThen::Advance);
    if work.cause == Some(Cause::GapExpired) && passes {
        lane.advance(Some(sequence - 1));
        return moves.release(work, Cause::GapExpired, now);
    }
    moves.stands = true;
    if !matches!(work.cause, Some(Cause::Gap | Cause::GapExpired)) {
        work.change(State::Parked, Some(Cause::Gap), now);
        work.deadline_ms = gap_deadline(plan, now);
        moves.note(&work, Cause::Gap, now);
        moves.keep(work);
    }
}
