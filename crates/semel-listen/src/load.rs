//! How much is going on: connections, and requests in flight.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tokio::sync::Notify;
use tokio::time::Instant;

/// What is going on in a listener.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Open client connections.
    pub connections: usize,
    /// Requests that are not answered to the end yet, tunnels and runs whose client has left included.
    pub in_flight: usize,
}

/// Counts what is going on.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    connections: AtomicUsize,
    in_flight: AtomicUsize,
    /// Something has ended: a connection, or the last request in flight.
    ended: Notify,
}

impl Counters {
    pub(crate) fn load(&self) -> Load {
        Load {
            connections: self.connections.load(Ordering::Acquire),
            in_flight: self.in_flight.load(Ordering::Acquire),
        }
    }

    /// Waits until a connection or the last request in flight has ended. Only one task may wait at a time.
    pub(crate) async fn ended(&self) {
        self.ended.notified().await;
    }

    /// Waits until nothing is going on any more. Only one task may wait at a time.
    pub(crate) async fn empty(&self) {
        let nothing = Load {
            connections: 0,
            in_flight: 0,
        };
        while self.load() != nothing {
            self.ended().await;
        }
    }
}

/// A client's connection, as far as it is counted and timed.
#[derive(Debug)]
pub struct Pulse {
    counters: Arc<Counters>,
    born: Instant,
    /// Its requests that are in flight.
    busy: AtomicUsize,
    /// How many requests it has brought.
    requests: AtomicUsize,
    /// When the last request ended, in milliseconds since it was born.
    idle_since_ms: AtomicU64,
}

impl Pulse {
    pub(crate) fn new(counters: Arc<Counters>) -> Arc<Self> {
        counters.connections.fetch_add(1, Ordering::AcqRel);
        Arc::new(Self {
            counters,
            born: Instant::now(),
            busy: AtomicUsize::new(0),
            requests: AtomicUsize::new(0),
            idle_since_ms: AtomicU64::new(0),
        })
    }

    /// How many requests it has brought.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Acquire)
    }

    /// Since when it has had no request in flight; `None` if it has one.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        if self.busy.load(Ordering::Acquire) > 0 {
            return None;
        }
        let ms = self.idle_since_ms.load(Ordering::Acquire);
        Some(self.born + std::time::Duration::from_millis(ms))
    }

    fn now_ms(&self) -> u64 {
        u64::try_from(self.born.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// The connection has ended; runs that go on without it stay in flight.
    pub(crate) fn close(&self) {
        self.counters.connections.fetch_sub(1, Ordering::AcqRel);
        self.counters.ended.notify_one();
    }
}

/// A request's place among those in flight. Its run may outlive its answer, or the other way round: each of them holds a clone, and
/// the place is free when the last clone is gone.
#[derive(Debug, Clone)]
pub struct InFlight {
    _slot: Arc<Slot>,
}

#[derive(Debug)]
struct Slot(Arc<Pulse>);

impl InFlight {
    /// Counts a request of this connection.
    pub fn enter(pulse: &Arc<Pulse>) -> Self {
        pulse.counters.in_flight.fetch_add(1, Ordering::AcqRel);
        pulse.busy.fetch_add(1, Ordering::AcqRel);
        pulse.requests.fetch_add(1, Ordering::AcqRel);
        let _slot = Arc::new(Slot(pulse.clone()));
        Self { _slot }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let pulse = &self.0;
        pulse.idle_since_ms.store(pulse.now_ms(), Ordering::Release);
        pulse.busy.fetch_sub(1, Ordering::AcqRel);
        if pulse.counters.in_flight.fetch_sub(1, Ordering::AcqRel) == 1 {
            pulse.counters.ended.notify_one();
        }
    }
}
