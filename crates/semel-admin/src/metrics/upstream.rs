//! What the services behind the gateway answer, by the route's scope.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use semel_core::Scope;
use semel_http::event::Answered;

use super::SCOPES_MAX;
use super::histogram::Histogram;
use super::requests::OTHER;

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
    /// A std lock, not an async one: it is held to look one entry up, never over an await.
    scopes: RwLock<HashMap<Scope, (Arc<str>, Histogram)>>,
}

impl Upstream {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let upstream = Self {
            seconds: Family::new_with_constructor(Histogram::seconds),
            answers: Family::default(),
            scopes: RwLock::default(),
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
        let (scope, seconds) = self.scope(scope);
        seconds.took(took);
        let status = answered.name();
        self.answers
            .get_or_create(&ByStatus { scope, status })
            .inc();
    }

    fn scope(&self, scope: &Scope) -> (Arc<str>, Histogram) {
        let known = self.scopes.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = known.get(scope) {
            return found.clone();
        }
        drop(known);
        let mut known = self.scopes.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= SCOPES_MAX && !known.contains_key(scope) {
            return self.labelled(OTHER.into());
        }
        let new = || self.labelled(scope.to_string().into());
        known.entry(scope.clone()).or_insert_with(new).clone()
    }

    fn labelled(&self, label: Arc<str>) -> (Arc<str>, Histogram) {
        let scope = label.clone();
        (label, self.seconds.get_or_create_owned(&ByScope { scope }))
    }
}
