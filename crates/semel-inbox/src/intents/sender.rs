//! The handler that sends intents to their provider.

use crate::policy::Signal;
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
use crate::keys;

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
            Ok(answer) => match self.refused(ctx, &answer) {
                Refused::Done => return Ok(done(&answer)),
                Refused::Failed(failure) => return Err(failure),
                Refused::Doubt(failure) => failure,
            },
            Err(Broken::NotReached(text)) => {
                let text = format!("the provider was not reached: {text}");
                return Err(Failure::not_reached(text));
            }
            Err(Broken::Unknown(text)) => Failure::unknown(text),
            Err(Broken::TimedOut(text)) => Failure::unknown(text).telling(Signal::Away),
        };
        self.in_doubt(&unknown, &key, doubt).await
    }

    /// What an answer other than success means.
    fn refused(&self, ctx: &Ctx, answer: &Answer) -> Refused {
        let text = format!("the provider answered {}", answer.status);
        let after = answer.retry_after(ctx.now());
        let signal = match answer.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Signal::Denied,
            _ => answer.signal(after),
        };
        let kept = |failure: Failure| failure.with_answer(&answer.body).telling(signal);
        match (answer.status, after) {
            (StatusCode::CONFLICT, _) if self.target.conflict_is_done => Refused::Done,
            (status, Some(after)) if is_passing(status) => {
                Refused::Failed(kept(Failure::retryable_after(after, text)))
            }
            (status, None) if is_passing(status) => Refused::Failed(kept(Failure::retryable(text))),
            (status, _) if status.is_server_error() => Refused::Doubt(kept(Failure::unknown(text))),
            _ => Refused::Failed(kept(Failure::terminal(text))),
        }
    }

    /// It is not known whether it happened: the target's policy decides. What is held or sent again is so by the consumer's policy, which follows from
    /// the target's.
    async fn in_doubt(
        &self,
        unknown: &OnUnknown,
        key: &str,
        doubt: Failure,
    ) -> Result<Done, Failure> {
        let OnUnknown::Reconcile(url) = unknown else {
            return Err(doubt);
        };
        match self.reconcile(url, key).await? {
            Some(done) => Ok(done),
            None => {
                let why = doubt.error.as_str();
                let failure = Failure::retryable(format!("it did not happen: {why}"));
                Err(failure.telling(doubt.signal))
            }
        }
    }

    /// The outcome if it happened, nothing if it did not.
    async fn reconcile(&self, url: &ReconcileUrl, key: &str) -> Result<Option<Done>, Failure> {
        let (headers, limit) = (&self.target.headers, self.target.timeout);
        match url.ask(&self.client, headers, key, limit).await {
            Reconciled::Happened(answer) => Ok(Some(done(&answer))),
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
        format!("{}{}", self.target.key_prefix, self.target.shape.fit(&key))
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

/// What an answer other than success means.
enum Refused {
    /// It is done all the same.
    Done,
    Failed(Failure),
    /// It is not known whether it happened.
    Doubt(Failure),
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
