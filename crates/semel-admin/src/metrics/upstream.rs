//! What the services behind the gateway answer, by the route's scope.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use semel_core::Scope;
use semel_http::event::Answered;

use super::SCOPES_MAX;
use super::bounded::Bounded;
use super::histogram::Histogram;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByScope {
    scope: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByStatus {
    scope: Arc<str>,
    status: &'static str,
}

#[derive(Debug)]
pub(super) struct Upstream {
    seconds: Family<ByScope, Histogram, fn() -> Histogram>,
    answers: Family<ByStatus, Counter>,
    scopes: Bounded<Scope, (Arc<str>, Histogram)>,
}

impl Upstream {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let upstream = Self {
            seconds: Family::new_with_constructor(Histogram::seconds),
            answers: Family::default(),
            scopes: Bounded::new(SCOPES_MAX),
        };
        registry.register(
            "semel_upstream_seconds",
            "How long the service took to begin its answer to a guarded request, or to fail, by scope",
            upstream.seconds.clone(),
        );
        registry.register(
            "semel_upstream_answers",
            "What the service answered to guarded requests, by scope: the class of the status; unreached if no byte can have arrived; broken if none came back",
            upstream.answers.clone(),
        );
        upstream
    }

    pub(super) fn saw(&self, scope: &Scope, answered: Answered, took: Duration) {
        let make = |label| self.labelled(label);
        let found = self.scopes.get(scope, || scope.to_string(), make);
        let (label, seconds) = &*found;
        seconds.took(took);
        let labels = ByStatus {
            scope: label.clone(),
            status: answered.name(),
        };
        self.answers.get_or_create(&labels).inc();
    }

    fn labelled(&self, label: Arc<str>) -> (Arc<str>, Histogram) {
        let scope = label.clone();
        (label, self.seconds.get_or_create_owned(&ByScope { scope }))
    }
}
