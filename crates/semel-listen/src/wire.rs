//! A connection whose peer cannot stand still for ever.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::alarm::Alarm;

/// Decides how long a connection may go without a byte from its peer.
pub trait Reads: Unpin {
    /// Bytes have arrived.
    fn arrived(&mut self, bytes: &[u8]);

    /// Until when the next ones must arrive; `None` if somebody else watches that.
    fn deadline(&mut self) -> Option<Instant>;
}

/// Whoever reads has a deadline of its own.
pub struct NoDeadline;

impl Reads for NoDeadline {
    fn arrived(&mut self, _bytes: &[u8]) {}

    fn deadline(&mut self) -> Option<Instant> {
        None
    }
}

/// A stream that fails when its peer stops reading, and ends when the peer stays silent too long.
pub struct Wire<T, R> {
    io: T,
    reads: R,
    /// How long the peer may refuse to read.
    stall: Duration,
    stalled_since: Option<Instant>,
    alarm: Alarm,
}

impl<T, R> Wire<T, R> {
    /// A stream whose peer may refuse to read for `stall`; `reads` decides how long it may stay silent.
    pub fn new(io: T, reads: R, stall: Duration) -> Self {
        Self {
            io,
            reads,
            stall,
            stalled_since: None,
            alarm: Alarm::default(),
        }
    }

    /// Fails a write that has not moved for too long.
    fn watch<V>(
        &mut self,
        polled: Poll<io::Result<V>>,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<V>> {
        if polled.is_ready() {
            self.stalled_since = None;
            return polled;
        }
        let since = *self.stalled_since.get_or_insert_with(Instant::now);
        match self.alarm.has_passed(since + self.stall, cx) {
            true => Poll::Ready(Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "the peer has stopped reading",
            ))),
            false => Poll::Pending,
        }
    }
}

impl<T: AsyncRead + Unpin, R: Reads> AsyncRead for Wire<T, R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buf.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut this.io).poll_read(cx, buf) {
            this.reads.arrived(&buf.filled()[before..]);
            return Poll::Ready(read);
        }
        match this.reads.deadline() {
            // As if the peer had closed: whoever reads knows best what that means for what it has.
            Some(deadline) if this.alarm.has_passed(deadline, cx) => Poll::Ready(Ok(())),
            _ => Poll::Pending,
        }
    }
}

impl<T: AsyncWrite + Unpin, R: Unpin> AsyncWrite for Wire<T, R> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write(cx, buf);
        self.watch(polled, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let polled = Pin::new(&mut self.io).poll_write_vectored(cx, bufs);
        self.watch(polled, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_flush(cx);
        self.watch(polled, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let polled = Pin::new(&mut self.io).poll_shutdown(cx);
        let done = ready!(self.watch(polled, cx));
        Poll::Ready(done)
    }
}
