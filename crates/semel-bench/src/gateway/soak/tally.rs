//! What the clients of a soak did, counted.

/// One thing that a client does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Act {
    First,
    Replay,
    Mismatch,
    Unguarded,
    Slow,
    Abort,
    Disconnect,
    Retry,
    RetryRefused,
}

impl Act {
    pub(super) const ALL: [Self; 9] = [
        Self::First,
        Self::Replay,
        Self::Mismatch,
        Self::Unguarded,
        Self::Slow,
        Self::Abort,
        Self::Disconnect,
        Self::Retry,
        Self::RetryRefused,
    ];

    /// What it is called in a report.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::First => "first",
            Self::Replay => "replay",
            Self::Mismatch => "mismatch",
            Self::Unguarded => "unguarded",
            Self::Slow => "slow",
            Self::Abort => "aborted",
            Self::Disconnect => "disconnected",
            Self::Retry => "retried",
            Self::RetryRefused => "retry_refused",
        }
    }
}

/// How often each was done.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Tally([u64; Act::ALL.len()]);

impl Tally {
    pub(super) fn add(&mut self, act: Act) {
        self.0[act as usize] += 1;
    }

    pub(super) fn get(&self, act: Act) -> u64 {
        self.0[act as usize]
    }

    pub(super) fn merge(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_act_has_a_count_of_its_own() {
        let mut tally = Tally::default();
        for (times, act) in (1..).zip(Act::ALL) {
            (0..times).for_each(|_| tally.add(act));
        }
        let mut twice = tally.clone();
        twice.merge(&tally);
        for (times, act) in (1..).zip(Act::ALL) {
            assert_eq!(twice.get(act), 2 * times, "{}", act.name());
        }
    }
}
