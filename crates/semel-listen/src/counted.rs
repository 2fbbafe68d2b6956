//! Counts the requests of a service that does not count them itself.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::FutureExt;
use http::{Request, Response};
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use hyper::service::{Service, service_fn};

use crate::load::InFlight;
use crate::peer::Peer;

/// A service whose requests are in flight from their head to the last byte of their answer.
pub fn counted<S, B>(
    peer: &Peer,
    service: S,
) -> impl Service<Request<Incoming>, Response = Response<Held<B>>, Error = Infallible, Future: Send>
+ Send
+ use<S, B>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Send,
    S::Future: Send,
    B: Body + Send + Unpin,
{
    let pulse = peer.pulse.clone();
    service_fn(move |request| {
        let in_flight = InFlight::enter(&pulse);
        let answer = service.call(request);
        answer.map(move |answer| {
            answer.map(|response| {
                response.map(|body| Held {
                    body,
                    _in_flight: in_flight,
                })
            })
        })
    })
}

/// A body that keeps its request in flight until it has been sent.
#[derive(Debug)]
pub struct Held<B> {
    body: B,
    _in_flight: InFlight,
}

impl<B: Body + Unpin> Body for Held<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
