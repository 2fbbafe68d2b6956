//! Those who watch: each request for metrics, the report of observations and the log; the store for metrics and readiness.

use std::sync::Arc;
use std::time::Duration;

use semel_admin::{Health, Metrics, Observations, view};
use semel_core::clock::Doubt;
use semel_core::duplicate::Duplicate;
use semel_core::record::Claim;
use semel_core::store::{self, Swept};
use semel_core::{Error, Scope, Timestamp, duration};
use semel_http::event::Answered;
use semel_http::observe::Report;
use semel_http::{Event, RequestObserver};

use crate::stores;

/// All who watch. Cheap to clone.
#[derive(Clone)]
pub(super) struct Watchers {
    metrics: Arc<Metrics>,
    report: Arc<Report>,
    /// Since when they watch.
    since: Timestamp,
}

impl Watchers {
    pub(super) fn new(metrics: Arc<Metrics>, since: Timestamp) -> Self {
        let report = Arc::default();
        Self {
            metrics,
            report,
            since,
        }
    }

    /// Where everything is counted.
    pub(super) fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// What was observed so far, for the admin side.
    pub(super) fn observations(&self) -> Observations {
        let (report, since) = (self.report.clone(), self.since);
        Arc::new(move || view::Observed::of(since, report.rows()))
    }
}

impl RequestObserver for Watchers {
    fn saw_duplicate(&self, duplicate: &Duplicate<'_>) {
        self.metrics.saw_duplicate(duplicate);
    }

    fn saw_unguarded(&self, method: &http::Method) {
        self.metrics.saw_unguarded(method);
        tracing::debug!(target: "semel::request", %method, "a request with a key is guarded by no route");
    }

    fn saw_upstream(&self, scope: &Scope, answered: Answered, took: Duration) {
        self.metrics.saw_upstream(scope, answered, took);
    }

    fn saw(&self, event: &Event<'_>) {
        self.metrics.saw(event);
        self.report.saw(event);
        tracing::debug!(
            target: "semel::request",
            scope = %event.scope,
            what = event.what.name(),
            status = event.status,
            took_us = event.took.as_micros(),
            key = event.identity.map(|identity| identity.key().as_str()),
        );
    }
}

/// Watches the store: everything is counted, and a clock that is doubted shows in readiness.
pub(super) struct StoreWatch {
    pub(super) metrics: Arc<Metrics>,
    pub(super) health: Health,
}

impl stores::Watch for StoreWatch {
    fn part(&self, part: &'static str) -> Arc<dyn store::StoreObserver> {
        Arc::new(PartWatch {
            metrics: self.metrics.clone(),
            health: self.health.clone(),
            part,
        })
    }

    fn sweeps(&self, part: &'static str) {
        self.metrics.expect_sweep(part);
    }
}

/// The same for one part of the store.
struct PartWatch {
    metrics: Arc<Metrics>,
    health: Health,
    part: &'static str,
}

impl store::StoreObserver for PartWatch {
    fn committed(&self, calls: usize, took: Duration) {
        self.metrics.committed(calls, took);
    }

    fn lease_ended(&self, claim: &Claim) {
        self.metrics.lease_ended(claim);
    }

    fn swept(&self, step: Result<&Swept, &Error>) {
        self.swept_share(0, step);
    }

    fn swept_share(&self, share: usize, step: Result<&Swept, &Error>) {
        self.metrics.swept_part((self.part, share), step);
    }

    fn swept_elsewhere(&self) {
        self.metrics.swept_part_elsewhere(self.part);
    }

    fn clock_doubted(&self, doubt: Option<Doubt>) {
        self.metrics.clock_doubted(doubt);
        let clock = self.health.part("clock");
        if let Some(doubt) = doubt {
            let jump = duration::show(doubt.by);
            clock.ready_but(format!(
                "jumped {jump} ahead of the store's time, doubted until {}",
                doubt.until()
            ));
        }
    }
}
