//! An HTTP/2 connection, which many requests share.

use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, ready};
use std::time::Duration;

use hyper::client::conn::http2::{Connection, SendRequest};
use hyper::rt::{Read, Write};
use hyper_util::rt::TokioExecutor;

use super::outgoing::Outgoing;
use super::{Pool, reason};

/// How many streams are assumed until the peer has said how many it allows: a number that no peer is
/// likely to state, so that a change shows that its SETTINGS have arrived.
pub(super) const STREAMS_ASSUMED: usize = 99;

/// How long a new connection waits for the peer's SETTINGS. RFC 9113 §3.4 makes them the first thing that
/// a server sends; one that waits for a request first is served by what is assumed.
const SETTINGS_WITHIN: Duration = Duration::from_secs(1);

/// How often it is looked whether they have arrived: hyper does not tell.
const SETTINGS_LOOK: Duration = Duration::from_millis(1);

/// How many streams the peer allows at once, as it says now.
type StreamsMax = Arc<dyn Fn() -> usize + Send + Sync>;

/// An HTTP/2 connection.
#[derive(Clone)]
pub(crate) struct Shared {
    sender: SendRequest<Outgoing>,
    /// How many requests are on it.
    users: Arc<AtomicUsize>,
    streams_max: StreamsMax,
}

impl Shared {
    /// Drives `connection` in a task of its own until it ends.
    pub(super) async fn new<T>(
        sender: SendRequest<Outgoing>,
        connection: Connection<T, Outgoing, TokioExecutor>,
    ) -> Self
    where
        T: Read + Write + Send + Unpin + 'static,
    {
        // A std mutex: it is held while the task polls and while the number is read, never across an await.
        let driven = Arc::new(Mutex::new(Some(connection)));
        let asked = driven.clone();
        tokio::spawn(std::future::poll_fn(move |cx| {
            let mut driven = lock(&driven);
            let Some(connection) = driven.as_mut() else {
                return Poll::Ready(());
            };
            if let Err(error) = ready!(Pin::new(connection).poll(cx)) {
                tracing::debug!(error = reason(&error), "a connection to the upstream ended");
            }
            // What is left of it would keep the socket open.
            *driven = None;
            Poll::Ready(())
        }));
        let shared = Self {
            sender,
            users: Arc::default(),
            streams_max: Arc::new(move || {
                let asked = lock(&asked);
                asked
                    .as_ref()
                    .map_or(0, Connection::current_max_send_streams)
            }),
        };
        shared.settle().await;
        shared
    }

    /// Waits until the peer has said how many streams it allows.
    async fn settle(&self) {
        let settled = async {
            while (self.streams_max)() == STREAMS_ASSUMED {
                tokio::time::sleep(SETTINGS_LOOK).await;
            }
        };
        if tokio::time::timeout(SETTINGS_WITHIN, settled)
            .await
            .is_err()
        {
            tracing::debug!("an upstream that speaks HTTP/2 has not sent its SETTINGS");
        }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.sender.is_closed()
    }

    pub(super) fn is_unused(&self) -> bool {
        self.users.load(Ordering::Acquire) == 0
    }

    /// Whether one more request would go out at once. One beyond the peer's limit would wait inside of
    /// hyper, where it cannot be told whether it was sent.
    pub(super) fn has_room(&self) -> bool {
        self.users.load(Ordering::Acquire) < (self.streams_max)()
    }

    pub(super) fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.users, &other.users)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A connection that panicked is polled no more; nothing else is protected.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One request's place on a connection, given back when it is dropped.
pub(crate) struct Place {
    pool: Arc<Pool>,
    shared: Shared,
}

impl Place {
    /// Called with the shelf locked, so that no two requests take the last place.
    pub(super) fn new(pool: &Arc<Pool>, shared: &Shared) -> Self {
        shared.users.fetch_add(1, Ordering::AcqRel);
        Self {
            pool: pool.clone(),
            shared: shared.clone(),
        }
    }

    pub(super) const fn sender(&mut self) -> &mut SendRequest<Outgoing> {
        &mut self.shared.sender
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.users.fetch_sub(1, Ordering::AcqRel);
        self.pool.end_shared(&self.shared);
    }
}
