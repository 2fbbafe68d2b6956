//! What became of an operation, for a caller that has its key and the credentials of its tenant. Nothing is claimed and nothing runs.

use std::sync::Arc;
use std::time::Duration;

use http::header::{ALLOW, CACHE_CONTROL, LOCATION};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, Response};
use semel_core::{Identity, Record, State};

use super::answer::{Answering, store_away, unknown_of};
use super::echo::Echo;
use super::{Begun, Guard, Inner};
use crate::body::Body;
use crate::fingerprint::By;
use crate::outcomes::{self, Question};
use crate::problem::{Problem, Type};
use crate::rules::Mode;

const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");

impl Guard {
    /// Answers a request for the outcome of one of this guard's operations; `None` if its caller has no such operation. A caller that
    /// cannot be tied to a tenant is refused as on the route itself.
    pub async fn outcome(
        &self,
        head: &Parts,
        question: &Question,
    ) -> Result<Option<Response<Body>>, Problem> {
        let (began, inner) = (Begun::now(&head.extensions), &self.0);
        if inner.rules.scope != question.scope || inner.rules.mode == Mode::Observe {
            return Ok(None);
        }
        let tenant = inner.tenant(head).await?;
        let identity = Identity::new(tenant, question.scope.clone(), question.key.clone());
        // Whether the caller may see the record is decided before it waits for it: otherwise the time would tell that there is one.
        let found = inner.find(question, &identity, Duration::ZERO).await?;
        let wait = outcomes::wait(&head.headers);
        let found = match found {
            Some(record) if is_running(&record) && !wait.is_zero() => {
                inner.find(question, &identity, wait).await?
            }
            found => found,
        };
        let Some(record) = found else {
            return Ok(None);
        };
        let answering = Answering {
            guard: self.clone(),
            identity,
            fingerprint: record.fingerprint,
            method: head.method.clone(),
            echo: Echo::default(),
            began,
        };
        Ok(Some(dressed(answering.looked(&record), wait)))
    }
}

impl Inner {
    /// The record, if the caller may see it.
    async fn find(
        &self,
        question: &Question,
        identity: &Identity,
        wait: Duration,
    ) -> Result<Option<Arc<Record>>, Problem> {
        let found = self.once.look(identity, wait).await;
        let found = found.map_err(|_| store_away())?;
        Ok(found.filter(|record| self.may_see(question, record)))
    }

    /// A caller whose credential is a secret sees what is its own. For all others the key alone, which may be easy to guess, is not
    /// enough: the route would compare the request, and so does this. Nothing is shown that the same request sent again would not show.
    fn may_see(&self, question: &Question, record: &Record) -> bool {
        match &question.fingerprint {
            Some(shown) => *shown == record.fingerprint,
            None => {
                self.rules.tenant.is_proven(record.identity.tenant())
                    || self.rules.fingerprint == By::Off
            }
        }
    }
}

impl Answering {
    fn looked(self, record: &Record) -> Response<Body> {
        match &record.state {
            State::Settled(_) => self.replayed(record),
            State::Running { .. } => self.still_running(),
            State::Unknown { since, cause, .. } => {
                self.refused(unknown_of(record.fence, *since, *cause))
            }
        }
    }

    fn still_running(&self) -> Response<Body> {
        let detail = "the operation has no outcome yet, ask again later";
        let problem = Problem::new(Type::InProgress, detail).status(http::StatusCode::ACCEPTED);
        self.refused(self.located(problem))
    }

    /// With the address of the outcome, if the door has one.
    pub(super) fn located(&self, problem: Problem) -> Problem {
        match &self.guard.rules().outcomes {
            Some(place) => {
                let location = place.location(&self.identity, &self.fingerprint);
                problem.header(LOCATION, location)
            }
            None => problem,
        }
    }
}

fn is_running(record: &Record) -> bool {
    matches!(record.state, State::Running { .. })
}

/// The answer to a GET could be kept by caches on its way; a stored one says itself whether it may.
fn dressed(mut response: Response<Body>, wait: Duration) -> Response<Body> {
    let headers = response.headers_mut();
    let no_store = HeaderValue::from_static("no-store");
    headers.entry(CACHE_CONTROL).or_insert(no_store);
    if !wait.is_zero() {
        let applied = format!("wait={}", wait.as_secs());
        let applied = HeaderValue::try_from(applied).expect("a number is valid in a header");
        headers.insert(PREFERENCE_APPLIED, applied);
    }
    response
}

/// The answer to a caller that has no such operation, or to one that asks for another tenant's: the two cannot be told apart.
pub fn no_outcome() -> Problem {
    let detail = "there is no operation with this scope and key for this caller";
    Problem::new(Type::NotFound, detail)
}

/// The refusal of a method that does not ask for anything.
pub fn only_asked(method: &Method) -> Result<(), Problem> {
    match *method {
        Method::GET | Method::HEAD => Ok(()),
        _ => {
            let detail =
                format!("an outcome is fetched with GET or HEAD, found {method}; nothing ran");
            let allow = HeaderValue::from_static("GET, HEAD");
            Err(Problem::new(Type::MethodNotAllowed, detail).header(ALLOW, allow))
        }
    }
}
