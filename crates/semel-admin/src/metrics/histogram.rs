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

    /// How often each size was observed until now.
    pub(crate) fn read(&self) -> Sizes {
        let counts = self.0.counts.iter();
        Sizes {
            bounds: self.0.bounds,
            units: self.0.units,
            counts: counts.map(|count| count.load(Ordering::Relaxed)).collect(),
        }
    }
}

/// A histogram at one moment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sizes {
    bounds: &'static [u64],
    units: f64,
    counts: Vec<u64>,
}

impl Sizes {
    /// How many observations there are.
    pub(crate) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The observations of both, which have the same bounds.
    pub(crate) fn plus(mut self, other: &Self) -> Self {
        let pairs = self.counts.iter_mut().zip(&other.counts);
        pairs.for_each(|(sum, count)| *sum += count);
        self
    }

    /// What was observed since `before`.
    pub(crate) fn since(mut self, before: &Self) -> Self {
        let pairs = self.counts.iter_mut().zip(&before.counts);
        pairs.for_each(|(count, before)| *count = count.saturating_sub(*before));
        self
    }

    /// The bound that this share of the observations does not exceed, in the units that are shown; `None` without observations.
    /// What is above all bounds counts as the last of them.
    pub(crate) fn quantile(&self, share: f64) -> Option<f64> {
        let (total, mut seen) = (self.total(), 0);
        if total == 0 {
            return None;
        }
        let at = self.counts.iter().position(|count| {
            seen += count;
            seen as f64 >= share * total as f64
        });
        let at = at.unwrap_or(self.bounds.len()).min(self.bounds.len() - 1);
        Some(self.bounds[at] as f64 / self.units)
    }
}

impl TypedMetric for Histogram {
    const TYPE: MetricType = MetricType::Histogram;
}

impl EncodeMetric for Histogram {
    /// What never happened is left out: most of the verbs and consumers of a process say nothing about what it does.
    fn encode(&self, mut encoder: MetricEncoder<'_>) -> Result<(), Error> {
        if self.read().total() == 0 {
            return Ok(());
        }
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

    #[test]
    fn a_histogram_of_nothing_shows_no_series() {
        let (mut registry, mut text) = (Registry::default(), String::new());
        registry.register("t", "T", Histogram::seconds());
        encode(&mut text, &registry).unwrap();
        assert!(!text.contains("t_count"), "{text}");
    }

    #[test]
    fn a_quantile_is_the_bound_that_holds_it() {
        let histogram = Histogram::seconds();
        assert_eq!(histogram.read().quantile(0.95), None);
        for _ in 0..95 {
            histogram.took(Duration::from_millis(1));
        }
        let before = histogram.read();
        for _ in 0..5 {
            histogram.took(Duration::from_secs(60));
        }
        assert_eq!(histogram.read().quantile(0.95), Some(0.001));
        assert_eq!(histogram.read().quantile(0.96), Some(30.0));
        let since = histogram.read().since(&before);
        assert_eq!((since.total(), since.quantile(0.5)), (5, Some(30.0)));
        assert_eq!(before.clone().plus(&since).total(), 100);
    }
}
