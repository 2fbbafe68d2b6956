//! What limits of tenants refused. Tenants are no label: there may be millions.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use semel_core::Scope;
use semel_http::quota::Limit;

use super::bounded::Bounded;
use super::requests::SCOPES_MAX;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    limit: &'static str,
    scope: Arc<str>,
}

#[derive(Debug)]
pub(super) struct Limited {
    total: Family<Labels, Counter>,
    labels: Bounded<Scope, Arc<str>>,
}

impl Limited {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let total = Family::default();
        registry.register(
            "semel_limited",
            "Requests and messages that a limit of their tenant refused, by limit and by scope",
            total.clone(),
        );
        Self {
            total,
            labels: Bounded::new(SCOPES_MAX),
        }
    }

    pub(super) fn limited(&self, limit: Limit, scope: &Scope) {
        let label = self.labels.get(scope, || scope.to_string(), |label| label);
        let labels = Labels {
            limit: limit.name(),
            scope: Arc::clone(&label),
        };
        self.total.get_or_create(&labels).inc();
    }
}
