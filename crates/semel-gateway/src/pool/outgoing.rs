//! A request's body on its way to the upstream.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Either;
use hyper::body::Incoming;
use semel_http::body::BoxError;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::alarm::Alarm;
use crate::hygiene;

/// A body that goes out.
pub(crate) enum Outgoing {
    /// All of it is here.
    Whole(semel_http::Body),
    /// The same, and the flag tells whether its connection began to take it.
    Watched(semel_http::Body, Arc<AtomicBool>),
    /// It is still coming from the client.
    Passing(Passing),
}

/// A body that passes through as the client sends it.
pub(crate) struct Passing {
    body: Either<Incoming, semel_http::Body>,
    idle: Duration,
    silent_since: Option<Instant>,
    alarm: Alarm,
    progress: Arc<Progress>,
}

/// How far a passing body has come, for whoever waits for the response.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    state: AtomicU8,
    ended: Notify,
}

const COMING: u8 = 0;
const SENT: u8 = 1;
const TIMED_OUT: u8 = 2;
const BROKEN: u8 = 3;

impl Progress {
    fn end(&self, state: u8) {
        self.state.store(state, Ordering::Release);
        self.ended.notify_one();
    }

    /// Waits until the body has been handed over, or will never be.
    pub(crate) async fn ended(&self) {
        while self.state.load(Ordering::Acquire) == COMING {
            self.ended.notified().await;
        }
    }

    /// Whether the client stopped sending.
    pub(crate) fn timed_out(&self) -> bool {
        self.state.load(Ordering::Acquire) == TIMED_OUT
    }

    /// Whether the client broke off.
    pub(crate) fn is_broken(&self) -> bool {
        self.state.load(Ordering::Acquire) == BROKEN
    }
}

impl Outgoing {
    /// A body that passes through and may stand still for `idle`.
    pub(crate) fn passing(
        body: Either<Incoming, semel_http::Body>,
        idle: Duration,
    ) -> (Self, Arc<Progress>) {
        let progress = Arc::new(Progress::default());
        if body.is_end_stream() {
            progress.end(SENT);
        }
        let passing = Passing {
            body,
            idle,
            silent_since: None,
            alarm: Alarm::default(),
            progress: progress.clone(),
        };
        (Self::Passing(passing), progress)
    }
}

impl Passing {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Pending => return self.wait(cx),
            Poll::Ready(None) => self.progress.end(SENT),
            Poll::Ready(Some(Ok(_))) if self.body.is_end_stream() => self.progress.end(SENT),
            Poll::Ready(Some(Ok(_))) => {}
            Poll::Ready(Some(Err(_))) => self.progress.end(BROKEN),
        }
        self.silent_since = None;
        polled
    }

    fn wait(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let since = *self.silent_since.get_or_insert_with(Instant::now);
        if self.alarm.has_passed(since + self.idle, cx) {
            self.progress.end(TIMED_OUT);
            return Poll::Ready(Some(Err("the client has stopped sending".into())));
        }
        Poll::Pending
    }
}

impl Body for Outgoing {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(cx),
            Self::Watched(body, begun) => {
                begun.store(true, Ordering::Release);
                Pin::new(body).poll_frame(cx)
            }
            Self::Passing(passing) => passing.poll(cx),
        };
        polled.map_ok(hygiene::request_trailers)
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) | Self::Watched(body, _) => body.is_end_stream(),
            Self::Passing(passing) => passing.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) | Self::Watched(body, _) => body.size_hint(),
            Self::Passing(passing) => passing.body.size_hint(),
        }
    }
}

/// A request as it was before it went out, for one that the upstream refuses to process.
pub(super) struct Spare {
    request: Request<Outgoing>,
    begun: Arc<AtomicBool>,
}

impl Spare {
    /// A copy of a request that is here with all of its body; from now on it is seen whether its
    /// connection begins to take the body.
    pub(super) fn of(request: &mut Request<Outgoing>) -> Option<Self> {
        let (Outgoing::Whole(body) | Outgoing::Watched(body, _)) = request.body_mut() else {
            return None;
        };
        let again = body.try_clone()?;
        // The body itself goes out, with what it has drawn from the budget of memory.
        let body = std::mem::take(body);
        let begun = Arc::default();
        *request.body_mut() = Outgoing::Watched(body, Arc::clone(&begun));
        let mut copy = Request::new(Outgoing::Whole(again));
        *copy.method_mut() = request.method().clone();
        *copy.uri_mut() = request.uri().clone();
        *copy.version_mut() = request.version();
        *copy.headers_mut() = request.headers().clone();
        Some(Self {
            request: copy,
            begun,
        })
    }

    pub(super) fn is_begun(&self) -> bool {
        self.begun.load(Ordering::Acquire)
    }

    pub(super) fn into_request(self) -> Request<Outgoing> {
        self.request
    }
}
