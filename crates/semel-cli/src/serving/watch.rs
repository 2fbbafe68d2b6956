//! Everybody who wants to see each request: metrics, the report of observations, the log.

use std::sync::Arc;

use semel_admin::{Metrics, Observations};
use semel_http::observe::Report;
use semel_http::{Event, Watch};

/// All who watch. Cheap to clone.
#[derive(Clone)]
pub(super) struct Watchers {
    metrics: Arc<Metrics>,
    report: Arc<Report>,
    logs: bool,
}

impl Watchers {
    /// `logs` says whether each request is a line of the log.
    pub(super) fn new(metrics: Arc<Metrics>, logs: bool) -> Self {
        let report = Arc::default();
        Self {
            metrics,
            report,
            logs,
        }
    }

    /// Where everything is counted.
    pub(super) fn metrics(&self) -> Arc<Metrics> {
        self.metrics.clone()
    }

    /// What was observed so far, for the admin side.
    pub(super) fn observations(&self) -> Observations {
        let report = self.report.clone();
        Arc::new(move || serde_json::json!(report.tallies()))
    }
}

impl Watch for Watchers {
    fn saw(&self, event: &Event<'_>) {
        self.metrics.saw(event);
        self.report.saw(event);
        if self.logs {
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
}
