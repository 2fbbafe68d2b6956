//! The buckets in which the ages of duplicates are counted.

use std::time::Duration;

const SECOND: u64 = 1_000;
const MINUTE: u64 = 60 * SECOND;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// The upper bounds of ages in milliseconds, about three in each power of ten, at the numbers that people write as a retention. One bucket more
/// holds what is above them all.
pub const BOUNDS_MS: [u64; 26] = [
    10,
    30,
    100,
    300,
    SECOND,
    3 * SECOND,
    10 * SECOND,
    30 * SECOND,
    MINUTE,
    3 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    4 * HOUR,
    8 * HOUR,
    DAY,
    2 * DAY,
    3 * DAY,
    5 * DAY,
    7 * DAY,
    14 * DAY,
    30 * DAY,
    45 * DAY,
    60 * DAY,
    90 * DAY,
];

/// The age within which so many thousandths of all came: an upper bound, the end of their bucket. `None` if that is above all bounds, or if
/// there are none.
pub(super) fn within(counts: &[u64], thousandths: u64) -> Option<Duration> {
    let total: u64 = counts.iter().sum();
    let wanted = (u128::from(total) * u128::from(thousandths)).div_ceil(1_000);
    let mut sum = 0;
    let at = counts.iter().position(|count| {
        sum += u128::from(*count);
        sum > 0 && sum >= wanted
    })?;
    BOUNDS_MS.get(at).copied().map(Duration::from_millis)
}

/// The first bound that is at least so long.
pub(super) fn bound_from(at_least: Duration) -> Option<Duration> {
    let mut bounds = BOUNDS_MS.into_iter().map(Duration::from_millis);
    bounds.find(|bound| *bound >= at_least)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Counts by bucket: (place, count).
    fn counts(some: &[(usize, u64)]) -> Vec<u64> {
        let mut counts = vec![0; BOUNDS_MS.len() + 1];
        for (at, count) in some {
            counts[*at] = *count;
        }
        counts
    }

    #[test]
    fn bounds_grow_from_ten_milliseconds_to_ninety_days() {
        assert!(BOUNDS_MS.is_sorted_by(|one, next| one < next));
        assert_eq!(BOUNDS_MS[0], 10);
        assert_eq!(BOUNDS_MS[BOUNDS_MS.len() - 1], 90 * DAY);
    }

    #[test]
    fn a_share_ends_with_the_bucket_that_completes_it() {
        let ms = |ms| Some(Duration::from_millis(ms));
        let above = BOUNDS_MS.len();
        let table = [
            (counts(&[]), None),
            (counts(&[(0, 1)]), ms(10)),
            (counts(&[(0, 999), (4, 1)]), ms(10)),
            (counts(&[(0, 998), (4, 1)]), ms(1_000)),
            (counts(&[(0, 998), (4, 2)]), ms(1_000)),
            (
                counts(&[(0, 500_000), (6, 499_000), (12, 1_000)]),
                ms(10_000),
            ),
            (counts(&[(0, 500_000), (6, 498_999), (12, 1_001)]), ms(HOUR)),
            (counts(&[(above, 1)]), None),
            (counts(&[(0, u64::MAX / 2)]), ms(10)),
        ];
        for (counts, expected) in table {
            assert_eq!(within(&counts, 999), expected, "{counts:?}");
        }
    }
}
