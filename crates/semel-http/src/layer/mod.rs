//! The door for Rust services: a tower layer for axum, hyper and whatever else speaks `tower`.
//!
//! ```
//! use axum::{Router, routing::post};
//! use semel_core::{MemoryStore, Once};
//! use semel_http::{Rules, SemelLayer};
//!
//! let once = Once::new(MemoryStore::new());
//! let rules = Rules::new("payments@1".parse()?);
//! let app: Router = Router::new()
//!     .route("/payments", post(|| async { "charged" }))
//!     .layer(SemelLayer::new(&once, rules));
//! # Ok::<(), semel_core::Error>(())
//! ```
//!
//! A router that nests another takes its prefix from the URI, and two nests would look like one. With the feature
//! `axum` the layer compares the URI that axum remembers; for other routers a middleware in front puts
//! [`AskedUri`](crate::fingerprint::AskedUri) into the request's extensions.

mod service;

pub use service::Guarded;

use std::sync::Arc;

use http::Method;
use semel_core::{Once, Tracer};
use tower_layer::Layer;

use crate::event::{Nobody, RequestObserver};
use crate::guard::{Budgets, Guard};
use crate::rules::Rules;

/// Guards the POST and PATCH requests of a service.
#[derive(Debug, Clone)]
pub struct SemelLayer {
    once: Once,
    rules: Rules,
    methods: Arc<[Method]>,
    watch: Arc<dyn RequestObserver>,
    budgets: Budgets,
    tracer: Tracer,
}

impl SemelLayer {
    /// Guards by `rules`, on the store of `once`.
    pub fn new(once: &Once, rules: Rules) -> Self {
        Self {
            once: once.clone(),
            rules,
            methods: Arc::new([Method::POST, Method::PATCH]),
            watch: Arc::new(Nobody),
            budgets: Budgets::default(),
            tracer: Tracer::off(),
        }
    }

    /// Guards these methods instead.
    #[must_use]
    pub fn methods(mut self, methods: impl IntoIterator<Item = Method>) -> Self {
        self.methods = methods.into_iter().collect();
        self
    }

    /// Tells `watch` about every request.
    #[must_use]
    pub fn watched_by(mut self, watch: impl RequestObserver) -> Self {
        self.watch = Arc::new(watch);
        self
    }
}

impl SemelLayer {
    /// Keeps within these budgets, which other layers may share. By default each layer has 256 MiB for bodies.
    #[must_use]
    pub fn within(mut self, budgets: Budgets) -> Self {
        self.budgets = budgets;
        self
    }

    /// Begins a span for each request, for services that have none of their own. The service inside finds it in `traceparent`.
    #[must_use]
    pub fn traced(mut self, tracer: Tracer) -> Self {
        self.tracer = tracer;
        self
    }
}

impl<S> Layer<S> for SemelLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        let (rules, watch) = (self.rules.clone(), self.watch.clone());
        let guard = Guard::within(&self.once, rules, watch, self.budgets.clone());
        Guarded::new(inner, guard, self.methods.clone(), self.tracer.clone())
    }
}
