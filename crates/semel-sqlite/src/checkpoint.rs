//! Copies the write-ahead log into the file without stalling commits.
//!
//! A thread of its own copies almost all of it while commits go on. What is written meanwhile would
//! keep the log from ever starting over, so the writer copies that last bit itself between two
//! commits: a short pause instead of a long one, and a log that stays near its limit.

use std::cell::Cell;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use rusqlite::Connection;

thread_local! {
    /// Pages in the log after the last commit of this thread; SQLite's hook has no other way to tell.
    static LOG_PAGES: Cell<u64> = const { Cell::new(0) };
}

const IDLE: u8 = 0;
const COPYING: u8 = 1;
const COPIED: u8 = 2;

/// Decides when the log is copied; shared by the writer and the copying thread.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    pages_max: u64,
    state: AtomicU8,
    start: SyncSender<()>,
}

impl Checkpointer {
    /// A checkpointer for logs of `pages_max`, and what its thread waits on.
    pub(crate) fn new(pages_max: u64) -> (Self, Receiver<()>) {
        let (start, started) = sync_channel(1);
        let checkpointer = Self {
            pages_max,
            state: AtomicU8::new(IDLE),
            start,
        };
        (checkpointer, started)
    }

    /// Makes SQLite tell how long the log is after each commit of this thread.
    pub(crate) fn watch(&self, writer: &Connection) {
        writer.wal_hook(Some(|_, pages| {
            LOG_PAGES.set(u64::try_from(pages).unwrap_or(0));
            Ok(())
        }));
    }

    /// Called by the writer between two commits.
    pub(crate) fn after_commit(&self, writer: &Connection) {
        if LOG_PAGES.get() < self.pages_max {
            // The log has started over: nothing is left for the writer to copy.
            let _ = self
                .state
                .compare_exchange(COPIED, IDLE, Ordering::AcqRel, Ordering::Acquire);
            return;
        }
        match self.state.load(Ordering::Acquire) {
            IDLE => {
                self.state.store(COPYING, Ordering::Release);
                // The channel holds one start; a second one would mean the same.
                let _ = self.start.try_send(());
            }
            COPIED => {
                copy(writer);
                self.state.store(IDLE, Ordering::Release);
            }
            _ => {}
        }
    }

    /// Copies whenever asked, until the sender is gone.
    pub(crate) fn run(
        &self,
        connection: &Connection,
        started: &Receiver<()>,
        stop: impl Fn() -> bool,
    ) {
        while started.recv().is_ok() && !stop() {
            copy(connection);
            self.state.store(COPIED, Ordering::Release);
        }
    }

    /// Wakes the thread so that it can see that it is to stop.
    pub(crate) fn wake(&self) {
        let _ = self.start.try_send(());
    }
}

/// Copies as much as readers allow. A failure leaves the log longer and nothing else; the next
/// commit meets the same disk and reports it to somebody who waits.
fn copy(connection: &Connection) {
    let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
}
