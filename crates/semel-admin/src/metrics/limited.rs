//! What limits of tenants refused. Tenants are no label: there may be millions.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use semel_core::Scope;
use semel_http::quota::Limit;

use super::requests::{OTHER, SCOPES_MAX};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    limit: &'static str,
    scope: Arc<str>,
}

#[derive(Debug)]
pub(super) struct Limited {
    total: Family<Labels, Counter>,
    /// A std lock, not an async one: it is held to look one entry up, never over an await.
    scopes: Mutex<HashMap<Scope, Arc<str>>>,
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
            scopes: Mutex::default(),
        }
    }

    pub(super) fn limited(&self, limit: Limit, scope: &Scope) {
        let (limit, scope) = (limit.name(), self.label(scope));
        self.total.get_or_create(&Labels { limit, scope }).inc();
    }

    fn label(&self, scope: &Scope) -> Arc<str> {
        let mut scopes = self.scopes.lock().unwrap_or_else(PoisonError::into_inner);
        if scopes.len() >= SCOPES_MAX && !scopes.contains_key(scope) {
            return OTHER.into();
        }
        let label = scopes.entry(scope.clone());
        label.or_insert_with(|| scope.to_string().into()).clone()
    }
}
