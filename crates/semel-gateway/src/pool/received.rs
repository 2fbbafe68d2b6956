//! A response's body, which brings its connection home.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::client::conn::http1;

use super::outgoing::Outgoing;
use super::shared::Place;
use super::{Pool, Raw};
use crate::hygiene;

/// The connection that a body comes from.
pub(super) enum Lent {
    /// It carries this body only, and the next one when it has ended.
    One(Arc<Pool>, http1::SendRequest<Outgoing>),
    /// It carries others too.
    Many(Place),
}

/// A response's body. A connection is used again only if the body was read to its end; a shared one only
/// loses this stream.
pub(crate) struct Received {
    body: Raw,
    lent: Option<Lent>,
}

impl Received {
    pub(super) fn new(body: Raw, lent: Lent) -> Self {
        let lent = Some(lent);
        let mut received = Self { body, lent };
        if received.body.is_end_stream() {
            received.bring_home();
        }
        received
    }

    fn bring_home(&mut self) {
        match self.lent.take() {
            Some(Lent::One(pool, sender)) => pool.bring_home(sender),
            Some(Lent::Many(place)) => drop(place),
            None => {}
        }
    }
}

impl Body for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(None) => self.bring_home(),
            Poll::Ready(Some(Ok(_))) if self.body.is_end_stream() => self.bring_home(),
            Poll::Ready(Some(_)) | Poll::Pending => {}
        }
        polled.map_ok(hygiene::response_trailers)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl fmt::Debug for Received {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Received")
    }
}
