//! The loop over tries: the same request and the same key until the operation is
//! settled, refused, or out of tries or time.
//!
//! This is the only module that reads a clock, and only for the budget.

use std::ops::ControlFlow;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::advice::{Advice, judge};
use crate::client::Client;
use crate::error::{Cause, Error, Result, Sent};
use crate::exchange::{Answer, exchange};
use crate::key::Key;
use crate::request::{Parts, invalid_url};
use crate::response::Response;
use crate::retry_after::retry_after;

/// Tries until the operation ends.
pub(crate) async fn run(client: &Client, parts: &Parts, key: &Key) -> Result<Response> {
    client.retry.check()?;
    let deadline = Instant::now() + client.retry.budget;
    let mut delays = client.retry.delays();
    let mut this = Try {
        client,
        key,
        number: 1,
    };
    // The delays are finite, and each round but the last uses one up.
    loop {
        let missed = match this.make(parts, deadline).await {
            ControlFlow::Break(end) => return end,
            ControlFlow::Continue(missed) => missed,
        };
        match delays.next(missed.retry_after) {
            Some(delay) if Instant::now() + delay < deadline => sleep(delay).await,
            Some(_) | None => return Err(Error::gave_up(this.sent(missed.cause))),
        }
        this.number += 1;
    }
}

/// A try that settled nothing, and how long the server asked to be left alone.
struct Missed {
    cause: Cause,
    retry_after: Option<Duration>,
}

impl Missed {
    const fn unanswered(cause: Cause) -> Self {
        Self {
            cause,
            retry_after: None,
        }
    }
}

/// One try of an operation, counted from 1.
struct Try<'a> {
    client: &'a Client,
    key: &'a Key,
    number: u32,
}

impl Try<'_> {
    async fn make(
        &self,
        parts: &Parts,
        deadline: Instant,
    ) -> ControlFlow<Result<Response>, Missed> {
        let until = deadline.min(Instant::now() + self.client.retry.try_timeout);
        let cause = match timeout_at(until, exchange(self.client, parts, self.key)).await {
            Ok(Ok(answer)) => return self.judged(answer),
            // The request could not be built: nothing was sent, and nothing ever will be.
            Ok(Err(error)) if error.is_builder() => {
                return ControlFlow::Break(Err(invalid_url(error)));
            }
            Ok(Err(error)) if !error.is_timeout() => Cause::Connection(error.without_url()),
            Ok(Err(_)) | Err(_) => Cause::Timeout,
        };
        ControlFlow::Continue(Missed::unanswered(cause))
    }

    fn judged(&self, answer: Answer) -> ControlFlow<Result<Response>, Missed> {
        let advice = judge(answer.status, &answer.headers, answer.body.as_deref());
        let retry_after = retry_after(&answer.headers);
        let end = match (advice, self.met(answer)) {
            (Advice::Again, cause) => {
                return ControlFlow::Continue(Missed { cause, retry_after });
            }
            (Advice::Done, Cause::Response(response)) => Ok(response),
            (Advice::Done, cause) => Err(Error::limit(self.sent(cause))),
            (Advice::KeyReused, cause) => Err(Error::key_reused(self.sent(cause))),
            (Advice::OutcomeUnknown, cause) => Err(Error::outcome_unknown(self.sent(cause))),
        };
        ControlFlow::Break(end)
    }

    /// The response, unless its body passed the limit.
    fn met(&self, answer: Answer) -> Cause {
        match answer.body {
            Some(body) => Cause::Response(Response {
                status: answer.status,
                headers: answer.headers,
                body,
                key: self.key.clone(),
                tries: self.number,
            }),
            None => Cause::TooLarge {
                status: answer.status,
                bytes_max: self.client.body_bytes_max,
            },
        }
    }

    fn sent(&self, cause: Cause) -> Sent {
        Sent {
            key: self.key.clone(),
            tries: self.number,
            cause,
        }
    }
}
