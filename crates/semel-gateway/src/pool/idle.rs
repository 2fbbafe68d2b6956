//! Connections that wait for their next request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper::client::conn::{http1, http2};
use tokio::time::Instant;

use super::outgoing::Outgoing;
use super::{Pool, Sender};

/// How long a connection may take to get ready for its next request once a response has ended.
const READY_WITHIN: Duration = Duration::from_secs(1);

/// Where connections wait. The one that was used last goes first, so that the others can be closed.
pub(super) struct Shelf {
    kept: Mutex<Kept>,
    idle_max: usize,
    idle: Duration,
}

#[derive(Default)]
struct Kept {
    /// The oldest first.
    ones: Vec<(http1::SendRequest<Outgoing>, Instant)>,
    many: Option<(Shared, Instant)>,
    /// Whether somebody closes what has waited too long.
    is_watched: bool,
}

/// An HTTP/2 connection. Every request on it holds a clone.
#[derive(Clone)]
pub(crate) struct Shared {
    sender: http2::SendRequest<Outgoing>,
    users: Arc<()>,
}

impl Shared {
    pub(super) fn new(sender: http2::SendRequest<Outgoing>) -> Self {
        let users = Arc::default();
        Self { sender, users }
    }

    pub(super) const fn sender(&mut self) -> &mut http2::SendRequest<Outgoing> {
        &mut self.sender
    }

    /// Whether nobody but the shelf holds it.
    fn is_unused(&self) -> bool {
        Arc::strong_count(&self.users) == 1
    }

    fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.users, &other.users)
    }
}

impl Shelf {
    pub(super) fn new(idle_max: usize, idle: Duration) -> Self {
        Self {
            kept: Mutex::default(),
            idle_max,
            idle,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // What is kept is whole after every statement, so a poisoned lock protects nothing.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A connection that may take a request.
    pub(super) fn take(&self) -> Option<Sender> {
        let mut kept = self.lock();
        if let Some((shared, used)) = &mut kept.many {
            if !shared.sender.is_closed() {
                *used = Instant::now();
                return Some(Sender::Many(shared.clone()));
            }
            kept.many = None;
        }
        while let Some((sender, since)) = kept.ones.pop() {
            if since.elapsed() >= self.idle {
                // All others have waited even longer.
                kept.ones.clear();
            } else if sender.is_ready() {
                return Some(Sender::One(sender));
            }
        }
        None
    }

    pub(super) fn has_shared(&self) -> bool {
        self.lock().many.is_some()
    }

    /// Closes what has waited too long; whether anything is left.
    fn expire(&self) -> bool {
        let mut kept = self.lock();
        let idle = self.idle;
        kept.ones
            .retain(|(sender, since)| !sender.is_closed() && since.elapsed() < idle);
        let is_over = |(shared, used): &(Shared, Instant)| {
            shared.sender.is_closed() || (shared.is_unused() && used.elapsed() >= idle)
        };
        if kept.many.as_ref().is_some_and(is_over) {
            kept.many = None;
        }
        kept.is_watched = !kept.ones.is_empty() || kept.many.is_some();
        kept.is_watched
    }
}

impl Pool {
    /// Keeps a connection for the next request once it can take one.
    pub(super) fn bring_home(self: Arc<Self>, mut sender: http1::SendRequest<Outgoing>) {
        if sender.is_ready() {
            return self.keep_one(sender);
        }
        if sender.is_closed() {
            return;
        }
        // Its request is still being sent, or its task has not run since the response ended.
        tokio::spawn(async move {
            if let Ok(Ok(())) = tokio::time::timeout(READY_WITHIN, sender.ready()).await {
                self.keep_one(sender);
            }
        });
    }

    fn keep_one(self: &Arc<Self>, sender: http1::SendRequest<Outgoing>) {
        let mut kept = self.shelf.lock();
        if kept.ones.len() < self.shelf.idle_max && !self.shelf.idle.is_zero() {
            kept.ones.push((sender, Instant::now()));
            self.watch(kept);
        }
    }

    /// Lets later requests use a connection too.
    pub(super) fn keep_shared(self: &Arc<Self>, shared: &Shared) {
        let mut kept = self.shelf.lock();
        kept.many = Some((shared.clone(), Instant::now()));
        self.watch(kept);
    }

    /// A request on a shared connection has ended.
    pub(super) fn end_shared(&self, shared: &Shared) {
        if let Some((kept, used)) = &mut self.shelf.lock().many
            && kept.is_same(shared)
        {
            *used = Instant::now();
        }
    }

    fn watch(self: &Arc<Self>, mut kept: MutexGuard<'_, Kept>) {
        if !std::mem::replace(&mut kept.is_watched, true) {
            drop(kept);
            tokio::spawn(expire(Arc::downgrade(self), self.shelf.idle));
        }
    }
}

/// Closes idle connections in time even if no request comes that would notice.
async fn expire(pool: Weak<Pool>, idle: Duration) {
    let pause = (idle / 2).max(Duration::from_millis(10));
    loop {
        tokio::time::sleep(pause).await;
        match pool.upgrade() {
            Some(pool) if pool.shelf.expire() => {}
            _ => return,
        }
    }
}
