//! Where memory goes over time: the median of the last quarter by that of the first.

use super::super::memory::Memory;
use crate::report::{Measurement, Turn};

/// How many samples a person wants to see.
const SHOWN: usize = 10;

/// Samples of memory at equal distances.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Trend(Vec<Memory>);

impl Trend {
    pub(super) const fn new(samples: Vec<Memory>) -> Self {
        Self(samples)
    }

    /// The figure; `None` without samples.
    pub(super) fn measurement(&self) -> Option<Measurement> {
        let quarter = (self.0.len() / 4).max(1);
        let first = median_mib(self.0.get(..quarter)?)?;
        let last = median_mib(&self.0[self.0.len() - quarter..])?;
        let turn = Turn {
            ours: last,
            baseline: first,
            p50_us: None,
            p99_us: None,
        };
        let name = "gateway's memory, MiB, median of the last quarter by the first";
        Measurement::of("soak", name.to_owned(), &[turn])
    }

    /// A few samples from all over the run, in MiB; the last one is the last.
    pub(super) fn shown_mib(&self) -> Vec<f64> {
        let shown = self.0.len().min(SHOWN);
        (1..=shown)
            .map(|i| self.0[i * self.0.len() / shown - 1].resident_mib())
            .collect()
    }

    /// The most there ever was.
    pub(super) fn peak(&self) -> Option<Memory> {
        self.0.last().copied()
    }
}

fn median_mib(samples: &[Memory]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by_key(|sample| sample.resident_kib);
    let middle = sorted.get(sorted.len().checked_sub(1)? / 2)?;
    Some(middle.resident_mib())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend(mib: &[u64]) -> Trend {
        let sample = |mib: &u64| Memory {
            resident_kib: mib * 1024,
            peak_kib: mib * 1024,
        };
        Trend::new(mib.iter().map(sample).collect())
    }

    #[test]
    fn quarters_are_compared_by_their_medians() {
        let growing = [10, 90, 10, 30, 30, 30, 30, 30, 30, 20, 1, 20];
        let found = trend(&growing).measurement().unwrap();
        assert_eq!((found.ours, found.baseline, found.ratio), (20.0, 10.0, 2.0));
        assert_eq!(trend(&[5]).measurement().unwrap().ratio, 1.0);
        assert_eq!(trend(&[]).measurement(), None);
    }

    #[test]
    fn ten_samples_at_most_are_shown_and_the_last_is_among_them() {
        let many: Vec<u64> = (1..=95).collect();
        let shown = trend(&many).shown_mib();
        assert_eq!((shown.len(), shown.last()), (10, Some(&95.0)));
        assert_eq!(trend(&[1, 2, 3]).shown_mib(), [1.0, 2.0, 3.0]);
        assert_eq!(trend(&[]).shown_mib(), [0.0; 0]);
    }
}
