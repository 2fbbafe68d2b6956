//! Two connections that have changed their protocol, joined.

use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderValue, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use semel_http::{Body, Problem, Type};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional};
use tokio::time::{Instant, sleep_until};

use super::Visit;
use super::pass::Passed;
use super::reply::Content;
use crate::hygiene;
use crate::pool::Received;
use crate::server::Phase;

/// Answers 101 and joins the two sides once both have changed.
pub(super) fn begin(
    visit: &mut Visit,
    mut response: Response<Received>,
    upgrading: Option<OnUpgrade>,
) -> Passed {
    let protocol = response.headers().get(UPGRADE).cloned();
    let (Some(client), Some(protocol)) = (upgrading, protocol) else {
        let detail = "the service changed the protocol without being asked";
        return Passed::Failed(Problem::new(Type::UpstreamFailed, detail));
    };
    let upstream = hyper::upgrade::on(&mut response);
    let idle = visit.snapshot.timeouts.tunnel_idle;
    let mut phase = visit.client.shared.phase();
    let in_flight = visit.in_flight.take();
    tokio::spawn(async move {
        let joined = tokio::select! {
            joined = join(client, upstream, idle) => joined,
            _ = phase.wait_for(|phase| *phase == Phase::Closed) => Ok(()),
        };
        if let Err(error) = joined {
            tracing::debug!(%error, "a tunnel ended");
        }
        drop(in_flight);
    });
    let (mut parts, _) = response.into_parts();
    hygiene::inbound(&mut parts);
    hygiene::unguarded(&mut parts.headers);
    let upgrade = HeaderValue::from_static("upgrade");
    parts.headers.insert(CONNECTION, upgrade);
    parts.headers.insert(UPGRADE, protocol);
    Passed::Through(Response::from_parts(parts, Content::Ours(Body::empty())))
}

/// Copies both ways until one side ends, or both stand still for `idle`.
async fn join(client: OnUpgrade, upstream: OnUpgrade, idle: Duration) -> io::Result<()> {
    let upgraded = async { tokio::try_join!(client, upstream) };
    let (client, upstream) = upgraded.await.map_err(io::Error::other)?;
    let moved = Moved::new();
    let mut client = Watched::new(client, &moved);
    let mut upstream = Watched::new(upstream, &moved);
    let mut copying = pin!(copy_bidirectional(&mut client, &mut upstream));
    loop {
        let deadline = moved.last() + idle;
        tokio::select! {
            biased;
            ended = &mut copying => return ended.map(|_| ()),
            () = sleep_until(deadline) => {}
        }
        if moved.last() + idle <= Instant::now() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it stood still"));
        }
    }
}

/// When a byte last moved, in milliseconds since the tunnel began.
struct Moved {
    began: Instant,
    last_ms: AtomicU64,
}

impl Moved {
    fn new() -> Self {
        Self {
            began: Instant::now(),
            last_ms: AtomicU64::new(0),
        }
    }

    fn note(&self) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Ordering::Relaxed);
    }

    fn last(&self) -> Instant {
        self.began + Duration::from_millis(self.last_ms.load(Ordering::Relaxed))
    }
}

/// One side, whose reads are noted: nothing is written that was not read.
struct Watched<'a> {
    io: TokioIo<Upgraded>,
    moved: &'a Moved,
}

impl<'a> Watched<'a> {
    fn new(io: Upgraded, moved: &'a Moved) -> Self {
        let io = TokioIo::new(io);
        Self { io, moved }
    }
}

impl AsyncRead for Watched<'_> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_read(cx, buf);
        if polled.is_ready() {
            self.moved.note();
        }
        polled
    }
}

impl AsyncWrite for Watched<'_> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(cx)
    }
}
