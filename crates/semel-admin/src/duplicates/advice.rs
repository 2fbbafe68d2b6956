//! The retention that would have caught nearly all duplicates that were seen, and what follows for the one in force.

use std::fmt;
use std::time::Duration;

use semel_core::duration::show;

use super::ages::{bound_from, within};

/// The share of duplicates that a retention is to catch, in thousandths.
const SHARE: u64 = 999;
/// With fewer duplicates a thousandth is less than one: the latest decides alone.
const ENOUGH: u64 = 1_000;
/// A retention that is so many times longer than needed is called ample.
const AMPLE: u32 = 10;

/// The part of a retention behind which a duplicate is near its end, in hundredths.
const NEAR_END: u32 = 80;
/// So few late duplicates may be one client's.
const LATE_MIN: u64 = 3;

/// What is known of duplicates that came after their firsts had settled, which is when a retention begins.
#[derive(Debug, Clone, Copy)]
pub struct Seen<'a> {
    /// How long after, by the buckets of [`super::BOUNDS_MS`].
    pub ages: &'a [u64],
    /// How many came near the end of the retention of their first.
    pub near_end: u64,
}

/// What the ages of duplicates say about a retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    /// How many duplicates it rests on.
    pub rests_on: u64,
    /// The retention that would have caught 99.9 % of them, rounded up to the end of a bucket, and never above the one in force.
    pub needed: Option<Duration>,
    /// Whether more may be needed: later duplicates cannot be recognised, so there may be some.
    pub at_least: bool,
    /// What follows.
    pub verdict: Verdict,
}

/// What follows for the retention in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// No duplicate's age is known.
    NothingSeen,
    /// More than a thousandth, and several, come near the end of the retention, or later than is counted: it should be longer. This long, if a
    /// longer one is counted.
    Raise(Option<Duration>),
    /// Too few for a share of a thousandth, and hardly any is late.
    TooFew,
    /// The retention is long enough for what was seen.
    Enough,
    /// It is ten times longer than was needed, or more.
    Ample,
}

impl Verdict {
    /// The lowercase name used in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NothingSeen => "nothing-seen",
            Self::Raise(_) => "raise",
            Self::TooFew => "too-few",
            Self::Enough => "enough",
            Self::Ample => "ample",
        }
    }
}

impl Advice {
    /// What was seen says about the retention in force, if that is known.
    pub fn of(seen: Seen<'_>, retention: Option<Duration>) -> Self {
        let rests_on: u64 = seen.ages.iter().sum();
        let within = within(seen.ages, SHARE);
        let needed = match rests_on {
            0 => None,
            // A duplicate that comes after the retention is a new operation, so nothing later than its end was counted.
            _ => within.into_iter().chain(retention).min(),
        };
        // Without a known end, what is later than all that is counted is late.
        let beyond = seen.ages.last().copied().unwrap_or(0);
        let late = retention.map_or(beyond, |_| seen.near_end);
        let is_late = late >= LATE_MIN && late.saturating_mul(1_000) > rests_on;
        let is_ample = needed
            .zip(retention)
            .is_some_and(|(needed, kept)| kept >= needed.saturating_mul(AMPLE));
        let verdict = match rests_on {
            0 => Verdict::NothingSeen,
            _ if is_late => {
                let twice = retention.map(|kept| kept.saturating_mul(2));
                Verdict::Raise(twice.and_then(bound_from))
            }
            1..ENOUGH => Verdict::TooFew,
            _ if is_ample => Verdict::Ample,
            _ => Verdict::Enough,
        };
        Self {
            rests_on,
            needed,
            at_least: is_late,
            verdict,
        }
    }
}

/// Whether a duplicate that came so long after its first had settled came near the end of this retention.
pub(crate) fn is_near_end(settled: Duration, retention: Duration) -> bool {
    settled.saturating_mul(100) >= retention.saturating_mul(NEAR_END)
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seen = self.rests_on;
        let needed = self
            .needed
            .map_or_else(|| "longer than is counted".to_owned(), show);
        match self.verdict {
            Verdict::NothingSeen => {
                f.write_str("no duplicate was seen that came after its first had settled")
            }
            Verdict::Raise(to) => {
                write!(
                    f,
                    "of {seen} duplicates several came in the last fifth of the retention, or later than is counted, and what comes \
                     after it takes effect again: "
                )?;
                match to {
                    Some(to) => write!(f, "raise the retention to {} and look again", show(to)),
                    None => f.write_str("raise the retention, or find out who sends so late"),
                }
            }
            Verdict::TooFew => {
                match seen {
                    1 => write!(f, "the only one came within {needed}")?,
                    _ => write!(f, "all {seen} came within {needed}")?,
                }
                write!(
                    f,
                    "; 99.9 % means something from {ENOUGH} duplicates on, so keep the retention"
                )
            }
            Verdict::Enough => write!(
                f,
                "99.9 % of {seen} came within {needed}: the retention is long enough"
            ),
            Verdict::Ample => write!(
                f,
                "99.9 % of {seen} came within {needed}: the retention is long enough, and may be shorter if the store is too large"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::duplicates::BOUNDS_MS;

    const SECOND: Duration = Duration::from_secs(1);
    const HOUR: Duration = Duration::from_secs(3_600);
    const DAY: Duration = Duration::from_secs(86_400);

    fn counts(some: &[(Duration, u64)]) -> Vec<u64> {
        let mut counts = vec![0; BOUNDS_MS.len() + 1];
        for (age, count) in some {
            let ms = u64::try_from(age.as_millis()).unwrap();
            counts[BOUNDS_MS.partition_point(|bound| *bound < ms)] += *count;
        }
        counts
    }

    /// The advice on these ages for a retention that they were all caught by.
    fn advice(some: &[(Duration, u64)], retention: Option<Duration>) -> Advice {
        let late = |age: &Duration| retention.is_some_and(|kept| is_near_end(*age, kept));
        let near_end = some.iter().filter(|(age, _)| late(age));
        let near_end = near_end.map(|(_, count)| count).sum();
        let ages = counts(some);
        let ages = &ages;
        Advice::of(Seen { ages, near_end }, retention)
    }

    #[test]
    fn one_duplicate_is_not_all_of_them() {
        for (count, said) in [
            (1, "the only one came within 1s; "),
            (2, "all 2 came within 1s; "),
        ] {
            let found = advice(&[(SECOND, count)], Some(DAY)).to_string();
            assert!(found.starts_with(said), "{found}");
        }
    }

    #[test]
    fn the_advice_follows_from_the_ages_and_the_retention() {
        let (few, many) = (vec![(SECOND, 999)], vec![(SECOND, 10_000)]);
        let late = vec![(SECOND, 10_000), (20 * HOUR, 100)];
        let rare = vec![(SECOND, 100_000), (20 * HOUR, 100)];
        let latest = vec![(SECOND, 10), (100 * DAY, 3)];
        // Ages, retention; what is needed, what follows.
        let table = [
            (vec![], Some(DAY), None, Verdict::NothingSeen),
            (few, Some(DAY), Some(SECOND), Verdict::TooFew),
            (many.clone(), Some(DAY), Some(SECOND), Verdict::Ample),
            (
                many.clone(),
                Some(5 * SECOND),
                Some(SECOND),
                Verdict::Enough,
            ),
            (many, None, Some(SECOND), Verdict::Enough),
            (late.clone(), Some(2 * DAY), Some(DAY), Verdict::Enough),
            (
                late.clone(),
                Some(DAY),
                Some(DAY),
                Verdict::Raise(Some(2 * DAY)),
            ),
            (
                late,
                Some(21 * HOUR),
                Some(21 * HOUR),
                Verdict::Raise(Some(2 * DAY)),
            ),
            // A thousandth may come late.
            (rare, Some(DAY), Some(SECOND), Verdict::Ample),
            // They end in the bucket of the retention, and long before its end.
            (
                vec![(9 * HOUR, 2_000)],
                Some(DAY),
                Some(DAY),
                Verdict::Enough,
            ),
            // One or two say nothing.
            (vec![(20 * HOUR, 2)], Some(DAY), Some(DAY), Verdict::TooFew),
            (
                vec![(20 * HOUR, 3)],
                Some(DAY),
                Some(DAY),
                Verdict::Raise(Some(2 * DAY)),
            ),
            (
                latest.clone(),
                Some(101 * DAY),
                Some(101 * DAY),
                Verdict::Raise(None),
            ),
            (
                latest.clone(),
                Some(365 * DAY),
                Some(365 * DAY),
                Verdict::TooFew,
            ),
            (latest, None, None, Verdict::Raise(None)),
        ];
        for (ages, retention, needed, verdict) in table {
            let expected = Advice {
                rests_on: ages.iter().map(|(_, count)| count).sum(),
                needed,
                at_least: matches!(verdict, Verdict::Raise(_)),
                verdict,
            };
            let found = advice(&ages, retention);
            assert_eq!(found, expected, "{ages:?} {retention:?}");
            assert!(!found.to_string().is_empty());
        }
    }
}
