//! The queue that carries calls from async callers to the store's threads.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use semel_core::{Error, Kind, Result};

/// The most calls that wait in one queue; the next is refused, and may be tried again.
const QUEUE_MAX: usize = 65_536;
/// A bounded queue from async callers to a thread.
pub(crate) struct Queue<J> {
    state: Mutex<Waiting<J>>,
    arrived: Condvar,
}

struct Waiting<J> {
    jobs: VecDeque<J>,
    closed: bool,
}

impl<J> std::fmt::Debug for Queue<J> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue({} waiting)", self.state().jobs.len())
    }
}

impl<J> Queue<J> {
    pub(crate) fn new() -> Self {
        let waiting = Waiting {
            jobs: VecDeque::new(),
            closed: false,
        };
        Self {
            state: Mutex::new(waiting),
            arrived: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, Waiting<J>> {
        // The queue is whole after every statement, so a poisoned lock protects nothing.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job; fails if the queue is full or closed.
    pub(crate) fn push(&self, job: J) -> Result<()> {
        let mut state = self.state();
        if state.closed {
            return Err(Error::new(Kind::Unavailable, "the store is closed"));
        }
        if state.jobs.len() >= QUEUE_MAX {
            let message = format!("{QUEUE_MAX} calls wait for the store already");
            return Err(Error::new(Kind::Limit, message));
        }
        state.jobs.push_back(job);
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }

    /// Waits for jobs and takes up to `max`; `None` when the queue is closed and empty.
    pub(crate) fn take(&self, max: usize) -> Option<Vec<J>> {
        let mut state = self.state();
        loop {
            if !state.jobs.is_empty() {
                let count = state.jobs.len().min(max);
                return Some(state.jobs.drain(..count).collect());
            }
            if state.closed {
                return None;
            }
            let woken = self.arrived.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Like [`Queue::take`], but first lets callers that are just about to queue do so.
    ///
    /// A commit wakes its callers all at once. Without this, the first of them to come back
    /// would get a commit of its own, and the others would wait for two.
    pub(crate) fn take_settled(&self, max: usize) -> Option<Vec<J>> {
        let mut jobs = self.take(max)?;
        loop {
            std::thread::yield_now();
            let mut state = self.state();
            let count = state.jobs.len().min(max - jobs.len());
            if count == 0 {
                return Some(jobs);
            }
            jobs.extend(state.jobs.drain(..count));
        }
    }

    /// Refuses new jobs; those that wait are still taken.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.arrived.notify_all();
    }
}
