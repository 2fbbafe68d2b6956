//! Whether a connection is doing something, and until when it may do nothing.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Instant;

/// What a connection does. Clones share it.
#[derive(Clone)]
pub(super) struct Pulse(Arc<Mutex<Beat>>);

struct Beat {
    /// Requests that are being answered.
    in_flight: usize,
    /// Whether there was a request already.
    served: bool,
    /// Since when there is nothing to do.
    idle_since: Instant,
    /// When the first byte of the next head came.
    head_since: Option<Instant>,
}

/// How long a head may take, and how long a connection may idle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) header: Duration,
    pub(super) idle: Duration,
}

impl Pulse {
    pub(super) fn new() -> Self {
        Self(Arc::new(Mutex::new(Beat {
            in_flight: 0,
            served: false,
            idle_since: Instant::now(),
            head_since: None,
        })))
    }

    fn beat(&self) -> MutexGuard<'_, Beat> {
        // Its fields are whole after every statement.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A request has begun; it ends when the guard is dropped.
    pub(super) fn begin(&self) -> Busy {
        let mut beat = self.beat();
        beat.in_flight += 1;
        beat.served = true;
        beat.head_since = None;
        Busy(self.clone())
    }

    fn read(&self) {
        let mut beat = self.beat();
        if beat.in_flight == 0 && beat.head_since.is_none() {
            beat.head_since = Some(Instant::now());
        }
    }

    /// Until when the connection may go on as it is; `None` while a request is answered. The first head must come
    /// as soon as any head.
    pub(super) fn deadline(&self, patience: Patience) -> Option<Instant> {
        let beat = self.beat();
        match (beat.in_flight, beat.head_since, beat.served) {
            (1.., ..) => None,
            (0, Some(since), _) => Some(since + patience.header),
            (0, None, false) => Some(beat.idle_since + patience.header),
            (0, None, true) => Some(beat.idle_since + patience.idle),
        }
    }
}

/// A request that is being answered.
pub(super) struct Busy(Pulse);

impl Drop for Busy {
    fn drop(&mut self) {
        let mut beat = self.0.beat();
        beat.in_flight -= 1;
        beat.idle_since = Instant::now();
    }
}

/// A stream whose reads are felt.
pub(super) struct Felt {
    stream: TcpStream,
    pulse: Pulse,
}

impl Felt {
    pub(super) const fn new(stream: TcpStream, pulse: Pulse) -> Self {
        Self { stream, pulse }
    }
}

impl AsyncRead for Felt {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(cx, buffer);
        if read.is_ready() && buffer.filled().len() > before {
            self.pulse.read();
        }
        read
    }
}

impl AsyncWrite for Felt {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Patience = Patience {
        header: Duration::from_secs(10),
        idle: Duration::from_secs(75),
    };

    #[tokio::test(start_paused = true)]
    async fn heads_are_awaited_briefly_the_next_request_longer_and_a_request_in_flight_for_ever() {
        let (pulse, began) = (Pulse::new(), Instant::now());
        let left = || pulse.deadline(PATIENCE).map(|at| at - Instant::now());
        assert_eq!(left(), Some(PATIENCE.header));
        let busy = pulse.begin();
        pulse.read();
        assert_eq!(left(), None);
        tokio::time::advance(Duration::from_secs(100)).await;
        drop(busy);
        assert_eq!(left(), Some(PATIENCE.idle));
        tokio::time::advance(Duration::from_secs(70)).await;
        pulse.read();
        assert_eq!(left(), Some(PATIENCE.header));
        tokio::time::advance(Duration::from_secs(9)).await;
        pulse.read();
        assert_eq!(left(), Some(Duration::from_secs(1)));
        assert_eq!(began.elapsed(), Duration::from_secs(179));
    }
}
