//! What doors report: requests by scope and by what became of them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use semel_core::Scope;
use semel_http::event::{Event, What};
use semel_http::problem::Type;

use super::histogram::Histogram;

/// The most scopes that are told apart; the rest share the label `other`. A metrics server keeps
/// every label that it ever saw, so their number must not depend on what callers send.
pub const SCOPES_MAX: usize = 256;

/// The methods that are told apart among requests that no route guards.
const METHODS: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];
/// The label of scopes beyond [`SCOPES_MAX`].
pub(super) const OTHER: &str = "other";

#[derive(Debug)]
pub(super) struct Requests {
    total: Family<Labels, Counter>,
    seconds: Family<ByScope, Histogram, fn() -> Histogram>,
    unguarded: Family<ByMethod, Counter>,
    /// A std lock, not an async one: it is held to look one entry up, never over an await.
    scopes: RwLock<HashMap<Scope, PerScope>>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Labels {
    scope: Arc<str>,
    outcome: &'static str,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByScope {
    scope: Arc<str>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ByMethod {
    method: &'static str,
}

/// What would have to be looked up or allocated again for each request.
#[derive(Debug, Clone)]
struct PerScope {
    label: Arc<str>,
    seconds: Histogram,
    traffic: Arc<Traffic>,
}

/// What alerts judge of a scope, beside the series.
#[derive(Debug, Default)]
struct Traffic {
    requests: AtomicU64,
    duplicates: AtomicU64,
}

impl Traffic {
    fn saw(&self, what: What) {
        self.requests.fetch_add(1, Ordering::Relaxed);
        if matches!(what, What::Replayed | What::Refused(Type::InProgress)) {
            self.duplicates.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Requests {
    pub(super) fn register(registry: &mut Registry) -> Self {
        let total = Family::default();
        let seconds: Family<_, _, fn() -> Histogram> =
            Family::new_with_constructor(Histogram::seconds);
        registry.register(
            "semel_requests",
            "Requests by scope, by what became of them, and by the class of the answer's status",
            total.clone(),
        );
        registry.register(
            "semel_request_seconds",
            "From a request's head to its answer's",
            seconds.clone(),
        );
        let unguarded = Family::default();
        registry.register(
            "semel_unguarded_keyed_requests",
            "Requests that carry a key and that no route guards: a retry of theirs takes effect again",
            unguarded.clone(),
        );
        Self {
            total,
            seconds,
            unguarded,
            scopes: RwLock::default(),
        }
    }

    pub(super) fn saw(&self, event: &Event<'_>) {
        let PerScope {
            label,
            seconds,
            traffic,
        } = self.scope(event.scope);
        seconds.took(event.took);
        traffic.saw(event.what);
        let labels = Labels {
            scope: label,
            outcome: event.what.name(),
            status: class(event.status),
        };
        self.total.get_or_create(&labels).inc();
    }

    pub(super) fn saw_unguarded(&self, method: &Method) {
        let method = method_label(method);
        self.unguarded.get_or_create(&ByMethod { method }).inc();
    }

    /// Requests and the duplicates among them, by scope; what shares the label `other` is left out.
    pub(super) fn traffic(&self) -> Vec<(Arc<str>, u64, u64)> {
        let known = self.scopes.read().unwrap_or_else(PoisonError::into_inner);
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let of = |scope: &PerScope| {
            let traffic = &scope.traffic;
            let (all, duplicates) = (read(&traffic.requests), read(&traffic.duplicates));
            (scope.label.clone(), all, duplicates)
        };
        known.values().map(of).collect()
    }

    /// Requests with a key that no route guards.
    pub(super) fn unguarded(&self) -> u64 {
        let known = METHODS.into_iter().chain([OTHER]);
        let of = |method| self.unguarded.get_or_create(&ByMethod { method }).get();
        known.map(of).sum()
    }

    fn scope(&self, scope: &Scope) -> PerScope {
        let known = self.scopes.read().unwrap_or_else(PoisonError::into_inner);
        let found = known.get(scope).cloned();
        drop(known);
        found.unwrap_or_else(|| self.meet(scope))
    }

    /// Makes room for a scope that was not seen before.
    fn meet(&self, scope: &Scope) -> PerScope {
        let mut known = self.scopes.write().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= SCOPES_MAX && !known.contains_key(scope) {
            return self.labelled(OTHER.into());
        }
        let new = || self.labelled(scope.to_string().into());
        known.entry(scope.clone()).or_insert_with(new).clone()
    }

    fn labelled(&self, label: Arc<str>) -> PerScope {
        let scope = label.clone();
        PerScope {
            label,
            seconds: self.seconds.get_or_create_owned(&ByScope { scope }),
            traffic: Arc::default(),
        }
    }
}

/// The name of a method that services know; clients can make up others without end.
fn method_label(method: &Method) -> &'static str {
    let found = METHODS.into_iter().find(|known| *known == method.as_str());
    found.unwrap_or(OTHER)
}

/// The class of a status; `none` where no answer was made.
const fn class(status: u16) -> &'static str {
    match status / 100 {
        1 => "1xx",
        2 => "2xx",
        3 => "3xx",
        4 => "4xx",
        5 => "5xx",
        _ => "none",
    }
}
