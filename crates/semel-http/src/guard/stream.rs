//! Hands on a response that is too large to be kept: the client gets it as it comes, the record gets
//! its length and digest. The last piece waits until the record is settled, so that no client holds a
//! complete response of which the record does not know.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response, StatusCode, response};
use http_body::Frame;
use http_body_util::BodyExt;
use semel_core::once::Finished;
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::exchange::{Ended, Word, broken, settlement};
use super::spool::Gathered;
use super::{Failure, Guard};
use crate::body::{AnyBody, Body, BoxError};
use crate::replay;

/// How many pieces may be on their way to a client that reads slowly.
const PIECES_MAX: usize = 16;

/// How long a client may let a piece wait. Its pace must not decide what the record says.
const CLIENT_PATIENCE: Duration = Duration::from_secs(5);

/// What is on its way to the client.
#[derive(Debug)]
enum Piece {
    Frame(Frame<Bytes>),
    /// The response is complete. Without it the client must see that it broke off.
    End,
}

/// A response that is being handed on.
pub(super) struct Streaming<B> {
    pub(super) guard: Guard,
    pub(super) head: response::Parts,
    pub(super) word: Word,
    /// What was read before it was too large.
    pub(super) began: Gathered,
    pub(super) body: B,
}

impl<B> Streaming<B>
where
    B: AnyBody,
{
    pub(super) async fn hand_on(
        mut self,
        early: oneshot::Sender<Response<Body>>,
    ) -> Result<Finished<Ended>, Failure> {
        let (client, pieces) = mpsc::channel(PIECES_MAX);
        let mut response = Response::new(Body::stream(Pieces {
            pieces,
            ended: false,
        }));
        *response.status_mut() = self.head.status;
        *response.headers_mut() = self.head.headers.clone();
        // A client that has gone away misses the response; the record does not.
        let _ = early.send(response);
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
        let settlement = settlement(guard.rules(), &head, word, || {
            let outcome = replay::outcome(guard.rules(), &head, tail.trailers.as_ref(), body);
            word.outcome(outcome)
        });
        Finished {
            value: Ended::Streamed(Rest {
                status: head.status,
                client: tail.client,
                last: tail.last,
                trailers: tail.trailers,
            }),
            settlement,
        }
    }
}

/// The end of a response: everything before the last piece has been sent.
struct Tail {
    /// `None` once it has gone away, or has not read for too long.
    client: Option<mpsc::Sender<Piece>>,
    hasher: blake3::Hasher,
    len: u64,
    last: Bytes,
    trailers: Option<HeaderMap>,
}

impl Tail {
    fn new(client: mpsc::Sender<Piece>) -> Self {
        Self {
            client: Some(client),
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
        let Some(client) = self.client.as_ref().filter(|_| !before.is_empty()) else {
            return;
        };
        let sending = client.send(Piece::Frame(Frame::data(before)));
        if !matches!(timeout(CLIENT_PATIENCE, sending).await, Ok(Ok(()))) {
            self.client = None;
        }
    }
}

/// What the client still waits for. Dropped, it breaks the response off.
#[derive(Debug)]
pub(super) struct Rest {
    pub(super) status: StatusCode,
    client: Option<mpsc::Sender<Piece>>,
    last: Bytes,
    trailers: Option<HeaderMap>,
}

impl Rest {
    /// Sends it.
    pub(super) async fn send(self) {
        let Some(client) = self.client else {
            return;
        };
        let last = Piece::Frame(Frame::data(self.last));
        let trailers = self
            .trailers
            .map(|trailers| Piece::Frame(Frame::trailers(trailers)));
        for piece in [Some(last), trailers, Some(Piece::End)]
            .into_iter()
            .flatten()
        {
            // A client that has gone away misses it; the record does not.
            let _ = timeout(CLIENT_PATIENCE, client.send(piece)).await;
        }
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
