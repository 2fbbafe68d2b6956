//! Two connections that have changed their protocol, joined.

use std::io;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{CONNECTION, UPGRADE};
use http::{HeaderValue, Response};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use semel_http::{Body, Problem, Type};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::Visit;
use super::pass::Passed;
use super::reply::Content;
use crate::config::Timeouts;
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
    let limits = Limits::of(&visit.snapshot.timeouts);
    let mut phase = visit.client.shared.phase();
    let in_flight = (visit.in_flight.take(), visit.place.take());
    tokio::spawn(async move {
        let joined = tokio::select! {
            joined = join(client, upstream, limits) => joined,
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

/// How long a tunnel may stand still.
#[derive(Clone, Copy)]
struct Limits {
    idle: Duration,
    /// Once one side has ended: the other has nothing to wait for, and may never notice.
    closing: Duration,
}

impl Limits {
    fn of(timeouts: &Timeouts) -> Self {
        Self {
            idle: timeouts.tunnel_idle,
            closing: timeouts.tunnel_closing.min(timeouts.tunnel_idle),
        }
    }
}

/// Copies both ways until both sides have ended, or nothing moves for too long.
async fn join(client: OnUpgrade, upstream: OnUpgrade, limits: Limits) -> io::Result<()> {
    let upgraded = async { tokio::try_join!(client, upstream) };
    let (client, upstream) = upgraded.await.map_err(io::Error::other)?;
    let moved = Moved::new(limits);
    let mut client = Watched::new(client, &moved);
    let mut upstream = Watched::new(upstream, &moved);
    let mut copying = pin!(copy_bidirectional(&mut client, &mut upstream));
    loop {
        tokio::select! {
            biased;
            ended = &mut copying => return ended.map(|_| ()),
            () = sleep_until(moved.deadline()) => {}
            () = moved.closing.notified() => continue,
        }
        if moved.deadline() <= Instant::now() {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "it stood still"));
        }
    }
}

/// When a byte last moved, in milliseconds since the tunnel began.
struct Moved {
    began: Instant,
    last_ms: AtomicU64,
    limits: Limits,
    is_closing: AtomicBool,
    closing: Notify,
}

impl Moved {
    fn new(limits: Limits) -> Self {
        Self {
            began: Instant::now(),
            last_ms: AtomicU64::new(0),
            limits,
            is_closing: AtomicBool::new(false),
            closing: Notify::new(),
        }
    }

    fn note(&self) {
        let ms = u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(ms, Ordering::Relaxed);
    }

    /// One side has ended.
    fn note_end(&self) {
        if !self.is_closing.swap(true, Ordering::Relaxed) {
            self.closing.notify_one();
        }
    }

    fn deadline(&self) -> Instant {
        let last = Duration::from_millis(self.last_ms.load(Ordering::Relaxed));
        let limit = match self.is_closing.load(Ordering::Relaxed) {
            true => self.limits.closing,
            false => self.limits.idle,
        };
        self.began + last + limit
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
        let before = buf.filled().len();
        let polled = Pin::new(&mut self.io).poll_read(cx, buf);
        if polled.is_ready() {
            self.moved.note();
            if buf.filled().len() == before {
                self.moved.note_end();
            }
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
