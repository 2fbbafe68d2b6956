//! In which order the messages of a consumer run.
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
