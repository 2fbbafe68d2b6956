//! The handler that sends intents to their provider.

use crate::policy::retry::Failure;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};
use semel_core::inbox::Cause;

use super::convention::KeyPlace;
use super::reconcile::{ReconcileUrl, Reconciled};
use super::target::{OnUnknown, Target};
use crate::deliver;
use crate::exchange::{self, Answer, Broken};
use crate::handler::{Ctx, Done, Handler, Handling};

/// Sends the intents of one target.
pub(crate) struct Sender {
    target: Target,
    client: reqwest::Client,
}

impl Sender {
    pub(crate) const fn new(target: Target, client: reqwest::Client) -> Self {
        Self { target, client }
    }

    async fn send(&self, ctx: &Ctx) -> Result<Done, Failure> {
        self.check_lifetime(ctx)?;
        let unknown = self.target.unknown();
        let key = self.key(ctx);
        if let OnUnknown::Reconcile(url) = &unknown
            && (ctx.attempt() > 1 || ctx.generation() > 0 || ctx.is_reclaimed())
            && let Some(done) = self.reconcile(url, &key).await?
        {
            return Ok(done);
        }
        let request = self.request(ctx, &key)?;
        let exchanged = exchange::exchange(&self.client, request, self.target.timeout).await;
        let doubt = match exchanged {
            Ok(answer) if answer.status.is_success() => return Ok(done(&answer)),
            Ok(answer) => self.refused(ctx, answer)?,
            Err(Broken::NotReached(text)) => {
                return Err(Failure::retryable(format!(
                    "the provider was not reached: {text}"
                )));
            }
            Err(Broken::Unknown(text)) => Doubt::Why(text),
        };
        match doubt {
            Doubt::None(done) => Ok(done),
            Doubt::Why(why) => self.in_doubt(&unknown, &key, &why).await,
        }
    }

    /// What an answer other than success means.
    fn refused(&self, ctx: &Ctx, answer: Answer) -> Result<Doubt, Failure> {
        let text = format!("the provider answered {}", answer.status);
        match answer.status {
            StatusCode::CONFLICT if self.target.conflict_is_done => Ok(Doubt::None(done(&answer))),
            status if is_passing(status) => Err(match answer.retry_after(ctx.now()) {
                Some(after) => Failure::retryable_after(after, text),
                None => Failure::retryable(text),
            }),
            status if status.is_server_error() => Ok(Doubt::Why(text)),
            _ => Err(Failure::terminal(text)),
        }
    }

    /// Nobody knows whether it happened.
    async fn in_doubt(&self, unknown: &OnUnknown, key: &str, why: &str) -> Result<Done, Failure> {
        match unknown {
            OnUnknown::Hold => Err(Failure::park(format!(
                "nobody knows whether it happened: {why}"
            ))
            .because(Cause::Unknown)),
            OnUnknown::Retry => Err(Failure::retryable(why).because(Cause::Unknown)),
            OnUnknown::Reconcile(url) => match self.reconcile(url, key).await? {
                Some(done) => Ok(done),
                None => Err(Failure::retryable(format!("it did not happen: {why}"))),
            },
        }
    }

    /// The outcome if it happened, nothing if it did not.
    async fn reconcile(&self, url: &ReconcileUrl, key: &str) -> Result<Option<Done>, Failure> {
        let (headers, limit) = (&self.target.headers, self.target.timeout);
        match url.ask(&self.client, headers, key, limit).await {
            Reconciled::Happened(answer) => Ok(Some(done(&answer))),
            Reconciled::Absent => Ok(None),
            Reconciled::CannotTell(why) => Err(Failure::retryable(format!(
                "the reconcile URL could not tell whether it happened: {why}"
            ))
            .because(Cause::Unknown)),
        }
    }

    /// Refuses to send what the provider would no longer recognise as a repetition.
    fn check_lifetime(&self, ctx: &Ctx) -> Result<(), Failure> {
        let Some(lifetime) = self.target.key_lifetime.filter(|_| self.target.takes_key()) else {
            return Ok(());
        };
        let age = ctx.now().since(ctx.received_at());
        match age > lifetime {
            true => Err(Failure::park(format!(
                "it is {age:?} old, and the provider remembers keys for {lifetime:?}"
            ))
            .because(Cause::KeyExpired)),
            false => Ok(()),
        }
    }

    fn key(&self, ctx: &Ctx) -> String {
        let id = ctx.message().identity().key().as_str();
        format!("{}{}", self.target.key_prefix, self.target.shape.fit(id))
    }

    fn request(&self, ctx: &Ctx, key: &str) -> Result<reqwest::Request, Failure> {
        let target = &self.target;
        let mut request = reqwest::Request::new(target.method.clone(), target.url.clone());
        let mut headers = deliver::own_headers(ctx.message().headers());
        let mut body = ctx.message().payload().clone();
        match &target.key {
            KeyPlace::None => {}
            KeyPlace::Header(name) => {
                let value = HeaderValue::from_str(key).map_err(Failure::terminal)?;
                headers.insert(name, value);
            }
            KeyPlace::Query(name) => {
                request.url_mut().query_pairs_mut().append_pair(name, key);
            }
            KeyPlace::Body(field) => {
                body = field.set(&body, key).map_err(Failure::terminal)?;
                let json = HeaderValue::from_static("application/json");
                headers.entry(CONTENT_TYPE).or_insert(json);
            }
        }
        for name in target.headers.keys() {
            headers.remove(name);
        }
        headers.extend(target.headers.clone());
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        Ok(request)
    }
}

/// Whether something is in doubt after an answer.
enum Doubt {
    None(Done),
    Why(String),
}

/// Whether a provider says with a status that nothing happened and that trying again may help.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 425 | 429 | 503)
}

fn done(answer: &Answer) -> Done {
    Done::with_outcome(answer.outcome(&[], answer.body.clone()))
}

impl Handler for Sender {
    fn handle(&self, ctx: Ctx) -> Handling<'_> {
        Box::pin(async move { self.send(&ctx).await })
    }
}
