//! Webhooks: `POST /inbox/{consumer}`.
//!
//! The consumer is `name`, which is its newest version here, or `name@version`. What the body is, and where its id is, says a [`Rule`](super::Rule): CloudEvents in any mode,
//! Stripe-like events, or configured places. A [`Signature`] is checked over the raw body before anything is looked at.
//!
//! | answer | what it means |
//! |---|---|
//! | 202 | it is durable: to run, waiting, parked, failed or in conflict with a known message. `Retry-After`: its effect may come by itself |
//! | 200 | it is durable and nothing more is to come: known already; or, after the effect, dealt with |
//! | 207 | some events of a batch are durable and some are not; each has its own `status` |
//! | 400 `message-id-missing`, `message-sequence-missing`, `message-invalid` | it is no message of this consumer |
//! | 401 `signature-invalid` | the signature is missing, wrong or too old |
//! | 404 `consumer-unknown` | there is no such consumer here |
//! | 405 `method-not-allowed` | messages are sent with POST |
//! | 408 `body-timeout` | the body did not arrive in time |
//! | 413 `body-too-large` | the body is above the limit |
//! | 503 `backlog-full` | the consumer has more to do than it may; send it again after `Retry-After` |
//! | 503 `store-unavailable` | send it again after `Retry-After` |
//!
//! Whatever is durable is 2xx: `{"id", "state", "duplicate", "waiting"}`, with `cause` where the state alone does not say why, and
//! `"conflict": true` if the id is known with another payload. The header `Semel-State` has the state too. A problem means that nothing was
//! stored, or, with `"ran": "maybe"`, that the store did not confirm it. A batch of CloudEvents is answered with `{"messages": […]}`, the result of each with its own `status`; one bad event holds up no other.

mod hook;
mod limited;
mod reply;
mod signature;

pub use hook::Webhook;
pub use signature::{Encoding, Signature, StandardKey};

use std::collections::HashMap;
use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, Request, State};
use axum::response::Response;
use axum::routing::post;
use http::Method;
use semel_core::{Error, Result, Scope};
use semel_http::problem::{Problem, Type};

use crate::engine::Running;
use hook::Hook;

/// By `name@version`, and the newest of each name by the name alone.
type Hooks = Arc<HashMap<String, Arc<Hook>>>;

impl Running {
    /// The routes of these webhooks, to be mounted on any server. They work as long as they are held, also while the engine shuts
    /// down: what they store then runs elsewhere or later.
    pub fn router(&self, webhooks: Vec<Webhook>) -> Result<Router> {
        let (mut hooks, mut newest) = (HashMap::new(), HashMap::<String, Scope>::new());
        for webhook in webhooks {
            let consumer = webhook.consumer().clone();
            let receiver = self.receiver(&consumer).ok_or_else(|| {
                Error::invalid(format!(
                    "a webhook is for consumer {consumer}, which the engine does not have"
                ))
            })?;
            let hook = Arc::new(Hook::new(webhook, receiver, self.shared().clone()));
            // Producers post to the name, and its newest version takes what they post.
            let name = consumer.name().to_owned();
            if newest
                .get(&name)
                .is_none_or(|known| known.version() < consumer.version())
            {
                newest.insert(name.clone(), consumer.clone());
                hooks.insert(name, hook.clone());
            }
            if hooks.insert(consumer.to_string(), hook).is_some() {
                return Err(Error::invalid(format!(
                    "consumer {consumer} has two webhooks"
                )));
            }
        }
        let hooks: Hooks = Arc::new(hooks);
        Ok(Router::new()
            .route("/inbox/{consumer}", post(receive))
            .method_not_allowed_fallback(no_such_method)
            .with_state(hooks))
    }
}

async fn receive(
    State(hooks): State<Hooks>,
    // A name that is not UTF-8 is no consumer's.
    consumer: std::result::Result<Path<String>, PathRejection>,
    request: Request,
) -> Response {
    match consumer.ok().and_then(|Path(name)| hooks.get(&name)) {
        Some(hook) => hook.take(request).await,
        None => {
            let detail = "no consumer of this name takes messages here, nothing was stored";
            refused(Problem::new(Type::ConsumerUnknown, detail))
        }
    }
}

async fn no_such_method(method: Method) -> Response {
    let detail = format!("messages are sent with POST, found {method}; nothing was stored");
    refused(Problem::new(Type::MethodNotAllowed, detail))
}

/// A problem as axum sends it.
fn refused(problem: Problem) -> Response {
    problem.into_response().map(axum::body::Body::new)
}
