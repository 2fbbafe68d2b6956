//! The state behind its lock, and the signals in both directions.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use semel_core::Error;
use tokio::sync::Notify;

use super::options::From;
use super::state::State;

/// What the thread that reads and the tasks that ask share.
pub(super) struct Shared {
    /// Not an async lock: it is never held across an await, and the thread that reads takes it too.
    state: Mutex<State>,
    /// There is room in the buffer, an error was taken, or it is time to stop: the thread waits for it.
    room: Condvar,
    /// There is something to say: `next` waits for it.
    pub(super) ready: Notify,
}

impl Shared {
    pub(super) fn new(topics: &[String], from: From) -> Self {
        Self {
            state: Mutex::new(State::new(topics, from)),
            room: Condvar::new(),
            ready: Notify::new(),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // The state is whole after every statement, so a poisoned lock protects nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the thread that reads.
    pub(super) fn wake_reader(&self) {
        self.room.notify_all();
    }

    /// Waits until the thread is woken, but not longer than this.
    pub(super) fn wait(&self, time: Duration, until: impl Fn(&State) -> bool) {
        let mut waits = |state: &mut State| !until(state) && !state.is_stopping;
        let waited = self.room.wait_timeout_while(self.state(), time, &mut waits);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Says an error to the next call of `next`.
    pub(super) fn fail(&self, error: Error) {
        self.state().failure = Some(error);
        self.ready.notify_one();
    }

    pub(super) fn stop(&self) {
        self.state().is_stopping = true;
        self.wake_reader();
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.state().is_stopping
    }

    /// The thread has ended: nothing is owned any more.
    pub(super) fn end(&self) {
        let mut state = self.state();
        let all = state.all();
        state.lose(&all);
        state.is_running = false;
        drop(state);
        self.ready.notify_one();
    }
}
