//! Copies the write-ahead log into the file without stalling commits.
//!
//! A thread of its own copies almost all of it while commits go on. What is written meanwhile would
//! keep the log from ever starting over, so the writer copies that last bit itself between two
//! commits: a short pause instead of a long one, and a log that stays near its limit.
//!
//! SQLite overwrites a log from its beginning and does not make its file smaller by itself. When nothing has been
//! written for a while, the thread copies what is left and truncates the file.

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use rusqlite::Connection;

use crate::erase::has_overwritten;

thread_local! {
    /// Commits of this thread that wrote something, and pages in the log after the last; SQLite's hook has no other
    /// way to tell.
    static LOG: Cell<(u64, u64)> = const { Cell::new((0, 0)) };
}

/// How long nothing is written before the log is truncated.
const QUIET: Duration = Duration::from_secs(2);
/// How often a process that ends tries to truncate a log that holds what it erased, while others read it.
const TRIES_MAX: usize = 200;
const TRY_EVERY: Duration = Duration::from_millis(10);
/// A log of fewer pages is not worth a truncation.
const TRUNCATED_FROM_PAGES: u64 = 64;

const IDLE: u8 = 0;
const COPYING: u8 = 1;
const COPIED: u8 = 2;

/// Decides when the log is copied; shared by the writer and the copying thread.
#[derive(Debug)]
pub(crate) struct Checkpointer {
    pages_max: u64,
    state: AtomicU8,
    start: SyncSender<()>,
    /// Commits of the writer, and pages in the log after the last, as far as the thread need know.
    commits: AtomicU64,
    pages: AtomicU64,
    /// Whether the log holds what was erased in the file.
    holds_erased: AtomicBool,
}

impl Checkpointer {
    /// A checkpointer for logs of `pages_max`, and what its thread waits on.
    pub(crate) fn new(pages_max: u64) -> (Self, Receiver<()>) {
        let (start, started) = sync_channel(1);
        let checkpointer = Self {
            pages_max,
            state: AtomicU8::new(IDLE),
            start,
            commits: AtomicU64::new(0),
            pages: AtomicU64::new(0),
            holds_erased: AtomicBool::new(false),
        };
        (checkpointer, started)
    }

    /// Makes SQLite tell how long the log is after each commit of this thread.
    pub(crate) fn watch(&self, writer: &Connection) {
        writer.wal_hook(Some(|_, pages| {
            LOG.set((LOG.get().0 + 1, u64::try_from(pages).unwrap_or(0)));
            Ok(())
        }));
    }

    /// Called by the writer between two commits.
    pub(crate) fn after_commit(&self, writer: &Connection) {
        let (commits, pages) = LOG.get();
        if has_overwritten() {
            self.holds_erased.store(true, Ordering::Release);
        }
        self.pages.store(pages, Ordering::Release);
        self.commits.store(commits, Ordering::Release);
        if pages < self.pages_max {
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

    /// Copies whenever asked, and truncates the log when it is quiet, until the sender is gone.
    pub(crate) fn run(
        &self,
        connection: &Connection,
        started: &Receiver<()>,
        stop: impl Fn() -> bool,
    ) {
        let (mut seen, mut truncated) = (0, 0);
        loop {
            match started.recv_timeout(QUIET) {
                _ if stop() => {
                    if self.holds_erased.load(Ordering::Acquire) {
                        truncate_at_last(connection, || std::thread::sleep(TRY_EVERY));
                    }
                    return;
                }
                Err(RecvTimeoutError::Disconnected) => return,
                Ok(()) => {
                    copy(connection);
                    self.state.store(COPIED, Ordering::Release);
                }
                Err(RecvTimeoutError::Timeout) => {
                    let commits = self.commits.load(Ordering::Acquire);
                    let is_worth_it = self.pages.load(Ordering::Acquire) >= TRUNCATED_FROM_PAGES
                        || self.holds_erased.load(Ordering::Acquire);
                    if commits == seen
                        && commits != truncated
                        && is_worth_it
                        && truncate(connection)
                    {
                        truncated = commits;
                        self.holds_erased.store(false, Ordering::Release);
                    }
                    seen = commits;
                }
            }
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

/// Copies the rest and truncates the log, unless a connection reads it or writes to it just now; whether it did.
fn truncate(connection: &Connection) -> bool {
    copy(connection);
    let busy = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
    matches!(busy, Ok(0))
}

/// Truncates the log between two readers. Other processes do not know what this one has erased, and would leave a quiet log as it is.
fn truncate_at_last(connection: &Connection, mut wait: impl FnMut()) {
    for _ in 0..TRIES_MAX {
        if truncate(connection) {
            return;
        }
        wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_that_is_read_just_now_is_truncated_a_moment_later() {
        let dir = tempfile::tempdir().unwrap();
        let open = || {
            let connection = Connection::open(dir.path().join("semel.db")).unwrap();
            connection.busy_timeout(Duration::ZERO).unwrap();
            connection
        };
        let writer = open();
        writer
            .execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (n)")
            .unwrap();
        let reader = open();
        let count = |sql: &str| reader.query_row(sql, [], |row| row.get::<_, i64>(0));
        reader.execute_batch("BEGIN").unwrap();
        count("SELECT count(*) FROM t").unwrap();
        writer.execute_batch("INSERT INTO t VALUES (1)").unwrap();
        let mut waited = 0;
        truncate_at_last(&writer, || {
            waited += 1;
            if waited == 3 {
                reader.execute_batch("COMMIT").unwrap();
            }
        });
        assert_eq!(waited, 3);
        let log = dir.path().join("semel.db-wal");
        assert_eq!(std::fs::metadata(log).unwrap().len(), 0);
    }
}
