//! Which message of a lane may run: pure decisions, which stores carry out under the lane's lock.
//!
//! A lane is the messages of one consumer with one key. Only its head is ever due, so no worker can overtake another,
//! however rows are locked or skipped. Without order every message is due at once and there are no lanes.

use std::time::Duration;

/// In which order a consumer's messages run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Order {
    /// Any.
    #[default]
    None,
    /// In the order of arrival, per lane. A message without a lane runs at once.
    Arrival {
        /// What a head that failed for good means for those behind it.
        on_terminal: OnTerminal,
    },
    /// By the sequence of each message, per lane: older ones are skipped, the next one runs, later ones wait. A message without a
    /// lane or without a sequence runs at once.
    Sequence {
        /// What a lane begins with.
        baseline: Baseline,
        /// What becomes of a gap.
        on_gap: OnGap,
        /// What a head that failed for good means for those behind it.
        on_terminal: OnTerminal,
    },
}

impl Order {
    /// What a head that failed for good means for those behind it.
    pub const fn on_terminal(self) -> OnTerminal {
        match self {
            Self::None => OnTerminal::Advance,
            Self::Arrival { on_terminal } | Self::Sequence { on_terminal, .. } => on_terminal,
        }
    }

    /// Whether a message takes part in a lane.
    pub const fn has_lane(self, lane: bool, sequence: bool) -> bool {
        match self {
            Self::None => false,
            Self::Arrival { .. } => lane,
            Self::Sequence { .. } => lane && sequence,
        }
    }
}

/// What a head that failed for good, or was parked, means for those behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnTerminal {
    /// They are parked until it is dealt with.
    #[default]
    Park,
    /// They go on without it.
    Advance,
}

/// The version that a lane is taken to have seen before its first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Baseline {
    /// Whatever comes first is the beginning.
    #[default]
    FirstSeen,
    /// The first message to run has the version after this one.
    After(u64),
}

/// What becomes of a message that waits for an earlier version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OnGap {
    /// How long it waits.
    pub deadline: Duration,
    /// What happens then.
    pub then: GapThen,
}

impl Default for OnGap {
    fn default() -> Self {
        Self {
            deadline: Duration::from_secs(300),
            then: GapThen::Hold,
        }
    }
}

/// What happens when a missing version did not arrive in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum GapThen {
    /// The message stays parked, with cause `gap-expired`; it is still released by itself if the missing one arrives.
    #[default]
    Hold,
    /// The lane goes on with the lowest version that waits, as if the missing ones had been applied.
    Advance,
}

/// What a store sees of a lane when a message asks for its place, under the lane's lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneView {
    /// The last sequence that was applied or passed over; `None` before the first message of a lane by sequence.
    pub done: Option<u64>,
    /// What is in front, not counting what the lane has gone on without.
    pub head: Head,
    /// How many different sequences above `done` and below the message's own are waiting or running.
    pub between: u64,
}

/// What is in front of a message in its lane: rows by earlier arrival, or with a lower sequence above `done`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Head {
    /// Nothing.
    #[default]
    Free,
    /// Messages that will run by themselves.
    Moving,
    /// A message that failed for good or is parked (other than by a gap or behind another).
    Stuck,
}

/// Where a message goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It is due: RECEIVED.
    Due,
    /// It waits for those in front of it: RECEIVED, not due.
    Behind,
    /// It waits for a head that is stuck: PARKED, `behind-failed`.
    BehindStuck,
    /// It waits for a version that has not arrived: PARKED, `gap`.
    Gap,
    /// What it says has been said: SKIPPED_DUPLICATE, `older-version`.
    Older,
}

/// The place of a message in its lane, and what the lane's `done` becomes by its arrival.
///
/// Two messages with one sequence: the second is [`Place::Behind`] the first, and older once the first is done.
/// Stores count a row with the same sequence as in front ([`Head::Moving`] or [`Head::Stuck`]).
pub fn place(order: Order, view: LaneView, sequence: Option<u64>) -> (Place, Option<u64>) {
    match (order, sequence) {
        (Order::Sequence { baseline, .. }, Some(sequence)) => {
            let done = view.done.or(match baseline {
                Baseline::FirstSeen => sequence.checked_sub(1),
                Baseline::After(done) => Some(done),
            });
            (by_sequence(view, done, sequence), done)
        }
        (Order::Arrival { .. }, _) => (by_arrival(view.head), view.done),
        (Order::None | Order::Sequence { .. }, _) => (Place::Due, view.done),
    }
}

const fn by_arrival(head: Head) -> Place {
    match head {
        Head::Free => Place::Due,
        Head::Moving => Place::Behind,
        Head::Stuck => Place::BehindStuck,
    }
}

/// `done` is `None` only for a lane whose first message has sequence 0: then nothing is done yet, and it is next.
fn by_sequence(view: LaneView, done: Option<u64>, sequence: u64) -> Place {
    let next = done.map_or(0, |done| done + 1);
    if sequence < next {
        return Place::Older;
    }
    match view.head {
        Head::Stuck => Place::BehindStuck,
        _ if view.between < sequence - next => Place::Gap,
        Head::Moving => Place::Behind,
        Head::Free => Place::Due,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BY_SEQUENCE: Order = Order::Sequence {
        baseline: Baseline::FirstSeen,
        on_gap: OnGap {
            deadline: Duration::from_secs(1),
            then: GapThen::Hold,
        },
        on_terminal: OnTerminal::Park,
    };

    fn view(done: Option<u64>, head: Head, between: u64) -> LaneView {
        LaneView {
            done,
            head,
            between,
        }
    }

    #[test]
    fn older_is_skipped_next_runs_and_a_gap_waits() {
        for (done, sequence, head, between, expected) in [
            (42, 41, Head::Free, 0, Place::Older),
            (42, 42, Head::Free, 0, Place::Older),
            (42, 43, Head::Free, 0, Place::Due),
            (42, 43, Head::Moving, 0, Place::Behind),
            (42, 44, Head::Free, 0, Place::Gap),
            (42, 44, Head::Moving, 1, Place::Behind),
            (42, 46, Head::Moving, 2, Place::Gap),
            (42, 44, Head::Stuck, 1, Place::BehindStuck),
        ] {
            let (place, done) = place(BY_SEQUENCE, view(Some(done), head, between), Some(sequence));
            assert_eq!((place, done), (expected, Some(42)), "{sequence} {head:?}");
        }
    }

    #[test]
    fn the_first_message_of_a_lane_meets_the_baseline() {
        let empty = LaneView::default();
        assert_eq!(place(BY_SEQUENCE, empty, Some(7)), (Place::Due, Some(6)));
        assert_eq!(place(BY_SEQUENCE, empty, Some(0)), (Place::Due, None));
        let Order::Sequence {
            on_gap,
            on_terminal,
            ..
        } = BY_SEQUENCE
        else {
            unreachable!()
        };
        let after = |done| Order::Sequence {
            baseline: Baseline::After(done),
            on_gap,
            on_terminal,
        };
        assert_eq!(place(after(0), empty, Some(1)), (Place::Due, Some(0)));
        assert_eq!(place(after(0), empty, Some(3)), (Place::Gap, Some(0)));
        assert_eq!(place(after(5), empty, Some(3)), (Place::Older, Some(5)));
    }

    #[test]
    fn arrival_order_asks_only_who_is_in_front() {
        let order = Order::Arrival {
            on_terminal: OnTerminal::Park,
        };
        for (head, expected) in [
            (Head::Free, Place::Due),
            (Head::Moving, Place::Behind),
            (Head::Stuck, Place::BehindStuck),
        ] {
            assert_eq!(place(order, view(None, head, 0), Some(3)).0, expected);
        }
        assert_eq!(
            place(Order::None, view(None, Head::Stuck, 0), None).0,
            Place::Due
        );
    }
}
