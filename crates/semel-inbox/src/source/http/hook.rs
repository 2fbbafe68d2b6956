//! One webhook: from a request to its answer.

use std::sync::Arc;
use std::time::Duration;

use crate::policy::Ack;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
use http::header::{AUTHORIZATION, COOKIE};
use http::{HeaderMap, HeaderName};
use semel_core::inbox::{Message, Origin, Receipt};
use semel_core::outcome::BODY_BYTES_MAX;
use semel_core::trace::SpanHandle;
use semel_core::{Clock, Error, Headers, Kind, Scope, SystemClock};
use semel_http::Quotas;
use semel_http::memory::{self, Full, Memory, Unread};
use semel_http::problem::{Problem, Ran, Type};
use tokio::time::{Instant, timeout, timeout_at};

use super::limited::Tickets;
use super::refused;
use super::reply::{self, Stored, Told};
use super::signature::Signature;
use crate::deliver;
use crate::engine::{Shared, Waiter, is_settled};
use crate::receiver::Receiver;
use crate::source::rule::{self, Refusal, Rule};
use crate::source::{HeaderField, Raw};
use crate::trace;

/// The largest body unless the webhook says otherwise.
const BYTES_MAX: usize = 1024 * 1024;
/// How long a body may take to arrive unless the webhook says otherwise.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
/// The most messages of one request that its span says something about.
const TRACED_MAX: usize = 16;
/// How long the sender of a request waits for what its span says of duplicates.
const TRACE_WAIT: Duration = Duration::from_millis(250);
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
    pub(super) consumer: Scope,
    rule: Rule,
    signature: Option<Signature>,
    body_bytes_max: usize,
    body_timeout: Duration,
    wait: Duration,
    clock: Arc<dyn Clock>,
    memory: Memory,
    pub(super) quotas: Quotas,
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
            clock: Arc::new(SystemClock::new()),
            memory: Memory::default(),
            quotas: Quotas::default(),
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

    /// Whose wall time judges signed times; by default the machine's.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// The budget of bytes that bodies hold; by default the webhook has its own of 256 MiB.
    pub fn memory(mut self, memory: Memory) -> Self {
        self.memory = memory;
        self
    }

    /// What each tenant may bring; by default there is no limit.
    pub fn quotas(mut self, quotas: Quotas) -> Self {
        self.quotas = quotas;
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
        if self.receiver.is_full() {
            let detail = "nothing was stored; send it again when handlers have caught up";
            return refused(Problem::new(Type::BacklogFull, detail));
        }
        let span = semel_http::trace::server(&self.shared.tracer, &request);
        semel_http::trace::routed(&span, request.method(), "/inbox/{consumer}");
        let response = match self.messages(request, &span).await {
            Ok(messages) => self.receive(messages, &span).await,
            Err(problem) => refused(*problem),
        };
        semel_http::trace::answered(&span, response.status());
        response
    }

    /// The messages of a request, or why each is none. Until here nothing is stored, so every refusal is free.
    async fn messages(
        &self,
        request: Request,
        span: &SpanHandle,
    ) -> Result<Vec<Result<Message, Refusal>>, Box<Problem>> {
        let (parts, body) = request.into_parts();
        let body = self.read(&parts.headers, body).await?;
        if let Some(signature) = &self.webhook.signature {
            // Senders sign what their wall clocks show. A store's clock is steady, and may be far from that for long.
            let now = self.webhook.clock.wall();
            let checked = signature.check(&parts.headers, &body, now);
            checked.map_err(|why| {
                let detail = format!("{why}, nothing was stored");
                Box::new(Problem::new(Type::SignatureInvalid, detail))
            })?;
        }
        let raw = Raw {
            headers: all(&parts.headers),
            is_percent_encoded: true,
            payload: Some(body),
            origin: Origin {
                topic: format!("/inbox/{}", self.webhook.consumer)
                    .chars()
                    .take(80)
                    .collect(),
                ..Origin::default()
            },
            ..Raw::default()
        };
        let events =
            split(&self.webhook.rule, raw).map_err(|refusal| Box::new(reply::problem(&refusal)))?;
        let consumer = self.receiver.consumer();
        let message = |raw: Raw| {
            let message = self.webhook.rule.message(consumer, &raw)?;
            Ok(kept(message, span)?)
        };
        Ok(events.into_iter().map(message).collect())
    }

    async fn read(
        &self,
        headers: &HeaderMap,
        body: axum::body::Body,
    ) -> Result<Bytes, Box<Problem>> {
        let limit = self.webhook.body_bytes_max;
        let too_large = || {
            let detail = format!("a body has at most {limit} bytes here, nothing was stored");
            Box::new(Problem::new(Type::BodyTooLarge, detail))
        };
        let read = memory::read(&self.webhook.memory, headers, body, limit);
        let Ok(read) = timeout(self.webhook.body_timeout, read).await else {
            let detail = "the request body stopped arriving, nothing was stored";
            return Err(Box::new(Problem::new(Type::BodyTimeout, detail)));
        };
        match read {
            Ok(read) => Ok(memory::counted(read)),
            Err(Unread::TooLarge) => Err(too_large()),
            Err(Unread::Full) => Err(Box::new(Full.problem())),
            Err(Unread::Broken) => Err(Box::new(Problem::new(
                Type::BodyBroken,
                "the request body could not be read to its end, nothing was stored",
            ))),
        }
    }

    /// Stores the messages and, if that is the policy, waits for their effect. What is no message has its own result and holds up no other.
    async fn receive(&self, found: Vec<Result<Message, Refusal>>, span: &SpanHandle) -> Response {
        let until = Instant::now() + self.webhook.wait;
        let after_effect = self.receiver.consumer().ack == Ack::AfterEffect;
        let messages: Vec<Message> = found.iter().flatten().cloned().collect();
        let taken = Tickets::take(&self.webhook, &*self.shared.inbox, &messages).await;
        let mut tickets = match taken {
            Ok(tickets) => tickets,
            Err(problem) => return refused(*problem),
        };
        // Before they are stored, because they may be dealt with before that returns.
        let waiters = messages
            .iter()
            .map(|message| after_effect.then(|| self.shared.finals.waiter(message.identity())));
        let mut waiters = waiters.collect::<Vec<_>>().into_iter();
        let receipts = match messages.is_empty() {
            true => Ok(Vec::new()),
            false => self.receiver.receive_all(messages).await,
        };
        let mut receipts = match receipts {
            Ok(receipts) => receipts.into_iter(),
            Err(error) => return unavailable(&error),
        };
        let mut all = Vec::new();
        let mut trace_wait = TRACE_WAIT;
        for found in found {
            all.push(match found {
                Err(refusal) => Told::Refused(refusal),
                Ok(message) => {
                    let waiter = waiters.next().flatten();
                    let Some(receipt) = receipts.next() else {
                        let error = Error::new(Kind::Internal, "a message has no receipt");
                        return unavailable(&error);
                    };
                    if all.len() < TRACED_MAX {
                        self.traced(&message, receipt, span, &mut trace_wait).await;
                    }
                    tickets.spend(&message, receipt);
                    Told::Stored(self.settled(&message, receipt, waiter, until).await)
                }
            });
        }
        let refused = all.iter().filter(|told| told.is_refused()).count();
        if (1..all.len()).contains(&refused) {
            // A sender that looks only at the status does not learn of them.
            let consumer = &self.webhook.consumer;
            tracing::warn!(%consumer, refused, of = all.len(), "events of a batch are refused, the others are stored");
        }
        reply::learn_causes(&mut all, &*self.shared.inbox).await;
        reply::response(&all, after_effect)
    }

    /// Writes what became of a message; a duplicate is linked to the first one and to what came of it, for which the store is asked. The sender
    /// waits, so a store that is slow to say so is not waited for: the message is stored, and the span goes without the link.
    async fn traced(
        &self,
        message: &Message,
        receipt: Receipt,
        span: &SpanHandle,
        wait: &mut Duration,
    ) {
        if span.sampled().is_none() {
            return;
        }
        trace::posted(span, message.identity(), receipt);
        if !matches!(receipt, Receipt::Duplicate { .. }) {
            return;
        }
        let asked = Instant::now();
        let first = self.shared.inbox.message(message.identity().clone());
        if let Ok(Ok(Some(first))) = timeout_at(asked + *wait, first).await {
            trace::linked(span, &first);
        }
        *wait = wait.saturating_sub(asked.elapsed());
    }

    /// A message that is stored, in the state that it has reached by the end of the wait.
    async fn settled(
        &self,
        message: &Message,
        receipt: Receipt,
        waiter: Option<Waiter>,
        until: Instant,
    ) -> Stored {
        let mut stored = Stored::new(message.identity().clone(), receipt);
        if let Some(waiter) = waiter
            && receipt != Receipt::Conflict
            && !is_settled(stored.state)
            && let Ok(state) = timeout_at(until, waiter.settled()).await
        {
            stored.state = state;
        }
        stored
    }
}

fn split(rule: &Rule, raw: Raw) -> Result<Vec<Raw>, Refusal> {
    match rule.cloud_events {
        true => rule::split(raw),
        false => Ok(vec![raw]),
    }
}

/// All headers, so that the rule finds what it looks for.
fn all(headers: &HeaderMap) -> Vec<HeaderField> {
    let fields = headers.iter();
    let fields = fields.map(|(name, value)| {
        let value = Bytes::copy_from_slice(value.as_bytes());
        (name.as_str().to_owned(), Some(value))
    });
    fields.collect()
}

/// The message with the headers that stay with it: not those of the connection, not those that only Semel says, and no credentials.
fn kept(message: Message, span: &SpanHandle) -> semel_core::Result<Message> {
    let fits = |name: &str| {
        name.parse::<HeaderName>().is_ok_and(|name| {
            deliver::is_own_header(&name) && ![AUTHORIZATION, COOKIE].contains(&name)
        })
    };
    let fields = message.headers().iter().filter(|(name, _)| fits(name));
    let fields = fields.map(|(name, value)| (name.to_owned(), value.clone()));
    let headers = Headers::new(fields.collect())?;
    Ok(message.with_headers(trace::carry(headers, span)))
}

fn unavailable(error: &Error) -> Response {
    match error.kind() {
        Kind::Invalid => refused(Problem::new(Type::MessageInvalid, error.to_string())),
        _ => {
            tracing::warn!(%error, "messages cannot be stored, nothing is acknowledged");
            // A commit whose answer was lost may have stored it.
            let detail = "the store did not confirm the message; send it again, a copy that is stored is known by its id";
            refused(Problem::new(Type::StoreUnavailable, detail).ran(Ran::Maybe))
        }
    }
}
