//! The gateway's own address where callers fetch outcomes by key. It is answered here and never forwarded.

use std::collections::HashMap;
use std::sync::Arc;

use http::Response;
use http::request::Parts;
use semel_core::Scope;
use semel_http::guard::{no_outcome, only_asked};
use semel_http::outcomes::{Place, Question};
use semel_http::{Body, Problem};

use crate::routes::Guarded;

/// Where outcomes are, and who knows them.
#[derive(Debug)]
pub(crate) struct Outcomes {
    place: Place,
    /// Several routes may have one scope, with different rules about tenants.
    guards: HashMap<Scope, Vec<Arc<Guarded>>>,
}

impl Outcomes {
    pub(crate) fn new<'g>(
        place: Place,
        guards: impl IntoIterator<Item = &'g Arc<Guarded>>,
    ) -> Self {
        let mut by_scope = HashMap::<Scope, Vec<_>>::new();
        for guarded in guards {
            let scope = guarded.guard.rules().scope.clone();
            by_scope.entry(scope).or_default().push(guarded.clone());
        }
        Self {
            place,
            guards: by_scope,
        }
    }

    /// Whether a path is theirs, in exactly this spelling: another one is the service's.
    pub(crate) fn are_at(&self, path: &str) -> bool {
        self.place.is(path)
    }

    /// Answers a request for an outcome.
    pub(crate) async fn answer(&self, head: &Parts) -> Response<Body> {
        let answered = self.find(head).await;
        answered.unwrap_or_else(Problem::into_response)
    }

    /// Each route ties the caller to a tenant by its own rule; the first that knows an operation of that tenant answers. A caller whom
    /// no rule can tie to a tenant is refused.
    async fn find(&self, head: &Parts) -> Result<Response<Body>, Problem> {
        only_asked(&head.method)?;
        let question = Question::read(head.uri.query())?;
        let guards = self.guards.get(&question.scope);
        let mut refused = None;
        let mut is_known = guards.is_none();
        for guarded in guards.into_iter().flatten() {
            match guarded.guard.outcome(head, &question).await {
                Ok(Some(response)) => return Ok(response),
                Ok(None) => is_known = true,
                Err(problem) => refused = refused.or(Some(problem)),
            }
        }
        match refused {
            Some(problem) if !is_known => Err(problem),
            _ => Err(no_outcome()),
        }
    }
}
