//! The handler that sends the intents of one target: its policy, whatever way they go.

use crate::policy::Signal;
use crate::policy::retry::Failure;
use semel_core::inbox::Cause;
use semel_core::trace::Kind;

use super::http::{Exchange, Sent as Exchanged};
use super::outlet::{Outgoing, Sent};
use super::publisher::Publisher;
use super::reconcile::{ReconcileUrl, Reconciled};
use super::target::{OnUnknown, Target, To};
use crate::handler::{Ctx, Done, Handler, Handling};
use crate::keys;
use crate::trace;

/// Sends the intents of one target.
pub(crate) struct Sender {
    target: Target,
    client: reqwest::Client,
    way: Way,
}

/// How intents get there.
enum Way {
    Http(Box<Exchange>),
    Outlet(Publisher),
}

/// It is not known whether it happened, or it did not.
enum Trouble {
    Failed(Failure),
    Doubt(Failure),
}

impl Sender {
    pub(crate) fn new(target: Target, client: reqwest::Client) -> Self {
        let way = match &target.to {
            To::Http(address) => {
                let address = (**address).clone();
                Way::Http(Box::new(Exchange::new(
                    address,
                    client.clone(),
                    target.timeout,
                )))
            }
            To::Outlet(outlet) => Way::Outlet(Publisher::new(outlet.clone(), target.timeout)),
        };
        Self {
            target,
            client,
            way,
        }
    }

    async fn send(&self, ctx: &Ctx) -> Result<Done, Failure> {
        self.check_lifetime(ctx)?;
        let unknown = self.target.unknown();
        let key = self.key(ctx);
        if let OnUnknown::Reconcile(url) = &unknown
            && (ctx.attempt() > 1 || ctx.generation() > 0 || ctx.is_reclaimed())
            && let Some(done) = self.reconcile(ctx, url, &key).await?
        {
            return Ok(done);
        }
        match self.try_once(ctx, &key).await {
            Ok(done) => Ok(done),
            Err(Trouble::Failed(failure)) => Err(failure),
            Err(Trouble::Doubt(doubt)) => self.in_doubt(ctx, &unknown, &key, doubt).await,
        }
    }

    async fn try_once(&self, ctx: &Ctx, key: &str) -> Result<Done, Trouble> {
        match &self.way {
            Way::Http(exchange) => match exchange.send(ctx, key).await {
                Exchanged::Done(done) => Ok(done),
                Exchanged::Failed(failure) => Err(Trouble::Failed(failure)),
                Exchanged::Doubt(failure) => Err(Trouble::Doubt(failure)),
            },
            Way::Outlet(publisher) => self.publish(publisher, ctx, key).await,
        }
    }

    async fn publish(&self, publisher: &Publisher, ctx: &Ctx, key: &str) -> Result<Done, Trouble> {
        let span = ctx.span().child(Kind::Producer, "send");
        span.record(|span| span.set("messaging.operation.type", "send"));
        let mut message = Outgoing::of(ctx.message(), key);
        trace::published(&mut message.headers, &span);
        let sent = published(publisher.send(message).await);
        if let Err(Trouble::Failed(failure) | Trouble::Doubt(failure)) = &sent {
            span.record(|span| span.fail(failure.cause.name(), failure.error.as_str()));
        }
        sent
    }

    /// It is not known whether it happened: the target's policy decides. What is held or sent again is so by the consumer's policy, which follows from
    /// the target's.
    async fn in_doubt(
        &self,
        ctx: &Ctx,
        unknown: &OnUnknown,
        key: &str,
        doubt: Failure,
    ) -> Result<Done, Failure> {
        let OnUnknown::Reconcile(url) = unknown else {
            return Err(doubt);
        };
        match self.reconcile(ctx, url, key).await? {
            Some(done) => Ok(done),
            None => {
                let why = doubt.error.as_str();
                let failure = Failure::retryable(format!("it did not happen: {why}"));
                Err(failure.telling(doubt.signal))
            }
        }
    }

    /// The outcome if it happened, nothing if it did not.
    async fn reconcile(
        &self,
        ctx: &Ctx,
        url: &ReconcileUrl,
        key: &str,
    ) -> Result<Option<Done>, Failure> {
        let headers = match &self.target.to {
            To::Http(address) => address.headers.clone(),
            To::Outlet(_) => http::HeaderMap::new(),
        };
        match url
            .ask(&self.client, &headers, key, self.target.timeout, ctx.span())
            .await
        {
            Reconciled::Happened(answer) => Ok(Some(super::http::done(&answer))),
            Reconciled::Absent => Ok(None),
            Reconciled::CannotTell(why) => Err(Failure::unknown(format!(
                "the reconcile URL could not tell whether it happened: {why}"
            ))),
        }
    }

    /// Refuses to send again what the provider would no longer recognise as a repetition: its key counts from the first time it was sent with it.
    fn check_lifetime(&self, ctx: &Ctx) -> Result<(), Failure> {
        let Some(lifetime) = self.target.key_lifetime.filter(|_| self.target.takes_key()) else {
            return Ok(());
        };
        let age = ctx.now().since(ctx.first_tried_at());
        match age > lifetime {
            true => Err(Failure::park(format!(
                "it was first sent {age:?} ago, and the provider remembers keys for {lifetime:?}"
            ))
            .because(Cause::KeyExpired)),
            false => Ok(()),
        }
    }

    fn key(&self, ctx: &Ctx) -> String {
        let id = ctx.message().identity().key().as_str();
        let key = keys::renewed(id, ctx.key_generation());
        match &self.target.to {
            To::Http(address) => format!("{}{}", address.key_prefix, address.shape.fit(&key)),
            To::Outlet(_) => key,
        }
    }
}

fn published(sent: Sent) -> Result<Done, Trouble> {
    match sent {
        Sent::Done(place) => Ok(Done::with_body(place)),
        Sent::NotSent(why) => {
            let why = format!("the broker was not reached: {why}");
            Err(Trouble::Failed(Failure::not_reached(why)))
        }
        Sent::Refused(why) => {
            let why = format!("the broker refused it: {why}");
            Err(Trouble::Failed(Failure::terminal(why)))
        }
        Sent::Unknown(why) => Err(Trouble::Doubt(Failure::unknown(why).telling(Signal::Away))),
    }
}

impl Handler for Sender {
    fn handle(&self, ctx: Ctx) -> Handling<'_> {
        Box::pin(async move { self.send(&ctx).await })
    }
}
