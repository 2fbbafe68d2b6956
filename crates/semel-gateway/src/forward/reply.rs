//! The body that clients get.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use semel_core::Permit;
use semel_core::trace::Span;
use semel_http::body::BoxError;
use tokio::time::Instant;

use crate::alarm::Alarm;
use crate::pool::Received;
use crate::server::InFlight;

/// What a reply consists of.
pub(super) enum Content {
    /// A problem, a replay, or a response that a guard has seen.
    Ours(semel_http::Body),
    /// A response that passes through as the upstream sends it.
    Passing(Received),
}

/// A reply's body. It keeps its request in flight, its place and its span until it has been sent.
pub(crate) struct Reply {
    content: Content,
    idle: Duration,
    silent_since: Option<Instant>,
    alarm: Alarm,
    _held: Held,
}

/// What a reply gives back once it has been sent.
type Held = (Option<InFlight>, Option<Permit>, Span);

impl Reply {
    /// A passing body may stand still for `idle`.
    pub(super) fn new(content: Content, idle: Duration, held: Held) -> Self {
        Self {
            content,
            idle,
            silent_since: None,
            alarm: Alarm::default(),
            _held: held,
        }
    }

    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let since = *self.silent_since.get_or_insert_with(Instant::now);
        match self.alarm.has_passed(since + self.idle, cx) {
            true => Poll::Ready(Some(Err("the upstream has stopped sending".into()))),
            false => Poll::Pending,
        }
    }
}

impl Body for Reply {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let passing = match &mut self.content {
            Content::Ours(body) => return Pin::new(body).poll_frame(cx),
            Content::Passing(body) => Pin::new(body).poll_frame(cx),
        };
        match passing {
            Poll::Pending => self.wait(cx),
            Poll::Ready(frame) => {
                self.silent_since = None;
                Poll::Ready(frame.map(|frame| frame.map_err(Into::into)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.content {
            Content::Ours(body) => body.is_end_stream(),
            Content::Passing(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.content {
            Content::Ours(body) => body.size_hint(),
            Content::Passing(body) => body.size_hint(),
        }
    }
}
