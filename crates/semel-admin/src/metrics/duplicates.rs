//! What came again, by scope: how late, from where, and what it saved. Doors and engines report it as [`Duplicate`]s.

use std::array;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use semel_core::duplicate::{Duplicate, Origin};
use semel_core::{Clock, Scope, SystemClock, Timestamp};

use super::bounded::Bounded;
use super::histogram::Histogram;
use super::requests::SCOPES_MAX;
use crate::duplicates::is_near_end;
use crate::view::millis;

#[derive(Debug)]
pub(super) struct Duplicates {
    series: Series,
    scopes: Bounded<Scope, PerScope>,
    since: Timestamp,
}

#[derive(Debug)]
struct Series {
    ages: Family<ByScope, Histogram, fn() -> Histogram>,
    origins: Family<ByOrigin, Counter>,
    saved: Family<ByScope, Counter<f64, AtomicU64>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByScope {
    scope: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByOrigin {
    scope: Arc<str>,
    origin: &'static str,
}

/// The series of one scope, so that no label is looked up or allocated again.
#[derive(Debug)]
struct PerScope {
    label: Arc<str>,
    ages: Histogram,
    /// How long after the first was settled duplicates came. Only for advice about the retention, so it is no series.
    settled: Histogram,
    /// How many came near the end of the retention of their first.
    near_end: AtomicU64,
    origins: [Counter; Origin::ALL.len()],
    saved: Counter<f64, AtomicU64>,
    /// The retention that was reported last, in milliseconds; 0 if none was.
    retention_ms: AtomicU64,
}

/// What was counted of one scope.
pub(crate) struct Counted {
    /// The scope, or `other` for those beyond the limit.
    pub(crate) scope: String,
    /// By the buckets of [`crate::duplicates::BOUNDS_MS`].
    pub(crate) ages: Vec<u64>,
    /// Those that came after their first was settled, by how long after; by the same buckets.
    pub(crate) settled: Vec<u64>,
    /// Those among them that came near the end of the retention.
    pub(crate) near_end: u64,
    /// By the order of [`Origin::ALL`].
    pub(crate) origins: [u64; Origin::ALL.len()],
    pub(crate) saved: Duration,
    pub(crate) retention: Option<Duration>,
}

impl Duplicates {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let series = Series {
            ages: Family::new_with_constructor(Histogram::ages),
            origins: Family::default(),
            saved: Family::default(),
        };
        registry.register(
            "semel_duplicate_age_seconds",
            "How long after the first request or message a suppressed duplicate came",
            series.ages.clone(),
        );
        registry.register(
            "semel_duplicates_by_origin",
            "What came again, by origin: client-retry, concurrent-retry, redelivery and rebalance were suppressed; own-replay and new-key ran",
            series.origins.clone(),
        );
        registry.register(
            "semel_duplicates_saved_seconds",
            "How long the runs took that suppressed duplicates would have repeated",
            series.saved.clone(),
        );
        Self {
            series,
            scopes: Bounded::new(SCOPES_MAX),
            since: SystemClock::new().now(),
        }
    }

    pub(super) fn count(&self, duplicate: &Duplicate<'_>) {
        let name = || duplicate.scope.to_string();
        let make = |label| self.series.of(label);
        let scope = self.scopes.get(duplicate.scope, name, make);
        scope.origins[duplicate.origin as usize].inc();
        if !duplicate.origin.is_suppressed() {
            return;
        }
        if let Some(age) = duplicate.age {
            scope.ages.observe(millis(age));
        }
        if let Some(settled) = duplicate.settled {
            scope.settled.observe(millis(settled));
            let is_late = |kept| is_near_end(settled, kept);
            let late = duplicate.retention.is_some_and(is_late);
            scope.near_end.fetch_add(late.into(), Ordering::Relaxed);
        }
        if let Some(took) = duplicate.took {
            scope.saved.inc_by(took.as_secs_f64());
        }
        if let Some(retention) = duplicate.retention {
            let ms = millis(retention);
            scope.retention_ms.store(ms, Ordering::Relaxed);
        }
    }

    /// Since when it is counted.
    pub(super) const fn since(&self) -> Timestamp {
        self.since
    }

    /// What was counted, by scope.
    pub(super) fn rows(&self) -> Vec<Counted> {
        let known = self.scopes.all();
        let mut rows: Vec<Counted> = known.iter().map(|scope| scope.counted()).collect();
        rows.sort_by(|one, other| one.scope.cmp(&other.scope));
        rows
    }
}

impl Series {
    fn of(&self, label: Arc<str>) -> PerScope {
        let by_scope = ByScope {
            scope: label.clone(),
        };
        let by_origin = |origin: Origin| ByOrigin {
            scope: label.clone(),
            origin: origin.name(),
        };
        PerScope {
            ages: self.ages.get_or_create_owned(&by_scope),
            settled: Histogram::ages(),
            near_end: AtomicU64::new(0),
            saved: self.saved.get_or_create_owned(&by_scope),
            origins: array::from_fn(|at| {
                let labels = by_origin(Origin::ALL[at]);
                self.origins.get_or_create_owned(&labels)
            }),
            label,
            retention_ms: AtomicU64::new(0),
        }
    }
}

impl PerScope {
    fn counted(&self) -> Counted {
        let retention_ms = self.retention_ms.load(Ordering::Relaxed);
        Counted {
            scope: self.label.to_string(),
            ages: self.ages.by_bucket(),
            settled: self.settled.by_bucket(),
            near_end: self.near_end.load(Ordering::Relaxed),
            origins: array::from_fn(|at| self.origins[at].get()),
            saved: Duration::try_from_secs_f64(self.saved.get()).unwrap_or(Duration::MAX),
            retention: (retention_ms > 0).then(|| Duration::from_millis(retention_ms)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::bounded::OTHER;
    use super::*;

    fn duplicate(scope: &Scope, origin: Origin) -> Duplicate<'_> {
        Duplicate {
            age: Some(Duration::from_secs(2)),
            settled: Some(Duration::from_secs(1)),
            took: Some(Duration::from_millis(500)),
            retention: Some(Duration::from_secs(60)),
            ..Duplicate::of(scope, origin)
        }
    }

    #[test]
    fn only_what_was_suppressed_has_an_age_and_saves_a_run() {
        let found = Duplicates::register(&mut Registry::default());
        let scope: Scope = "pay@1".parse().unwrap();
        for origin in Origin::ALL {
            found.count(&duplicate(&scope, origin));
        }
        let rows = found.rows();
        let [row] = &rows[..] else {
            panic!("expected one scope, found {}", rows.len());
        };
        assert_eq!(row.origins, [1; Origin::ALL.len()]);
        assert_eq!(row.ages.iter().sum::<u64>(), 4);
        assert_eq!(row.ages[5], 4);
        assert_eq!((row.settled[4], row.near_end), (4, 0));
        assert_eq!(row.saved, Duration::from_secs(2));
        assert_eq!(row.retention, Some(Duration::from_secs(60)));
    }

    #[test]
    fn what_comes_before_its_first_is_settled_says_nothing_about_a_retention() {
        let found = Duplicates::register(&mut Registry::default());
        let scope: Scope = "pay@1".parse().unwrap();
        // The first waited for ten days and is remembered for a minute from then on.
        for (settled, days) in [(None, 9), (Some(1), 10), (Some(50), 10)] {
            found.count(&Duplicate {
                age: Some(Duration::from_secs(days * 86_400)),
                settled: settled.map(Duration::from_secs),
                ..duplicate(&scope, Origin::ClientRetry)
            });
        }
        let row = &found.rows()[0];
        assert_eq!(row.ages.iter().sum::<u64>(), 3);
        assert_eq!(row.settled.iter().sum::<u64>(), 2);
        assert_eq!(row.near_end, 1);
    }

    #[test]
    fn scopes_beyond_the_limit_share_one_row() {
        let found = Duplicates::register(&mut Registry::default());
        for n in 0..SCOPES_MAX + 10 {
            let scope = Scope::new(format!("scope-{n}"), 1).unwrap();
            found.count(&duplicate(&scope, Origin::ClientRetry));
        }
        let rows = found.rows();
        assert_eq!(rows.len(), SCOPES_MAX + 1);
        let other = rows.iter().find(|row| row.scope == OTHER).unwrap();
        assert_eq!(other.origins[Origin::ClientRetry as usize], 10);
    }
}
