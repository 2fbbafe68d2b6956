//! How long to wait before the next try.

use std::time::Duration;

/// Exponential backoff: each pause is twice the one before, up to the longest.
#[derive(Debug, Clone, Copy)]
pub struct Pauses {
    first: Duration,
    next: Duration,
    max: Duration,
}

impl Pauses {
    /// From the first pause to the longest.
    pub const fn new(first: Duration, max: Duration) -> Self {
        Self {
            first,
            next: first,
            max,
        }
    }

    /// The next pause.
    pub fn take(&mut self) -> Duration {
        let pause = self.next.min(self.max);
        self.next = pause.saturating_mul(2);
        pause
    }

    /// Begins again with the first: something went well.
    pub const fn reset(&mut self) {
        self.next = self.first;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_begin_again() {
        let mut pauses = Pauses::new(Duration::from_millis(50), Duration::from_millis(150));
        let taken: Vec<u128> = (0..4).map(|_| pauses.take().as_millis()).collect();
        assert_eq!(taken, [50, 100, 150, 150]);
        pauses.reset();
        assert_eq!(pauses.take().as_millis(), 50);
    }
}
