//! The queue that carries calls from async callers to the store's threads.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use semel_core::{Error, Kind, Result};

/// The most calls that wait in one queue; the next is refused, and may be tried again.
const QUEUE_MAX: usize = 65_536;
/// The most bytes that wait in one queue. A call that finds the queue empty is taken whatever it weighs.
const QUEUE_BYTES_MAX: usize = 256 * 1024 * 1024;

/// The most that a thread takes at once; one job is taken whatever it weighs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn {
    pub(crate) jobs_max: usize,
    pub(crate) bytes_max: usize,
}

/// A bounded queue from async callers to a thread.
pub(crate) struct Queue<J> {
    state: Mutex<Waiting<J>>,
    arrived: Condvar,
}

struct Waiting<J> {
    /// Each with its bytes.
    jobs: VecDeque<(J, usize)>,
    bytes: usize,
    closed: bool,
}

impl<J> Waiting<J> {
    /// Moves jobs to `taken` while they fit; its bytes after that.
    fn move_to(&mut self, taken: &mut Vec<J>, taken_bytes: usize, turn: Turn) -> usize {
        let mut total = taken_bytes;
        while let Some((_, bytes)) = self.jobs.front() {
            let fits = total.saturating_add(*bytes) <= turn.bytes_max;
            if taken.len() >= turn.jobs_max || !(fits || taken.is_empty()) {
                break;
            }
            if let Some((job, bytes)) = self.jobs.pop_front() {
                total = total.saturating_add(bytes);
                self.bytes -= bytes;
                taken.push(job);
            }
        }
        total
    }
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
            bytes: 0,
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

    /// Adds a job of about this many bytes; fails if the queue is full or closed.
    pub(crate) fn push(&self, job: J, bytes: usize) -> Result<()> {
        let mut state = self.state();
        if state.closed {
            return Err(Error::new(Kind::Unavailable, "the store is closed"));
        }
        if state.jobs.len() >= QUEUE_MAX {
            let message = format!("{QUEUE_MAX} calls wait for the store already");
            return Err(Error::new(Kind::Limit, message));
        }
        let total = state.bytes.saturating_add(bytes);
        if total > QUEUE_BYTES_MAX && !state.jobs.is_empty() {
            let message = format!("calls of {QUEUE_BYTES_MAX} bytes wait for the store already");
            return Err(Error::new(Kind::Limit, message));
        }
        state.jobs.push_back((job, bytes));
        state.bytes = total;
        drop(state);
        self.arrived.notify_one();
        Ok(())
    }

    /// Waits for jobs and takes what fits; `None` when the queue is closed and empty.
    pub(crate) fn take(&self, turn: Turn) -> Option<Vec<J>> {
        self.take_first(turn).map(|(jobs, _)| jobs)
    }

    fn take_first(&self, turn: Turn) -> Option<(Vec<J>, usize)> {
        let mut state = self.state();
        loop {
            if !state.jobs.is_empty() {
                let mut jobs = Vec::with_capacity(state.jobs.len().min(turn.jobs_max));
                let bytes = state.move_to(&mut jobs, 0, turn);
                return Some((jobs, bytes));
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
    pub(crate) fn take_settled(&self, turn: Turn) -> Option<Vec<J>> {
        let (mut jobs, mut bytes) = self.take_first(turn)?;
        loop {
            std::thread::yield_now();
            let before = jobs.len();
            bytes = self.state().move_to(&mut jobs, bytes, turn);
            if jobs.len() == before {
                return Some(jobs);
            }
        }
    }

    /// Refuses new jobs; those that wait are still taken.
    pub(crate) fn close(&self) {
        self.state().closed = true;
        self.arrived.notify_all();
    }

    /// For the thread that takes: when it ends, be it by a panic, the queue is closed and nothing waits in it.
    pub(crate) fn closing(&self) -> Closing<'_, J> {
        Closing(self)
    }
}

/// Closes a queue when it is dropped, and drops what waits there, so that callers hear of it.
pub(crate) struct Closing<'a, J>(&'a Queue<J>);

impl<J> Drop for Closing<'_, J> {
    fn drop(&mut self) {
        self.0.close();
        // Jobs are dropped outside of the lock: what they undo may want to queue.
        let left = std::mem::take(&mut self.0.state().jobs);
        drop(left);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    const TURN: Turn = Turn {
        jobs_max: 3,
        bytes_max: 100,
    };

    #[test]
    fn a_turn_is_bounded_by_jobs_and_by_bytes() {
        for (weights, expected) in [
            (vec![1, 1, 1, 1], vec![3, 1]),
            (vec![60, 40, 1], vec![2, 1]),
            (vec![60, 41, 1], vec![1, 2]),
            (vec![500, 1], vec![1, 1]),
        ] {
            let queue = Queue::new();
            for bytes in &weights {
                queue.push((), *bytes).unwrap();
            }
            queue.close();
            let turns = std::iter::from_fn(|| queue.take_settled(TURN).map(|jobs| jobs.len()));
            assert_eq!(turns.collect::<Vec<_>>(), expected, "{weights:?}");
        }
    }

    #[test]
    fn a_queue_is_bounded_by_bytes_but_takes_anything_when_it_is_empty() {
        let queue = Queue::new();
        queue.push((), QUEUE_BYTES_MAX * 2).unwrap();
        assert_eq!(queue.push((), 1).unwrap_err().kind(), Kind::Limit);
        queue.take(TURN).unwrap();
        queue.push((), QUEUE_BYTES_MAX).unwrap();
        assert_eq!(queue.push((), 1).unwrap_err().kind(), Kind::Limit);
    }

    #[test]
    fn a_thread_that_panics_closes_its_queue_and_lets_go_of_what_waits() {
        let queue = Arc::new(Queue::new());
        let (caller, mut answer) = tokio::sync::oneshot::channel::<()>();
        queue.push(caller, 1).unwrap();
        let taker = queue.clone();
        let thread = std::thread::spawn(move || {
            let _closing = taker.closing();
            panic!("on purpose");
        });
        thread.join().unwrap_err();
        let closed = tokio::sync::oneshot::error::TryRecvError::Closed;
        assert_eq!(answer.try_recv(), Err(closed));
        let (another, _) = tokio::sync::oneshot::channel();
        assert_eq!(
            queue.push(another, 1).unwrap_err().kind(),
            Kind::Unavailable
        );
    }
}
