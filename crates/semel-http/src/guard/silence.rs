//! A response body whose service may not stay silent for too long.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Frame, SizeHint};
use tokio::time::{Instant, Sleep, sleep_until};

use crate::body::{AnyBody, BoxError};

/// Fails when nothing came for `limit` while it was asked for. A reader that waits for its client
/// between two pieces does not use up the service's time.
pub(super) struct Heard<B> {
    body: B,
    limit: Duration,
    deadline: Option<Instant>,
    /// Made when first needed: most bodies are there at once.
    sleep: Option<Pin<Box<Sleep>>>,
}

impl<B> Heard<B> {
    pub(super) const fn new(body: B, limit: Duration) -> Self {
        Self {
            body,
            limit,
            deadline: None,
            sleep: None,
        }
    }

    fn is_overdue(&mut self, cx: &mut Context<'_>) -> bool {
        let limit = self.limit;
        let deadline = *self.deadline.get_or_insert_with(|| Instant::now() + limit);
        let sleep = self
            .sleep
            .get_or_insert_with(|| Box::pin(sleep_until(deadline)));
        if sleep.deadline() != deadline {
            sleep.as_mut().reset(deadline);
        }
        sleep.as_mut().poll(cx).is_ready()
    }
}

impl<B: AnyBody> http_body::Body for Heard<B> {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = Pin::new(&mut self.body).poll_frame(cx) {
            self.deadline = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        match self.is_overdue(cx) {
            true => Poll::Ready(Some(Err(Box::new(Silent(self.limit))))),
            false => Poll::Pending,
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Nothing came for so long.
#[derive(Debug)]
pub(super) struct Silent(Duration);

impl fmt::Display for Silent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing came for {:?}", self.0)
    }
}

impl std::error::Error for Silent {}
