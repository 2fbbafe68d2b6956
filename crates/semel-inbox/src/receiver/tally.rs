//! How much arrived in the last minute, and how much of it was known.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use semel_core::inbox::Receipt;
use tokio::time::Instant;

/// How long a bucket lasts, and how many make the window.
const BUCKET: Duration = Duration::from_secs(5);
const BUCKETS: u64 = 12;
/// Fewer arrivals than this say nothing about their share of duplicates.
const ARRIVALS_MIN: u64 = 10;

/// Arrivals of one consumer in this process, over the last minute.
#[derive(Debug)]
pub(crate) struct Tally {
    began: Instant,
    buckets: Mutex<[Bucket; BUCKETS as usize]>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// Which five seconds, counted from the beginning.
    number: u64,
    arrivals: u64,
    duplicates: u64,
}

impl Default for Tally {
    fn default() -> Self {
        Self {
            began: Instant::now(),
            buckets: Mutex::default(),
        }
    }
}

impl Tally {
    pub(crate) fn count(&self, receipt: Receipt) {
        self.count_in(self.number(), receipt);
    }

    fn count_in(&self, number: u64, receipt: Receipt) {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let bucket = &mut buckets[(number % BUCKETS) as usize];
        if bucket.number != number {
            *bucket = Bucket {
                number,
                ..Bucket::default()
            };
        }
        bucket.arrivals += 1;
        bucket.duplicates += u64::from(matches!(receipt, Receipt::Duplicate { .. }));
    }

    /// Whether more than a tenth of what arrived in the last minute were duplicates.
    pub(crate) fn is_spike(&self) -> bool {
        self.is_spike_in(self.number())
    }

    fn is_spike_in(&self, number: u64) -> bool {
        let oldest = (number + 1).saturating_sub(BUCKETS);
        let buckets = *self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let recent = buckets.iter().filter(|bucket| bucket.number >= oldest);
        let (arrivals, duplicates) = recent.fold((0, 0), |(arrivals, duplicates), bucket| {
            (arrivals + bucket.arrivals, duplicates + bucket.duplicates)
        });
        arrivals >= ARRIVALS_MIN && duplicates * 10 > arrivals
    }

    fn number(&self) -> u64 {
        self.began.elapsed().as_secs() / BUCKET.as_secs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use semel_core::inbox::State;

    const NEW: Receipt = Receipt::Stored {
        state: State::Received,
    };
    const KNOWN: Receipt = Receipt::duplicate(State::Completed);

    #[test]
    fn more_than_a_tenth_in_a_minute_is_a_spike_and_it_passes() {
        let tally = Tally::default();
        (0..9).for_each(|_| tally.count_in(3, NEW));
        tally.count_in(4, KNOWN);
        assert!(!tally.is_spike_in(4));
        tally.count_in(4, KNOWN);
        assert!(tally.is_spike_in(4));
        assert!(tally.is_spike_in(3 + BUCKETS - 1));
        assert!(!tally.is_spike_in(3 + BUCKETS));
        tally.count_in(3 + BUCKETS, KNOWN);
        assert!(!tally.is_spike_in(3 + BUCKETS));
    }
}
