//! Whom to ask about one record on demand: the reconcile URL of the routes that have its scope.
//!
//! A request brings its route along; a record only says its scope, and often the method. Where several routes would ask
//! different questions none is asked: the wrong provider's "it did not happen" would let an effect happen twice.

use std::collections::HashMap;
use std::sync::Arc;

use http::Method;
use semel_core::once::Reconciled;
use semel_core::{Claim, Record, Retention, Scope};

use crate::config::Route;
use crate::reconcile::{ReconcileUrl, Reconciler};
use crate::routes::Guarded;

/// What stands between a route's scope and the name of a tool.
const TOOL: char = ':';

/// A route's reconcile URL, to be asked on demand. It stays the one that was found, whatever a reload brings.
#[derive(Debug, Clone)]
pub struct RouteReconciler(Arc<Reconciler>);

impl RouteReconciler {
    /// The URL, with its placeholders.
    pub fn url(&self) -> &ReconcileUrl {
        self.0.url()
    }

    /// How long an outcome is kept that it says.
    pub fn retention(&self) -> Retention {
        self.0.retention()
    }

    /// Did the claim take effect? An error says why that is not known. Nothing is written.
    pub async fn ask(&self, claim: &Claim) -> Result<Reconciled, String> {
        self.0.asked(&claim.identity, claim.fence).await
    }
}

/// Why there is no URL to ask about a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoReconciler {
    /// No route has its scope.
    NoRoute,
    /// Its route has no reconcile URL.
    NoUrl,
    /// Several routes have its scope, and ask different URLs or keep different answers.
    Ambiguous,
}

/// The routes by scope.
#[derive(Debug)]
pub(crate) struct Reconcilers(HashMap<Scope, Vec<Known>>);

/// What a route says.
#[derive(Debug)]
struct Known {
    methods: Vec<Method>,
    /// Whether each tool has a scope of its own.
    has_tools: bool,
    reconciler: Option<Arc<Reconciler>>,
}

impl Known {
    fn is_like(&self, other: &Self) -> bool {
        match (&self.reconciler, &other.reconciler) {
            (None, None) => true,
            (Some(one), Some(other)) => one.is_like(other),
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

impl Reconcilers {
    pub(crate) fn new(routes: &[(Route, Arc<Guarded>)]) -> Self {
        let mut by_scope = HashMap::<Scope, Vec<Known>>::new();
        for (route, guarded) in routes {
            let known = Known {
                methods: route.methods.clone(),
                has_tools: route.rules.mcp.is_some(),
                reconciler: guarded.reconciler.clone(),
            };
            let scope = route.rules.scope.clone();
            by_scope.entry(scope).or_default().push(known);
        }
        Self(by_scope)
    }

    /// Whom to ask about a record.
    pub(crate) fn find(&self, record: &Record) -> Result<RouteReconciler, NoReconciler> {
        let known = self.of(record.identity.scope());
        let asked = record.method();
        let has_method = |known: &&Known| known.methods.iter().any(|m| Some(m.as_str()) == asked);
        let mut meant: Vec<&Known> = known.iter().filter(has_method).collect();
        if meant.is_empty() {
            meant = known.iter().collect();
        }
        let (first, others) = meant.split_first().ok_or(NoReconciler::NoRoute)?;
        if !others.iter().all(|other| other.is_like(first)) {
            return Err(NoReconciler::Ambiguous);
        }
        let found = first.reconciler.clone();
        found.map(RouteReconciler).ok_or(NoReconciler::NoUrl)
    }

    /// The routes of a scope, which may be that of a tool.
    fn of(&self, scope: &Scope) -> &[Known] {
        if let Some(known) = self.0.get(scope) {
            return known;
        }
        let name = scope.name();
        let mut ends = name.match_indices(TOOL).map(|(at, _)| at);
        let found = ends.find_map(|end| {
            let route = Scope::new(&name[..end], scope.version()).ok()?;
            let known = self.0.get(&route)?;
            known.iter().any(|one| one.has_tools).then_some(known)
        });
        found.map_or(&[], Vec::as_slice)
    }
}
