//! The access log: which requests came, and what they were answered.
//!
//! It is off unless the settings say otherwise, and costs nothing then. A line never holds a header, a body, a query or a key.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use bytes::Buf;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method, Request, Response, StatusCode, Uri, Version};
use http_body::{Body, Frame, SizeHint};
use tokio::time::Instant;

/// Which requests are logged, with the target `semel::access`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum AccessLog {
    /// None.
    #[default]
    Off,
    /// Those that were answered with a status of 500 or above, or with a problem.
    Errors,
    /// This share of them, evenly: 0.01 is every hundredth.
    Sample(f64),
    /// All.
    All,
}

/// A service puts it into the extensions of its response, to name the scope in the access log.
#[derive(Debug, Clone)]
pub struct LoggedScope(pub Arc<str>);

/// The access log of one connection.
#[derive(Debug)]
pub(crate) struct Log {
    which: AccessLog,
    port: &'static str,
    peer: Option<IpAddr>,
    sampled: Arc<AtomicU64>,
}

impl Log {
    pub(crate) fn new(
        which: AccessLog,
        port: &'static str,
        peer: Option<IpAddr>,
        sampled: &Arc<AtomicU64>,
    ) -> Option<Self> {
        (which != AccessLog::Off).then(|| Self {
            which,
            port,
            peer,
            sampled: sampled.clone(),
        })
    }

    fn takes(&self) -> bool {
        match self.which {
            AccessLog::Off => false,
            AccessLog::Errors | AccessLog::All => true,
            AccessLog::Sample(share) => {
                is_sampled(self.sampled.fetch_add(1, Ordering::Relaxed), share)
            }
        }
    }
}

/// Whether the sample takes the request with this number: each time that its sum passes a whole number. After
/// 2^53 requests it may be uneven.
fn is_sampled(number: u64, share: f64) -> bool {
    ((number + 1) as f64 * share).floor() > (number as f64 * share).floor()
}

/// What is logged of one request. Written when it is dropped: then the answer has been sent, or never will be.
#[derive(Debug)]
pub(crate) struct Entry {
    port: &'static str,
    peer: Option<IpAddr>,
    method: Method,
    uri: Uri,
    version: Version,
    began: Instant,
    only_errors: bool,
    status: Option<StatusCode>,
    is_problem: bool,
    scope: Option<LoggedScope>,
    bytes: u64,
    is_whole: bool,
}

impl Entry {
    pub(crate) fn begin<B>(log: &Log, request: &Request<B>) -> Option<Box<Self>> {
        log.takes().then(|| {
            Box::new(Self {
                port: log.port,
                peer: log.peer,
                method: request.method().clone(),
                uri: request.uri().clone(),
                version: request.version(),
                began: Instant::now(),
                only_errors: log.which == AccessLog::Errors,
                status: None,
                is_problem: false,
                scope: None,
                bytes: 0,
                is_whole: false,
            })
        })
    }

    fn is_wanted(&self) -> bool {
        let is_error = |status: StatusCode| status.is_server_error() || self.is_problem;
        !self.only_errors || self.status.is_some_and(is_error)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if !self.is_wanted() {
            return;
        }
        tracing::info!(
            target: "semel::access",
            port = self.port,
            peer = self.peer.map(tracing::field::display),
            method = self.method.as_str(),
            path = self.uri.path(),
            version = ?self.version,
            status = self.status.map(|status| status.as_u16()),
            bytes = self.bytes,
            took_us = u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX),
            whole = self.is_whole,
            scope = self.scope.as_ref().map(|scope| &*scope.0),
        );
    }
}

fn is_problem(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
    kind.is_some_and(|kind| kind.starts_with(b"application/problem+json"))
}

/// The body of a response on its way, with what is logged of it.
#[derive(Debug)]
pub(crate) struct Sent<B> {
    body: B,
    entry: Option<Box<Entry>>,
}

impl<B: Body> Sent<B> {
    pub(crate) fn new(response: Response<B>, mut entry: Option<Box<Entry>>) -> Response<Self> {
        if let Some(entry) = &mut entry {
            entry.status = Some(response.status());
            entry.is_problem = is_problem(response.headers());
            entry.scope = response.extensions().get().cloned();
            entry.is_whole = response.body().is_end_stream();
        }
        response.map(|body| Self { body, entry })
    }
}

impl<B: Body + Unpin> Body for Sent<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        let Self { body, entry } = &mut *self;
        if let (Some(entry), Poll::Ready(frame)) = (entry, &polled) {
            let data = match frame {
                Some(Ok(frame)) => frame.data_ref(),
                Some(Err(_)) | None => None,
            };
            entry.bytes += data.map_or(0, |data| data.remaining() as u64);
            entry.is_whole = frame.is_none() || body.is_end_stream();
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_even() {
        for (share, expected) in [(1.0, 10_000), (0.5, 5_000), (0.01, 100), (0.000_1, 1)] {
            let taken = (0..10_000).filter(|number| is_sampled(*number, share));
            assert_eq!(taken.count(), expected, "{share}");
        }
    }
}
