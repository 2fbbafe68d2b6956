//! What came again, by scope: how late, from where, and what it saved.

use std::collections::BTreeMap;
use std::time::Duration;

use semel_core::Timestamp;
use semel_core::duplicate::Origin;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::millis;
use crate::duplicates::{Advice, BOUNDS_MS, Seen, Verdict};
use crate::metrics::Counted;

/// What came again since the processes began.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Duplicates {
    /// Since when it is counted: the start of the process.
    pub since: String,
    /// By scope or consumer, as `name@version`; only those that something came again of.
    pub scopes: Vec<ScopeDuplicates>,
}

/// What came again of one scope or consumer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScopeDuplicates {
    /// The scope or consumer, as `name@version`; `other` for those that are too many to be counted apart.
    pub scope: String,
    /// Duplicates that did not run.
    pub suppressed: u64,
    /// How long the runs took that they would have repeated, as far as that is known.
    pub saved_ms: u64,
    /// What came again, by origin: `client-retry`, `concurrent-retry`, `redelivery`, `rebalance`, which were suppressed, and `own-replay` and
    /// `new-key`, which ran.
    pub origins: BTreeMap<String, u64>,
    /// How long after the first one the suppressed ones came.
    pub ages: Vec<AgeBucket>,
    /// How long after the first one had settled they came, without those that came before.
    #[serde(default)]
    pub settled_ages: Vec<AgeBucket>,
    /// How many of these came in the last fifth of the retention.
    #[serde(default)]
    pub near_end: u64,
    /// How long outcomes of this scope are remembered; null if that is not known.
    pub retention_ms: Option<u64>,
    /// What follows for the retention.
    pub retention: RetentionAdvice,
}

/// Duplicates of one range of ages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgeBucket {
    /// The highest age; null for those above all bounds.
    pub up_to_ms: Option<u64>,
    /// How many came in this range, which begins where the one before ends.
    pub count: u64,
}

/// The retention that would have caught nearly all duplicates that were seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RetentionAdvice {
    /// How many duplicates it rests on: those that came after the first one had settled, which is when retention begins.
    pub rests_on: u64,
    /// What would have caught 99.9 % of them, rounded up to the end of a range, and never above the retention; null if there are none.
    pub needed_ms: Option<u64>,
    /// Whether more than that may be needed, because nothing later than the retention can be recognised.
    pub at_least: bool,
    /// `nothing-seen`, `too-few`, `enough`, `ample` or `raise`.
    pub verdict: String,
    /// The retention to try, if it is to be raised.
    pub raise_to_ms: Option<u64>,
    /// The same in words.
    pub advice: String,
}

impl RetentionAdvice {
    /// Whether the retention should be longer.
    pub fn is_too_short(&self) -> bool {
        self.verdict == Verdict::Raise(None).name()
    }

    fn of(settled: &[AgeBucket], near_end: u64, retention_ms: Option<u64>) -> Self {
        let ages: Vec<u64> = settled.iter().map(|bucket| bucket.count).collect();
        let seen = Seen {
            ages: &ages,
            near_end,
        };
        let advice = Advice::of(seen, retention_ms.map(Duration::from_millis));
        Self {
            rests_on: advice.rests_on,
            needed_ms: advice.needed.map(millis),
            at_least: advice.at_least,
            verdict: advice.verdict.name().to_owned(),
            raise_to_ms: match advice.verdict {
                Verdict::Raise(to) => to.map(millis),
                _ => None,
            },
            advice: advice.to_string(),
        }
    }
}

impl Duplicates {
    pub(crate) fn of(since: Timestamp, rows: Vec<Counted>) -> Self {
        Self {
            since: since.to_string(),
            scopes: rows.iter().map(ScopeDuplicates::of).collect(),
        }
    }

    /// The sums of two processes.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.since = self.since.min(other.since);
        for row in other.scopes {
            match self
                .scopes
                .iter_mut()
                .find(|known| known.scope == row.scope)
            {
                Some(known) => known.add(row),
                None => self.scopes.push(row),
            }
        }
        self
    }
}

impl ScopeDuplicates {
    fn of(counted: &Counted) -> Self {
        let settled_ages = buckets(&counted.settled);
        let origins = || Origin::ALL.into_iter().zip(counted.origins);
        let suppressed = origins().filter(|(origin, _)| origin.is_suppressed());
        let retention_ms = counted.retention.map(millis);
        Self {
            scope: counted.scope.clone(),
            suppressed: suppressed.map(|(_, count)| count).sum(),
            saved_ms: millis(counted.saved),
            origins: origins()
                .map(|(origin, count)| (origin.name().to_owned(), count))
                .collect(),
            retention: RetentionAdvice::of(&settled_ages, counted.near_end, retention_ms),
            retention_ms,
            ages: buckets(&counted.ages),
            settled_ages,
            near_end: counted.near_end,
        }
    }

    /// How many came again from there.
    pub fn count(&self, origin: Origin) -> u64 {
        self.origins.get(origin.name()).copied().unwrap_or(0)
    }

    fn add(&mut self, row: Self) {
        self.suppressed += row.suppressed;
        self.saved_ms = self.saved_ms.saturating_add(row.saved_ms);
        for (origin, count) in row.origins {
            *self.origins.entry(origin).or_default() += count;
        }
        add(&mut self.ages, row.ages);
        add(&mut self.settled_ages, row.settled_ages);
        self.near_end += row.near_end;
        // What comes after the shorter retention is not seen there.
        let both = self.retention_ms.into_iter().chain(row.retention_ms);
        self.retention_ms = both.min();
        self.retention = RetentionAdvice::of(&self.settled_ages, self.near_end, self.retention_ms);
    }
}

fn buckets(counts: &[u64]) -> Vec<AgeBucket> {
    let bounds = BOUNDS_MS.into_iter().map(Some).chain([None]);
    let bucket = |(up_to_ms, count): (Option<u64>, &u64)| AgeBucket {
        up_to_ms,
        count: *count,
    };
    bounds.zip(counts).map(bucket).collect()
}

fn add(all: &mut [AgeBucket], more: Vec<AgeBucket>) {
    for bucket in more {
        let mut known = all.iter_mut();
        if let Some(same) = known.find(|known| known.up_to_ms == bucket.up_to_ms) {
            same.count += bucket.count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(scope: &str, age: usize, count: u64, retention: u64) -> Counted {
        let mut ages = vec![0; BOUNDS_MS.len() + 1];
        ages[age] = count;
        let mut origins = [0; Origin::ALL.len()];
        origins[Origin::ClientRetry as usize] = count;
        origins[Origin::NewKey as usize] = 1;
        Counted {
            scope: scope.to_owned(),
            settled: ages.clone(),
            near_end: 0,
            ages,
            origins,
            saved: Duration::from_millis(count),
            retention: Some(Duration::from_millis(retention)),
        }
    }

    #[test]
    fn the_advice_for_several_processes_rests_on_all_of_them() {
        let at = Timestamp::from_millis;
        let one = Duplicates::of(at(2_000), vec![counted("pay@1", 4, 600, 60_000)]);
        assert_eq!(one.scopes[0].retention.verdict, "too-few");
        let other = vec![
            counted("mail@1", 0, 1, 60_000),
            counted("pay@1", 4, 500, 30_000),
        ];
        let both = one.with(Duplicates::of(at(1_000), other));
        assert_eq!(both.since, at(1_000).to_string());
        let [pay, mail] = &both.scopes[..] else {
            panic!("expected two scopes, found {both:?}");
        };
        assert_eq!((pay.suppressed, pay.saved_ms), (1_100, 1_100));
        assert_eq!(pay.count(Origin::NewKey), 2);
        assert_eq!(pay.retention_ms, Some(30_000));
        assert_eq!(
            (pay.retention.rests_on, pay.retention.needed_ms),
            (1_100, Some(1_000))
        );
        assert_eq!(pay.retention.verdict, "ample");
        assert_eq!(mail.suppressed, 1);
    }
}
