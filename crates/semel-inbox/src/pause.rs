//! Waits, and the jitter for them.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The longest pause before a store that is away is asked again.
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// The next pause after one that did not help.
pub(crate) fn longer(pause: Duration) -> Duration {
    (pause * 2).min(PAUSE_MAX)
}

/// A number between 0 and 1.
pub(crate) fn jitter() -> f64 {
    // The standard library draws the keys of every hasher anew; no other randomness is needed here.
    let bits = RandomState::new().hash_one(0_u8) >> 11;
    bits as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dice_fall_everywhere_between_zero_and_one() {
        let throws: Vec<f64> = (0..1_000).map(|_| jitter()).collect();
        assert!(throws.iter().all(|throw| (0.0..1.0).contains(throw)));
        assert!(throws.iter().any(|throw| *throw < 0.25));
        assert!(throws.iter().any(|throw| *throw > 0.75));
    }
}
