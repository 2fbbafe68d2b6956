//! Refusals of the API, and how long it waits for the store.

use std::time::Duration;

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use semel_core::{Error, Kind, Result};
use semel_http::problem::{Problem, Ran, Type};
use tokio::time::timeout;
use tracing::Instrument;

/// How long a call waits for the store.
const STORE_TIMEOUT: Duration = Duration::from_secs(10);

/// A problem on its way to the caller. Boxed, because answers should not be as large as refusals.
#[derive(Debug)]
pub(crate) struct Refused(Box<Problem>);

impl Refused {
    /// What is refused, and why.
    pub(crate) fn problem(&self) -> &Problem {
        &self.0
    }

    /// The same refusal of what was asked correctly and cannot be decided so.
    pub(crate) fn decided(self) -> Self {
        match self.0.kind() {
            Type::InvalidInput => {
                Problem::new(Type::DecisionRefused, self.0.detail().to_owned()).into()
            }
            _ => self,
        }
    }

    /// The same refusal of a change that was handed to the store: one that did not answer may have made it all the same.
    fn maybe_done(self) -> Self {
        match self.0.kind() {
            Type::StoreUnavailable => Self(Box::new(self.0.ran(Ran::Maybe))),
            _ => self,
        }
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        let kind = match error.kind() {
            Kind::Invalid => Type::InvalidInput,
            Kind::Limit => Type::Overloaded,
            Kind::Internal => Type::Internal,
            _ => Type::StoreUnavailable,
        };
        let problem = Problem::new(kind, error.to_string());
        match error.is_retryable() {
            true => problem.into(),
            false => problem.no_retry().into(),
        }
    }
}

impl IntoResponse for Refused {
    fn into_response(self) -> Response {
        self.0.into_response().map(Body::new)
    }
}

/// Waits for the store, but not for ever.
pub(crate) async fn ask<T>(call: impl Future<Output = Result<T>>) -> Result<T, Refused> {
    ask_after(Duration::ZERO, call).await
}

/// The same for a call that waits so long itself.
pub(crate) async fn ask_after<T>(
    wait: Duration,
    call: impl Future<Output = Result<T>>,
) -> Result<T, Refused> {
    match timeout(wait + STORE_TIMEOUT, call).await {
        Ok(answer) => Ok(answer?),
        Err(_) => {
            let waited = (wait + STORE_TIMEOUT).as_secs();
            let message = format!("the store did not answer within {waited} s");
            Err(Error::new(Kind::Unavailable, message).into())
        }
    }
}

/// The same in a task of its own: a caller that hangs up half-way does not cancel a change.
pub(crate) async fn change<T: Send + 'static>(
    call: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T, Refused> {
    change_after(Duration::ZERO, call).await
}

/// The same for a change that waits so long for others before the store is asked.
pub(crate) async fn change_after<T: Send + 'static>(
    wait: Duration,
    call: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T, Refused> {
    let task = tokio::spawn(call.in_current_span());
    let changed = ask_after(wait, async {
        let died = |e| Error::new(Kind::Internal, "a call of the store panicked").caused_by(e);
        task.await.map_err(died)?
    });
    changed.await.map_err(Refused::maybe_done)
}
