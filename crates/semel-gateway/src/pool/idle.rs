//! Connections that wait for their next request.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use hyper::client::conn::http1;
use tokio::time::Instant;

use super::outgoing::Outgoing;
use super::shared::{Place, Shared};
use super::{Pool, Sender};

/// How long a connection may take to get ready for its next request once a response has ended.
const READY_WITHIN: Duration = Duration::from_secs(1);

/// Where connections wait. The one that was used last goes first, so that the others can be closed.
pub(super) struct Shelf {
    kept: Mutex<Kept>,
    idle_max: usize,
    shared_max: usize,
    idle: Duration,
}

#[derive(Default)]
struct Kept {
    /// The oldest first.
    ones: Vec<(http1::SendRequest<Outgoing>, Instant)>,
    /// Those that many requests share. The first one with room is used, so that the others can be closed.
    many: Vec<(Shared, Instant)>,
    /// Whether somebody closes what has waited too long.
    is_watched: bool,
}

impl Shelf {
    pub(super) fn new(idle_max: usize, shared_max: usize, idle: Duration) -> Self {
        Self {
            kept: Mutex::default(),
            idle_max,
            shared_max,
            idle,
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        // What is kept is whole after every statement, so a poisoned lock protects nothing.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn has_shared(&self) -> bool {
        !self.lock().many.is_empty()
    }

    /// Whether one more connection may be shared.
    pub(super) fn may_share_more(&self) -> bool {
        self.lock().many.len() < self.shared_max
    }

    /// Closes what has waited too long; whether anything is left.
    fn expire(&self) -> bool {
        let mut kept = self.lock();
        let idle = self.idle;
        kept.ones
            .retain(|(sender, since)| !sender.is_closed() && since.elapsed() < idle);
        kept.many.retain(|(shared, used)| {
            let has_waited = shared.is_unused() && used.elapsed() >= idle;
            !shared.is_closed() && !has_waited
        });
        kept.is_watched = !kept.ones.is_empty() || !kept.many.is_empty();
        kept.is_watched
    }
}

impl Pool {
    /// A kept connection that may take a request.
    pub(super) fn take(self: &Arc<Self>) -> Option<Sender> {
        if let Some(place) = self.take_place() {
            return Some(Sender::Many(place));
        }
        let mut kept = self.shelf.lock();
        while let Some((sender, since)) = kept.ones.pop() {
            if since.elapsed() >= self.shelf.idle {
                // All others have waited even longer.
                kept.ones.clear();
            } else if sender.is_ready() {
                return Some(Sender::One(sender));
            }
        }
        None
    }

    /// A place on a connection that has room.
    fn take_place(self: &Arc<Self>) -> Option<Place> {
        let mut kept = self.shelf.lock();
        kept.many.retain(|(shared, _)| !shared.is_closed());
        let (shared, used) = kept.many.iter_mut().find(|(shared, _)| shared.has_room())?;
        *used = Instant::now();
        Some(Place::new(self, shared))
    }

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

    /// Lets later requests use a connection too, and takes the first place on it.
    pub(super) fn share(self: &Arc<Self>, shared: &Shared) -> Place {
        let mut kept = self.shelf.lock();
        let place = Place::new(self, shared);
        if kept.many.len() < self.shelf.shared_max {
            kept.many.push((shared.clone(), Instant::now()));
            self.watch(kept);
        }
        place
    }

    /// A request on a shared connection has ended.
    pub(super) fn end_shared(&self, shared: &Shared) {
        let mut kept = self.shelf.lock();
        let found = kept.many.iter_mut().find(|(kept, _)| kept.is_same(shared));
        if let Some((_, used)) = found {
            *used = Instant::now();
        }
        drop(kept);
        self.freed.notify_one();
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
