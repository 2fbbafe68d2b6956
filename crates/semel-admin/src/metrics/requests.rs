//! What doors report: requests by scope and by what became of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::Registry;
use semel_core::Scope;
use semel_http::event::{Event, What};
use semel_http::problem::Type;

use super::bounded::{Bounded, OTHER};
use super::histogram::Histogram;

/// The most scopes that are told apart; the rest share the label `other`. A metrics server keeps
/// every label that it ever saw, so their number must not depend on what callers send.
pub const SCOPES_MAX: usize = 256;

/// The methods that are told apart among requests that no route guards.
const METHODS: [&str; 4] = ["POST", "PUT", "PATCH", "DELETE"];

#[derive(Debug)]
pub(super) struct Requests {
    total: Family<Labels, Counter>,
    seconds: Family<ByScope, Histogram, fn() -> Histogram>,
    unguarded: Family<ByMethod, Counter>,
    scopes: Bounded<Scope, PerScope>,
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
#[derive(Debug)]
struct PerScope {
    label: Arc<str>,
    seconds: Histogram,
    traffic: Traffic,
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
            scopes: Bounded::new(SCOPES_MAX),
        }
    }

    pub(super) fn saw(&self, event: &Event<'_>) {
        let make = |label| self.labelled(label);
        let scope = self
            .scopes
            .get(event.scope, || event.scope.to_string(), make);
        scope.seconds.took(event.took);
        scope.traffic.saw(event.what);
        let labels = Labels {
            scope: scope.label.clone(),
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
        let read = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let of = |scope: &Arc<PerScope>| {
            let traffic = &scope.traffic;
            let (all, duplicates) = (read(&traffic.requests), read(&traffic.duplicates));
            (scope.label.clone(), all, duplicates)
        };
        self.scopes.named().iter().map(of).collect()
    }

    /// Requests with a key that no route guards.
    pub(super) fn unguarded(&self) -> u64 {
        let known = METHODS.into_iter().chain([OTHER]);
        let of = |method| self.unguarded.get_or_create(&ByMethod { method }).get();
        known.map(of).sum()
    }

    fn labelled(&self, label: Arc<str>) -> PerScope {
        let scope = label.clone();
        PerScope {
            label,
            seconds: self.seconds.get_or_create_owned(&ByScope { scope }),
            traffic: Traffic::default(),
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
