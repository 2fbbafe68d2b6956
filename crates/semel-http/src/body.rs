//! One body type for requests and responses: whole in memory, or a stream.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use semel_core::Permit;

use crate::memory::{Full, Memory};

/// How much of a whole body is handed on at once. Connections take what they are offered, however slowly their peer
/// reads: in slices, what they have taken stays small, and the rest stays here, where it is counted.
const SLICE_BYTES: usize = 64 * 1024;

/// Any error of a body.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Any body that Semel can read or hand on.
pub trait AnyBody:
    http_body::Body<Data = Bytes, Error: Into<BoxError> + Send> + Send + Unpin + 'static
{
}

impl<B> AnyBody for B where
    B: http_body::Body<Data = Bytes, Error: Into<BoxError> + Send> + Send + Unpin + 'static
{
}

/// A body that is whole in memory, or a stream.
#[derive(Default)]
pub struct Body(Inner);

enum Inner {
    Whole {
        data: Bytes,
        trailers: Option<HeaderMap>,
        /// What its bytes have drawn from the budget of memory.
        held: Option<Permit>,
    },
    Stream(Pin<Box<dyn http_body::Body<Data = Bytes, Error = BoxError> + Send>>),
}

impl Default for Inner {
    fn default() -> Self {
        Self::Whole {
            data: Bytes::new(),
            trailers: None,
            held: None,
        }
    }
}

impl Body {
    /// No bytes.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Bytes and, maybe, trailers.
    pub const fn whole(data: Bytes, trailers: Option<HeaderMap>) -> Self {
        Self(Inner::Whole {
            data,
            trailers,
            held: None,
        })
    }

    /// Keeps `permit` until the bytes have been handed on.
    #[must_use]
    pub fn holding(mut self, permit: Permit) -> Self {
        if let Inner::Whole { held, .. } = &mut self.0 {
            *held = Some(permit);
        }
        self
    }

    /// Counts the bytes of a response that it has in memory, if they are not counted yet and there is room.
    pub fn counted(self, memory: &Memory) -> Result<Self, Full> {
        match &self.0 {
            Inner::Whole {
                data, held: None, ..
            } if !data.is_empty() => {
                let permit = memory.try_respond(data.len())?;
                Ok(self.holding(permit))
            }
            _ => Ok(self),
        }
    }

    /// The same again, which a stream cannot be.
    pub fn try_clone(&self) -> Option<Self> {
        match &self.0 {
            Inner::Whole { data, trailers, .. } => {
                Some(Self::whole(data.clone(), trailers.clone()))
            }
            Inner::Stream(_) => None,
        }
    }

    /// A stream.
    pub fn stream(body: impl AnyBody) -> Self {
        Self(Inner::Stream(Box::pin(body.map_err(Into::into))))
    }
}

impl From<Bytes> for Body {
    fn from(data: Bytes) -> Self {
        Self::whole(data, None)
    }
}

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Inner::Stream(stream) => stream.as_mut().poll_frame(cx),
            Inner::Whole { data, .. } if !data.is_empty() => {
                let data = data.split_to(data.len().min(SLICE_BYTES));
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            Inner::Whole { trailers, .. } => Poll::Ready(
                trailers
                    .take()
                    .map(|trailers| Ok(Frame::trailers(trailers))),
            ),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Stream(stream) => stream.is_end_stream(),
            Inner::Whole { data, trailers, .. } => data.is_empty() && trailers.is_none(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Stream(stream) => stream.size_hint(),
            // Over HTTP/1.1 a stated length would leave no place for trailers.
            Inner::Whole {
                trailers: Some(_), ..
            } => SizeHint::default(),
            Inner::Whole { data, .. } => SizeHint::with_exact(data.len() as u64),
        }
    }
}

impl fmt::Debug for Body {
    /// Payloads never reach logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Inner::Whole { data, .. } => write!(f, "Body({} bytes)", data.len()),
            Inner::Stream(_) => f.write_str("Body(stream)"),
        }
    }
}

/// One body after another.
pub(crate) struct Chain {
    first: Option<Body>,
    second: Body,
}

impl Chain {
    pub(crate) const fn new(first: Body, second: Body) -> Self {
        let first = Some(first);
        Self { first, second }
    }
}

impl http_body::Body for Chain {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Some(first) = &mut self.first {
            match Pin::new(first).poll_frame(cx) {
                Poll::Ready(None) => self.first = None,
                polled => return polled,
            }
        }
        Pin::new(&mut self.second).poll_frame(cx)
    }
}
