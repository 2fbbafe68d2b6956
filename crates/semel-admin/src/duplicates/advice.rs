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

/// What the ages of duplicates say about a retention.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advice {
    /// How many duplicates it rests on.
    pub rests_on: u64,
    /// The retention that would have caught 99.9 % of them, rounded up to the end of a bucket.
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
    /// They come up to the end of the retention, or later than is counted: it should be longer. This long, if a longer one is counted.
    Raise(Option<Duration>),
    /// Too few for a share of a thousandth; the latest one was caught.
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
    /// What these counts, by the buckets of [`super::BOUNDS_MS`], say about the retention in force, if that is known.
    pub fn of(ages: &[u64], retention: Option<Duration>) -> Self {
        let rests_on = ages.iter().sum();
        if rests_on == 0 {
            return Self {
                rests_on,
                needed: None,
                at_least: false,
                verdict: Verdict::NothingSeen,
            };
        }
        let needed = within(ages, SHARE);
        // A duplicate that comes after the retention is a new operation, so nothing later than its end was counted.
        let is_cut_off = needed.is_none_or(|needed| retention.is_some_and(|kept| needed >= kept));
        if is_cut_off {
            let reached = retention.or(needed).unwrap_or(Duration::MAX);
            return Self {
                rests_on,
                needed: retention.or(needed),
                at_least: true,
                verdict: Verdict::Raise(bound_from(reached.saturating_mul(2))),
            };
        }
        let is_ample = needed
            .zip(retention)
            .is_some_and(|(needed, kept)| kept >= needed.saturating_mul(AMPLE));
        Self {
            rests_on,
            needed,
            at_least: false,
            verdict: match rests_on {
                0..ENOUGH => Verdict::TooFew,
                _ if is_ample => Verdict::Ample,
                _ => Verdict::Enough,
            },
        }
    }
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (seen, needed) = (self.rests_on, show(self.needed.unwrap_or_default()));
        match self.verdict {
            Verdict::NothingSeen => f.write_str("no duplicate of a known age was seen"),
            Verdict::Raise(to) => {
                write!(
                    f,
                    "duplicates come up to the end of the retention or of what is counted (99.9 % of {seen} need {needed} or more), \
                     and later ones take effect again: "
                )?;
                match to {
                    Some(to) => write!(f, "raise the retention to {} and look again", show(to)),
                    None => f.write_str("raise the retention, or find out who sends so late"),
                }
            }
            Verdict::TooFew => write!(
                f,
                "all {seen} came within {needed}; 99.9 % means something from {ENOUGH} duplicates on, so keep the retention"
            ),
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

    const HOUR: Duration = Duration::from_secs(3_600);
    const DAY: Duration = Duration::from_secs(86_400);

    fn counts(some: &[(Duration, u64)]) -> Vec<u64> {
        let mut counts = vec![0; BOUNDS_MS.len() + 1];
        for (age, count) in some {
            let ms = u64::try_from(age.as_millis()).unwrap();
            counts[BOUNDS_MS.partition_point(|bound| *bound < ms)] = *count;
        }
        counts
    }

    #[test]
    fn the_advice_follows_from_the_ages_and_the_retention() {
        let second = Duration::from_secs(1);
        let (few, many) = (vec![(second, 999)], vec![(second, 10_000)]);
        let late = vec![(second, 10_000), (20 * HOUR, 100)];
        let latest = vec![(second, 10), (100 * DAY, 1)];
        // Ages, retention; what is needed, whether at least, what follows.
        let table = [
            (vec![], Some(DAY), None, false, Verdict::NothingSeen),
            (few.clone(), Some(DAY), Some(second), false, Verdict::TooFew),
            (many.clone(), Some(DAY), Some(second), false, Verdict::Ample),
            (
                many.clone(),
                Some(5 * second),
                Some(second),
                false,
                Verdict::Enough,
            ),
            (many.clone(), None, Some(second), false, Verdict::Enough),
            (
                late.clone(),
                Some(2 * DAY),
                Some(DAY),
                false,
                Verdict::Enough,
            ),
            // The bucket that is needed ends with the retention: later ones are not seen.
            (
                late.clone(),
                Some(DAY),
                Some(DAY),
                true,
                Verdict::Raise(Some(2 * DAY)),
            ),
            (
                late,
                Some(20 * HOUR),
                Some(20 * HOUR),
                true,
                Verdict::Raise(Some(2 * DAY)),
            ),
            (
                few,
                Some(second),
                Some(second),
                true,
                Verdict::Raise(Some(3 * second)),
            ),
            (
                latest.clone(),
                Some(50 * DAY),
                Some(50 * DAY),
                true,
                Verdict::Raise(None),
            ),
            (latest, None, None, true, Verdict::Raise(None)),
        ];
        for (ages, retention, needed, at_least, verdict) in table {
            let rests_on = ages.iter().map(|(_, count)| count).sum();
            let expected = Advice {
                rests_on,
                needed,
                at_least,
                verdict,
            };
            let found = Advice::of(&counts(&ages), retention);
            assert_eq!(found, expected, "{ages:?} {retention:?}");
            assert!(!found.to_string().is_empty());
        }
    }
}
