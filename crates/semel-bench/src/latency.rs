//! Percentiles of latencies in constant space: buckets that grow with the value, three percent wide.

use std::time::Duration;

/// Values below this have a bucket each.
const EXACT: usize = 64;
/// Buckets per doubling above that.
const PER_DOUBLING: usize = EXACT / 2;
/// Enough for every `u32` of microseconds: more than an hour.
const BUCKETS: usize = 28 * PER_DOUBLING;

/// How often each latency was seen.
#[derive(Debug, Clone)]
pub(crate) struct Latencies {
    counts: Vec<u64>,
}

impl Latencies {
    pub(crate) fn new() -> Self {
        Self {
            counts: vec![0; BUCKETS],
        }
    }

    pub(crate) fn record(&mut self, latency: Duration) {
        let us = u32::try_from(latency.as_micros()).unwrap_or(u32::MAX);
        self.counts[bucket_of(us)] += 1;
    }

    pub(crate) fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(&other.counts) {
            *count += more;
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The latency that `percent` of all stay at or below, in microseconds; 0 if there were none.
    pub(crate) fn percentile_us(&self, percent: u64) -> f64 {
        let rank = (self.count() * percent).div_ceil(100);
        let mut seen = 0;
        let reached = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank && seen > 0
        });
        reached.map_or(0.0, middle_of)
    }
}

fn bucket_of(us: u32) -> usize {
    let us = us as usize;
    if us < EXACT {
        return us;
    }
    let shift = (us / PER_DOUBLING).ilog2() as usize;
    shift * PER_DOUBLING + (us >> shift)
}

fn middle_of(bucket: usize) -> f64 {
    if bucket < EXACT {
        return bucket as f64;
    }
    let shift = bucket / PER_DOUBLING - 1;
    let low = (bucket % PER_DOUBLING + PER_DOUBLING) << shift;
    low as f64 + ((1usize << shift) - 1) as f64 / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_in_order_and_near_their_values() {
        let mut last = 0;
        for us in (0..100_000).chain([1 << 20, 1 << 31, u32::MAX]) {
            let bucket = bucket_of(us);
            assert!(bucket >= last && bucket < BUCKETS, "{us}");
            let error = (middle_of(bucket) - f64::from(us)).abs();
            assert!(error <= f64::from(us) / 50.0, "{us}");
            last = bucket;
        }
    }

    #[test]
    fn percentiles_count_from_the_smallest() {
        let mut latencies = Latencies::new();
        assert_eq!(latencies.percentile_us(50), 0.0);
        for us in 1..=50 {
            latencies.record(Duration::from_micros(us));
        }
        let mut twice = latencies.clone();
        twice.merge(&latencies);
        assert_eq!(twice.count(), 100);
        assert_eq!(twice.percentile_us(50), 25.0);
        assert_eq!(twice.percentile_us(99), 50.0);
    }
}
