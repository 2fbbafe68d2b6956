//! One webhook: from a request to its answer.

use std::sync::Arc;
use std::time::Duration;

use crate::policy::Ack;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_LENGTH, COOKIE};
use http::{HeaderMap, HeaderName};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use semel_core::inbox::{Message, Origin, Receipt};
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::{Error, Headers, Kind, Scope};
use tokio::time::{Instant, timeout, timeout_at};

use super::problem::Problem;
use super::reply::{self, Told};
use super::signature::Signature;
use crate::deliver;
use crate::engine::{Shared, Waiter, is_settled};
use crate::receiver::Receiver;
use crate::source::Raw;
use crate::source::rule::{self, Refusal, Rule};

/// The largest body unless the webhook says otherwise.
const BYTES_MAX: usize = 1024 * 1024;
/// How long a body may take to arrive unless the webhook says otherwise.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a sender waits for the effect unless the webhook says otherwise.
const WAIT: Duration = Duration::from_secs(10);

/// A webhook of one consumer.
///
/// ```
/// use semel_inbox::{Rule, Signature, Webhook};
///
/// let stripe = Webhook::new("payments".parse()?)
///     .rule(Rule::stripe())
///     .signature(Signature::stripe(["whsec_…"])?);
/// # let _ = stripe;
/// # Ok::<(), semel_core::Error>(())
/// ```
#[derive(Debug, Clone)]
#[must_use]
pub struct Webhook {
    consumer: Scope,
    rule: Rule,
    signature: Option<Signature>,
    body_bytes_max: usize,
    body_timeout: Duration,
    wait: Duration,
}

impl Webhook {
    /// A webhook of this consumer that takes CloudEvents.
    pub fn new(consumer: Scope) -> Self {
        Self {
            consumer,
            rule: Rule::cloud_events(),
            signature: None,
            body_bytes_max: BYTES_MAX,
            body_timeout: BODY_TIMEOUT,
            wait: WAIT,
        }
    }

    /// Where id, type, key and sequence are.
    pub fn rule(mut self, rule: Rule) -> Self {
        self.rule = rule;
        self
    }

    /// How requests prove that they are the sender's.
    pub fn signature(mut self, signature: Signature) -> Self {
        self.signature = Some(signature);
        self
    }

    /// Another limit for bodies than 1 MiB; at most 16 MiB.
    pub fn body_bytes_max(mut self, bytes: usize) -> Self {
        self.body_bytes_max = bytes.min(BODY_BYTES_MAX);
        self
    }

    /// How long a body may take to arrive; 30 seconds by default.
    pub const fn body_timeout(mut self, timeout: Duration) -> Self {
        self.body_timeout = timeout;
        self
    }

    /// How long a request may wait for the effect, if the consumer acknowledges after it; 10 seconds by default.
    pub const fn wait(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    /// Whose it is.
    pub const fn consumer(&self) -> &Scope {
        &self.consumer
    }
}

/// A webhook with the way in.
pub(super) struct Hook {
    webhook: Webhook,
    receiver: Receiver,
    shared: Arc<Shared>,
}

impl Hook {
    pub(super) const fn new(webhook: Webhook, receiver: Receiver, shared: Arc<Shared>) -> Self {
        Self {
            webhook,
            receiver,
            shared,
        }
    }

    pub(super) async fn take(&self, request: Request) -> Response {
        match self.messages(request).await {
            Ok(messages) => self.receive(messages).await,
            Err(response) => *response,
        }
    }

    /// The messages of a request. Until here nothing is stored, so every refusal is free.
    async fn messages(&self, request: Request) -> Result<Vec<Message>, Box<Response>> {
        let refused = |problem: Problem, detail: String| Box::new(problem.response(detail));
        let (parts, body) = request.into_parts();
        let body = self.read(&parts.headers, body).await?;
        if let Some(signature) = &self.webhook.signature {
            let checked = signature.check(&parts.headers, &body, self.shared.clock.now());
            checked.map_err(|why| refused(Problem::SignatureInvalid, why.to_owned()))?;
        }
        let raw = Raw {
            headers: all(&parts.headers),
            payload: body,
            origin: Origin {
                topic: format!("/inbox/{}", self.webhook.consumer)
                    .chars()
                    .take(80)
                    .collect(),
                ..Origin::default()
            },
            ..Raw::default()
        };
        let consumer = self.receiver.consumer();
        let messages = split(&self.webhook.rule, raw).and_then(|all| {
            let messages = all.into_iter();
            let messages = messages.map(|raw| {
                let message = self.webhook.rule.message(consumer, raw)?;
                kept(message)
            });
            messages.collect()
        });
        messages.map_err(|refusal| {
            let problem = match refusal {
                Refusal::IdMissing => Problem::IdMissing,
                Refusal::SequenceMissing => Problem::SequenceMissing,
                Refusal::Invalid(_) => Problem::Invalid,
            };
            refused(problem, refusal.to_string())
        })
    }

    async fn read(
        &self,
        headers: &HeaderMap,
        body: axum::body::Body,
    ) -> Result<Bytes, Box<Response>> {
        let limit = self.webhook.body_bytes_max;
        let too_large = || {
            let detail = format!("a body has at most {limit} bytes here");
            Box::new(Problem::BodyTooLarge.response(detail))
        };
        let announced = headers.get(CONTENT_LENGTH);
        let announced = announced.and_then(|value| value.to_str().ok()?.parse::<usize>().ok());
        if announced.is_some_and(|bytes| bytes > limit) {
            return Err(too_large());
        }
        let read = Limited::new(body, limit).collect();
        let Ok(read) = timeout(self.webhook.body_timeout, read).await else {
            let detail = "the request body stopped arriving".to_owned();
            return Err(Box::new(Problem::BodyTimeout.response(detail)));
        };
        match read {
            Ok(read) => Ok(read.to_bytes()),
            Err(error) if error.is::<LengthLimitError>() => Err(too_large()),
            Err(_) => Err(Box::new(
                Problem::BodyBroken
                    .response("the request body could not be read to its end".to_owned()),
            )),
        }
    }

    /// Stores the messages and, if that is the policy, waits for their effect.
    async fn receive(&self, messages: Vec<Message>) -> Response {
        let until = Instant::now() + self.webhook.wait;
        let after_effect = self.receiver.consumer().ack == Ack::AfterEffect;
        let ids: Vec<String> = messages
            .iter()
            .map(|message| message.identity().key().to_string())
            .collect();
        // Before they are stored, because they may be dealt with before that returns.
        let waiters: Vec<Option<Waiter>> = messages
            .iter()
            .map(|message| after_effect.then(|| self.shared.finals.waiter(message.identity())))
            .collect();
        let receipts = match self.receiver.receive_all(messages).await {
            Ok(receipts) => receipts,
            Err(error) => return unavailable(&error),
        };
        let mut all = Vec::new();
        for ((id, waiter), receipt) in ids.into_iter().zip(waiters).zip(receipts) {
            let mut told = Told::new(id, receipt);
            if let Some(waiter) = waiter
                && receipt != Receipt::Conflict
                && !is_settled(told.state)
                && let Ok(state) = timeout_at(until, waiter.settled()).await
            {
                told.state = state;
            }
            all.push(told);
        }
        reply::response(&all, after_effect)
    }
}

fn split(rule: &Rule, raw: Raw) -> Result<Vec<Raw>, Refusal> {
    match rule.cloud_events {
        true => rule::split(raw),
        false => Ok(vec![raw]),
    }
}

/// All headers, so that the rule finds what it looks for.
fn all(headers: &HeaderMap) -> Vec<(String, Bytes)> {
    let fields = headers.iter();
    let fields = fields.map(|(name, value)| {
        let value = Bytes::copy_from_slice(value.as_bytes());
        (name.as_str().to_owned(), value)
    });
    fields.collect()
}

/// The message with the headers that stay with it: not those of the connection, not those that only Semel says, and no credentials.
fn kept(message: Message) -> Result<Message, Refusal> {
    let fits = |name: &str| {
        name.parse::<HeaderName>().is_ok_and(|name| {
            deliver::is_own_header(&name) && ![AUTHORIZATION, COOKIE].contains(&name)
        })
    };
    let fields = message.headers().iter().filter(|(name, _)| fits(name));
    let fields = fields.map(|(name, value)| (name.to_owned(), value.clone()));
    let headers = Headers::new(fields.collect())?;
    Ok(message.with_headers(headers))
}

fn unavailable(error: &Error) -> Response {
    match error.kind() {
        Kind::Invalid => Problem::Invalid.response(error.to_string()),
        _ => {
            tracing::warn!(%error, "messages cannot be stored, nothing is acknowledged");
            Problem::StoreUnavailable
                .response("the message was not stored; send it again later".to_owned())
        }
    }
}
