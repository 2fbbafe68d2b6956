//! Hands on a response that is too large to be kept: the client gets it as it comes, the record gets
//! its length and digest. The last piece waits until the record is settled, so that no client holds a
//! complete response of which the record does not know.
//!
//! A client that reads slowly holds the service back, within limits; one that reads too slowly, or not at
//! all, or hangs up, loses the response, and the service is read to its end without it. So the memory for
//! a response is bounded, and what the record says does not depend on the client, unless the service itself gives up
//! writing while it is held back: with `client_stall` below the service's own write timeout it does not.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, response};
use http_body::Frame;
use http_body_util::BodyExt;
use semel_core::Permit;
use semel_core::once::Finished;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, timeout};

use super::exchange::{Ended, Word, broken, by_status, settlement};
use super::silence::Heard;
use super::spool::Gathered;
use super::{Failure, Guard};
use crate::body::{AnyBody, Body, BoxError};
use crate::replay;

/// How many pieces may be on their way to a client that reads slowly.
const PIECES_MAX: usize = 8;

/// The slowest client that is waited for, on average, in bytes per second: each byte that was sent allows
/// for as much more waiting. Otherwise one byte at a time would hold a run, and its place, for days.
const CLIENT_RATE_MIN: u64 = 32 * 1024;

/// What is on its way to the client.
#[derive(Debug)]
enum Piece {
    Frame(Frame<Bytes>),
    /// The response is complete. Without it the client must see that it broke off.
    End,
}

impl Piece {
    fn len(&self) -> u64 {
        let frame = match self {
            Self::Frame(frame) => frame,
            Self::End => return 0,
        };
        frame.data_ref().map_or(0, |data| data.len() as u64)
    }
}

/// A response that is being handed on.
pub(super) struct Streaming<B> {
    pub(super) guard: Guard,
    pub(super) head: response::Parts,
    pub(super) word: Word,
    /// What was read before it was too large.
    pub(super) began: Gathered,
    pub(super) body: Heard<B>,
}

impl<B> Streaming<B>
where
    B: AnyBody,
{
    pub(super) async fn hand_on(
        self,
        early: oneshot::Sender<Response<Body>>,
    ) -> Result<Finished<Ended>, Failure> {
        let client = Client::answered(&self.head, self.guard.rules().client_stall, early);
        self.go_on(client).await
    }

    /// The rest of it, to a client that has the head.
    pub(super) async fn go_on(mut self, client: Client) -> Result<Finished<Ended>, Failure> {
        let mut tail = Tail::new(client);
        tail.push(self.began.joined()).await;
        while let Some(frame) = self.body.frame().await {
            match frame.map_err(broken)?.into_data() {
                Ok(data) => tail.push(data).await,
                Err(other) => tail.trailers = other.into_trailers().ok(),
            }
        }
        Ok(self.finish(tail))
    }

    fn finish(self, tail: Tail) -> Finished<Ended> {
        let Self {
            guard, head, word, ..
        } = self;
        let body = semel_core::Body::Omitted {
            len: tail.len,
            digest: Some(*tail.hasher.finalize().as_bytes()),
        };
        let class = by_status(guard.rules(), &head);
        let settlement = settlement((word, class), head.status, || {
            let outcome = replay::outcome(guard.rules(), &head, tail.trailers.as_ref(), body);
            word.outcome(outcome)
        });
        Finished {
            value: Ended::Streamed(Rest {
                status: head.status,
                client: tail.client,
                last: tail.last,
                trailers: tail.trailers,
                held: None,
            }),
            settlement,
        }
    }
}

/// The end of a response: everything before the last piece has been sent.
struct Tail {
    client: Client,
    hasher: blake3::Hasher,
    len: u64,
    last: Bytes,
    trailers: Option<HeaderMap>,
}

impl Tail {
    fn new(client: Client) -> Self {
        Self {
            client,
            hasher: blake3::Hasher::new(),
            len: 0,
            last: Bytes::new(),
            trailers: None,
        }
    }

    /// Sends the piece before this one. A client that has gone away or does not read is no reason to
    /// stop: the service has answered, and the record must say so.
    async fn push(&mut self, piece: Bytes) {
        if piece.is_empty() {
            return;
        }
        self.hasher.update(&piece);
        self.len += piece.len() as u64;
        let before = std::mem::replace(&mut self.last, piece);
        self.client.data(before).await;
    }
}

/// The client's end, as long as it is worth waiting for.
#[derive(Debug)]
pub(super) struct Client {
    /// `None` once it has gone away, or has held the service back for too long.
    pieces: Option<mpsc::Sender<Piece>>,
    /// The longest it may let one piece wait.
    stall: Duration,
    /// How much longer it may hold the service back in all; grows with every byte.
    allowance: Duration,
}

impl Client {
    /// A client that is given the head of a response now, and its body as it comes.
    pub(super) fn answered(
        head: &response::Parts,
        stall: Duration,
        early: oneshot::Sender<Response<Body>>,
    ) -> Self {
        let (sender, pieces) = mpsc::channel(PIECES_MAX);
        let mut response = Response::new(Body::stream(Pieces {
            pieces,
            ended: false,
        }));
        *response.status_mut() = head.status;
        *response.headers_mut() = head.headers.clone();
        // A client that has gone away misses the response; the record does not.
        let _ = early.send(response);
        Self {
            pieces: Some(sender),
            stall,
            allowance: stall,
        }
    }

    /// Sends some of the body.
    pub(super) async fn data(&mut self, data: Bytes) {
        if !data.is_empty() {
            self.send(Piece::Frame(Frame::data(data))).await;
        }
    }

    async fn send(&mut self, piece: Piece) {
        let Some(pieces) = &self.pieces else { return };
        let earned = piece.len().saturating_mul(1_000_000) / CLIENT_RATE_MIN;
        let piece = match pieces.try_send(piece) {
            Ok(()) => {
                self.allowance += Duration::from_micros(earned);
                return;
            }
            Err(mpsc::error::TrySendError::Full(piece)) => piece,
            Err(mpsc::error::TrySendError::Closed(_)) => {
                self.pieces = None;
                return;
            }
        };
        let began = Instant::now();
        let patience = self.stall.min(self.allowance);
        match timeout(patience, pieces.send(piece)).await {
            Ok(Ok(())) => {
                let left = self.allowance.saturating_sub(began.elapsed());
                self.allowance = left + Duration::from_micros(earned);
            }
            Ok(Err(_)) => self.pieces = None,
            Err(_) => {
                tracing::debug!(
                    ?patience,
                    "a client reads too slowly and loses its response"
                );
                self.pieces = None;
            }
        }
    }
}

/// What the client still waits for. Dropped, it breaks the response off.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) status: StatusCode,
    pub(super) client: Client,
    pub(super) last: Bytes,
    pub(super) trailers: Option<HeaderMap>,
    /// What its bytes have drawn from the budget of memory.
    pub(super) held: Option<Permit>,
}

impl Rest {
    /// Sends it. A client that has gone away misses it; the record does not.
    pub(super) async fn send(self) {
        let Self {
            mut client,
            last,
            trailers,
            held: _held,
            ..
        } = self;
        client.data(last).await;
        if let Some(trailers) = trailers {
            client.send(Piece::Frame(Frame::trailers(trailers))).await;
        }
        client.send(Piece::End).await;
    }
}

/// The pieces as a body.
struct Pieces {
    pieces: mpsc::Receiver<Piece>,
    ended: bool,
}

impl http_body::Body for Pieces {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.ended {
            return Poll::Ready(None);
        }
        match ready!(self.pieces.poll_recv(cx)) {
            Some(Piece::Frame(frame)) => Poll::Ready(Some(Ok(frame))),
            Some(Piece::End) => {
                self.ended = true;
                Poll::Ready(None)
            }
            None => {
                self.ended = true;
                Poll::Ready(Some(Err("the response broke off".into())))
            }
        }
    }
}
