//! Intents over HTTP: one request, and what its answer means.

use std::time::Duration;

use crate::policy::Signal;
use crate::policy::retry::Failure;
use http::header::CONTENT_TYPE;
use http::{HeaderValue, StatusCode};

use super::convention::KeyPlace;
use super::target::Address;
use crate::deliver;
use crate::exchange::{self, Answer, Broken};
use crate::handler::{Ctx, Done};

/// Sends requests to one address.
pub(super) struct Exchange {
    address: Address,
    client: reqwest::Client,
    timeout: Duration,
}

/// What became of a request.
pub(super) enum Sent {
    Done(Done),
    Failed(Failure),
    /// It is not known whether it happened.
    Doubt(Failure),
}

impl Exchange {
    pub(super) const fn new(address: Address, client: reqwest::Client, timeout: Duration) -> Self {
        Self {
            address,
            client,
            timeout,
        }
    }

    pub(super) async fn send(&self, ctx: &Ctx, key: &str) -> Sent {
        let request = match self.request(ctx, key) {
            Ok(request) => request,
            Err(failure) => return Sent::Failed(failure),
        };
        match exchange::exchange(&self.client, request, self.timeout, ctx.span()).await {
            Ok(answer) if answer.status.is_success() => Sent::Done(done(&answer)),
            Ok(answer) => self.refused(ctx, &answer),
            Err(Broken::NotReached(text)) => {
                let text = format!("the provider was not reached: {text}");
                Sent::Failed(Failure::not_reached(text))
            }
            Err(Broken::Unknown(text)) => Sent::Doubt(Failure::unknown(text)),
            Err(Broken::TimedOut(text)) => {
                Sent::Doubt(Failure::unknown(text).telling(Signal::Away))
            }
        }
    }

    /// What an answer other than success means.
    fn refused(&self, ctx: &Ctx, answer: &Answer) -> Sent {
        let text = format!("the provider answered {}", answer.status);
        let after = answer.retry_after(ctx.now());
        let signal = match answer.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Signal::Denied,
            _ => answer.signal(after),
        };
        let kept = |failure: Failure| failure.with_answer(&answer.body).telling(signal);
        match (answer.status, after) {
            (StatusCode::CONFLICT, _) if self.address.conflict_is_done => Sent::Done(done(answer)),
            (status, Some(after)) if is_passing(status) => {
                Sent::Failed(kept(Failure::retryable_after(after, text)))
            }
            (status, None) if is_passing(status) => Sent::Failed(kept(Failure::retryable(text))),
            (status, _) if status.is_server_error() => Sent::Doubt(kept(Failure::unknown(text))),
            _ => Sent::Failed(kept(Failure::terminal(text))),
        }
    }

    fn request(&self, ctx: &Ctx, key: &str) -> Result<reqwest::Request, Failure> {
        let address = &self.address;
        let mut request = reqwest::Request::new(address.method.clone(), address.url.clone());
        let mut headers = deliver::own_headers(ctx.message().headers());
        let mut body = ctx.message().payload().clone();
        match &address.key {
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
        for name in address.headers.keys() {
            headers.remove(name);
        }
        headers.extend(address.headers.clone());
        *request.headers_mut() = headers;
        *request.body_mut() = Some(body.into());
        Ok(request)
    }
}

/// Whether a provider says with a status that nothing happened and that trying again may help.
fn is_passing(status: StatusCode) -> bool {
    matches!(status.as_u16(), 408 | 409 | 425 | 429 | 503)
}

/// What an answer is kept as.
pub(super) fn done(answer: &Answer) -> Done {
    Done::with_outcome(answer.outcome(&[], answer.body.clone()))
}
