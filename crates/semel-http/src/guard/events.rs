//! Hands on a stream of events in which the answer to a call stands. What comes before the answer goes to the client at
//! once: progress, and questions that the server waits for. The answer itself waits until the record is settled.
//!
//! The record keeps the answer as a JSON message: a duplicate has no use for another call's progress.

use std::time::Duration;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderName, HeaderValue, Response, response};
use http_body_util::BodyExt;
use semel_core::Permit;
use semel_core::once::{Finished, Settlement};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::exchange::{Ended, Word, broken, settlement};
use super::silence::Heard;
use super::spool::Gathered;
use super::stream::{Client, Rest, Streaming};
use super::{Failure, Guard};
use crate::body::{AnyBody, Body};
use crate::mcp::{Id, Mcp, Splitter};
use crate::replay;
use crate::rules::Class;

/// How long the end of a stream is awaited once the answer is there, so that its connection can be used again.
const END: Duration = Duration::from_millis(100);

/// Headers that are about the stream and not about the answer.
const OF_THE_STREAM: [HeaderName; 3] = [
    CACHE_CONTROL,
    CONTENT_LENGTH,
    HeaderName::from_static("x-accel-buffering"),
];

/// Whether an answer is a stream of events.
pub(super) fn is_stream(head: &response::Parts) -> bool {
    let kind = head.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let kind = kind.unwrap_or_default().split(|byte| *byte == b';').next();
    let kind = kind.unwrap_or_default().trim_ascii();
    head.status.is_success() && kind.eq_ignore_ascii_case(b"text/event-stream")
}

/// A stream of events that is being handed on.
pub(super) struct Events<B> {
    pub(super) guard: Guard,
    pub(super) call: Id,
    pub(super) head: response::Parts,
    pub(super) word: Word,
    pub(super) body: Heard<B>,
    /// What the bytes that wait here have drawn from the budget of memory.
    pub(super) held: Permit,
}

/// What a stream brought.
enum Found {
    /// The event with the answer, and the answer.
    Answer(Bytes, String),
    /// Its end; this is what was left of it.
    End(Bytes),
    /// An event that is too large to be looked at; this is its beginning.
    TooLarge(Bytes),
}

impl<B: AnyBody> Events<B> {
    pub(super) async fn hand_on(
        mut self,
        early: oneshot::Sender<Response<Body>>,
    ) -> Result<Finished<Ended>, Failure> {
        let stall = self.guard.rules().client_stall;
        let mut client = Client::answered(&self.head, stall, early);
        match self.find(&mut client).await? {
            Found::Answer(event, answer) => {
                let ending = async { while self.body.frame().await.is_some_and(|f| f.is_ok()) {} };
                let _not_in_time = timeout(END, ending).await;
                let settlement = self.settlement(answer.into());
                Ok(self.finished(client, event, settlement))
            }
            // The server may go on in another stream, which is not seen here.
            Found::End(rest) => {
                let settlement = settlement((self.word, Class::Unknown), self.head.status, || {
                    let nothing = semel_core::Body::capped(Bytes::new(), 0);
                    replay::outcome(self.guard.rules(), &self.head, None, nothing)
                });
                Ok(self.finished(client, rest, settlement))
            }
            Found::TooLarge(begun) => {
                let mut began = Gathered::response(&self.guard.0.budgets);
                began.push(begun);
                let streaming = Streaming {
                    guard: self.guard,
                    head: self.head,
                    word: self.word,
                    began,
                    body: self.body,
                };
                streaming.go_on(client).await
            }
        }
    }

    /// Hands on events until the answer is found.
    async fn find(&mut self, client: &mut Client) -> Result<Found, Failure> {
        let max = self.guard.rules().response_bytes_max;
        let mut splitter = Splitter::default();
        while let Some(frame) = self.body.frame().await {
            let Ok(data) = frame.map_err(broken)?.into_data() else {
                continue;
            };
            splitter.push(&data);
            self.held.grow(data.len());
            while let Some(event) = splitter.next_event() {
                let data = Splitter::data(&event);
                match data.filter(|data| Mcp::response_in(&self.call, data)) {
                    Some(answer) => return Ok(Found::Answer(event, answer)),
                    None => {
                        self.held.shrink(event.len());
                        client.data(event).await;
                    }
                }
            }
            if splitter.len() > max {
                return Ok(Found::TooLarge(splitter.rest()));
            }
        }
        Ok(Found::End(splitter.rest()))
    }

    fn settlement(&self, answer: Bytes) -> Settlement {
        let rules = self.guard.rules();
        let meaning = match &rules.mcp {
            Some(mcp) => mcp.meaning(&self.call, &answer),
            None => unreachable!("only calls are looked for in streams"),
        };
        settlement((self.word, meaning.class), self.head.status, || {
            let mut head = self.head.clone();
            for name in OF_THE_STREAM {
                head.headers.remove(name);
            }
            let json = HeaderValue::from_static("application/json");
            head.headers.insert(CONTENT_TYPE, json);
            let kept = semel_core::Body::capped(answer, rules.response_bytes_max);
            let mut outcome = replay::outcome(rules, &head, None, kept);
            outcome.verdict = meaning.verdict;
            self.word.outcome(outcome)
        })
    }

    fn finished(self, client: Client, last: Bytes, settlement: Settlement) -> Finished<Ended> {
        Finished {
            value: Ended::Streamed(Rest {
                status: self.head.status,
                client,
                last,
                trailers: None,
                held: Some(self.held),
            }),
            settlement,
        }
    }
}
