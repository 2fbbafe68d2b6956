//! A histogram of atomics. The one that comes with the library takes a lock per observation, which
//! every request would queue for.

use std::fmt::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::{EncodeMetric, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::{MetricType, TypedMetric};

use crate::duplicates::BOUNDS_MS;

/// Upper bounds in nanoseconds: from a fast look-up to a request that is about to time out.
const SECONDS: &[u64] = &[
    50_000,
    100_000,
    250_000,
    500_000,
    1_000_000,
    2_500_000,
    5_000_000,
    10_000_000,
    25_000_000,
    50_000_000,
    100_000_000,
    250_000_000,
    500_000_000,
    1_000_000_000,
    2_500_000_000,
    5_000_000_000,
    10_000_000_000,
    30_000_000_000,
];
/// Upper bounds of numbers of things, up to the largest batch.
const COUNTS: &[u64] = &[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024];

/// Counts observations by size. Clones share their numbers.
#[derive(Debug, Clone)]
pub(crate) struct Histogram(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    bounds: &'static [u64],
    /// How many of the units that are counted make one that is shown.
    units: f64,
    /// One more than there are bounds: the last is for what is above them all.
    counts: Box<[AtomicU64]>,
    sum: AtomicU64,
}

impl Histogram {
    /// Of durations, shown in seconds.
    pub(crate) fn seconds() -> Self {
        Self::new(SECONDS, 1e9)
    }

    /// Of the ages of duplicates in milliseconds, shown in seconds.
    pub(crate) fn ages() -> Self {
        Self::new(&BOUNDS_MS, 1e3)
    }

    /// Of numbers of things.
    pub(crate) fn counts() -> Self {
        Self::new(COUNTS, 1.0)
    }

    fn new(bounds: &'static [u64], units: f64) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Inner {
            bounds,
            units,
            counts,
            sum: AtomicU64::new(0),
        }))
    }

    /// Counts a duration.
    pub(crate) fn took(&self, took: Duration) {
        self.observe(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
    }

    /// How many there are in each bucket, the one above all bounds last.
    pub(crate) fn by_bucket(&self) -> Vec<u64> {
        let counts = self.0.counts.iter();
        counts.map(|count| count.load(Ordering::Relaxed)).collect()
    }

    /// Counts a number.
    pub(crate) fn observe(&self, value: u64) {
        let at = self.0.bounds.partition_point(|bound| *bound < value);
        // Readers may see one of the two a moment before the other; a scrape can live with that.
        self.0.counts[at].fetch_add(1, Ordering::Relaxed);
        self.0.sum.fetch_add(value, Ordering::Relaxed);
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), Error> {
        let Inner {
            bounds,
            units,
            counts,
            sum,
        } = &*self.0;
        let shown = |bound: &u64| *bound as f64 / units;
        let bounds = bounds.iter().map(shown).chain([f64::INFINITY]);
        let counts = counts.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let total = buckets.iter().map(|(_, count)| count).sum();
        let sum = sum.load(Ordering::Relaxed) as f64 / units;
        encoder.encode_histogram::<NoLabelSet>(sum, total, &buckets, None)
    }

    fn metric_type(&self) -> MetricType {
        Self::TYPE
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    #[test]
    fn a_value_counts_in_the_first_bucket_that_holds_it() {
        let histogram = Histogram::seconds();
        for micros in [0, 50, 51, 60_000_000] {
            histogram.took(Duration::from_micros(micros));
        }
        let (mut registry, mut text) = (Registry::default(), String::new());
        registry.register("t", "T", histogram);
        encode(&mut text, &registry).unwrap();
        for line in [
            "t_sum 60.000101",
            "t_count 4",
            "t_bucket{le=\"0.00005\"} 2",
            "t_bucket{le=\"0.0001\"} 3",
            "t_bucket{le=\"30.0\"} 3",
            "t_bucket{le=\"+Inf\"} 4",
        ] {
            assert!(text.contains(line), "{line} is not in\n{text}");
        }
    }
}
