//! Random choices from a seed, so that a failing run can be repeated.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A xorshift generator: enough for choices, and the same everywhere.
#[derive(Debug)]
pub struct Random(u64);

/// A seed that differs from run to run.
pub fn fresh_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}

impl Random {
    /// Random that fall the same way for the same seed.
    pub fn new(seed: u64) -> Self {
        // Zero is the one state that xorshift never leaves.
        Self(seed | 1)
    }

    /// A number below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// True in `percent` of all cases.
    pub fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}
