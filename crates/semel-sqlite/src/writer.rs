//! The one thread that writes. While one commit is on its way to the disk, callers queue; the next
//! commit takes them all. No timer: a lone caller waits for nobody.
//!
//! An item that cannot be written costs its own caller an error and no other caller a commit. Most fail before they change
//! anything, and their error is their answer. If one fails later, the transaction is written once more, with a savepoint
//! around each item; savepoints for all would make SQLite copy every page that two items share. Only a transaction that
//! cannot be committed at all, on a full disk for example, is halved until what can be written is.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::Connection;
use semel_core::clock::Doubt;
use semel_core::inbox::WakeUps;
use semel_core::store::StoreObserver;
use semel_core::{Error, Kind, Result, SteadyClock};
use tokio::time::Instant;

use crate::checkpoint::Checkpointer;
use crate::error::from_sqlite;
use crate::job::{Isolation, Job, Writes, panicked};
use crate::queue::Turn;
use crate::verbs::{News, Session};

/// The most that one commit takes.
const TURN: Turn = Turn {
    jobs_max: 1_024,
    bytes_max: 32 * 1024 * 1024,
};

/// What the thread writes with.
pub(crate) struct Writer {
    pub(crate) connection: Connection,
    pub(crate) clock: SteadyClock,
    /// Whether this is an operator's look at a store that others serve.
    pub(crate) only_looks: bool,
    pub(crate) watch: Option<Arc<dyn StoreObserver>>,
    pub(crate) wake_ups: Arc<WakeUps>,
    /// The doubt about the clock that the watch has heard of.
    pub(crate) doubt_reported: Cell<Option<Doubt>>,
}

impl Writer {
    /// Writes until the queue is closed and empty. However this ends, no caller waits for it afterwards.
    pub(crate) fn run(&self, queue: &Writes, checkpointer: &Checkpointer) {
        let _closing = queue.closing();
        checkpointer.watch(&self.connection);
        self.report_doubt();
        while let Some(jobs) = queue.take_settled(TURN) {
            self.write(jobs);
            checkpointer.after_commit(&self.connection);
        }
    }

    fn write(&self, mut jobs: Vec<Box<dyn Job>>) {
        match self.commit_or_roll_back(&mut jobs, Isolation::Shared) {
            // Another process holds the lock: waiting for it once more would help no caller.
            Err(error) if error.kind() != Kind::Locked => self.write_apart(jobs),
            committed => answer(jobs, &committed),
        }
    }

    /// Commits all items but those that fail; and if that cannot be committed, each half by itself.
    fn write_apart(&self, mut jobs: Vec<Box<dyn Job>>) {
        match self.commit_or_roll_back(&mut jobs, Isolation::Savepoints) {
            Err(error) if error.kind() != Kind::Locked && jobs.len() > 1 => {
                let rest = jobs.split_off(jobs.len() / 2);
                self.write_apart(jobs);
                self.write_apart(rest);
            }
            committed => answer(jobs, &committed),
        }
    }

    fn commit_or_roll_back(&self, jobs: &mut [Box<dyn Job>], isolation: Isolation) -> Result<()> {
        let begun = Instant::now();
        let committed = catch_unwind(AssertUnwindSafe(|| self.commit(jobs, isolation)))
            .unwrap_or_else(|_| Err(panicked()));
        if committed.is_err() && !self.connection.is_autocommit() {
            // The transaction is void either way; a failed rollback shows at the next begin.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let news = committed?;
        self.report_doubt();
        news.due
            .iter()
            .for_each(|consumer| self.wake_ups.wake(consumer));
        self.report(|watch| {
            watch.committed(jobs.len(), begun.elapsed());
            news.ended.iter().for_each(|claim| watch.lease_ended(claim));
            news.troubles
                .iter()
                .for_each(|trouble| watch.swept(Err(trouble)));
        });
        Ok(())
    }

    /// Performs all jobs in one transaction.
    fn commit(&self, jobs: &mut [Box<dyn Job>], isolation: Isolation) -> Result<News> {
        execute(&self.connection, "BEGIN IMMEDIATE", "taking the write lock")?;
        let mut session = match self.only_looks {
            true => Session::begin_looking(&self.connection, &self.clock)?,
            false => Session::begin(&self.connection, &self.clock)?,
        };
        // Asked as late as possible: callers may have gone while the lock was waited for.
        for job in jobs.iter_mut().filter(|job| job.is_wanted()) {
            job.perform(&mut session, isolation)?;
        }
        execute(&self.connection, "COMMIT", "committing")?;
        Ok(session.into_news())
    }

    /// Tells the watch. A panic in there is not the writer's, and what it was told of is durable.
    fn report(&self, tell: impl FnOnce(&dyn StoreObserver)) {
        if let Some(watch) = self.watch.as_deref() {
            let _ = catch_unwind(AssertUnwindSafe(|| tell(watch)));
        }
    }

    fn report_doubt(&self) {
        let doubt = self.clock.doubt();
        if self.doubt_reported.replace(doubt) != doubt {
            self.report(|watch| watch.clock_doubted(doubt));
        }
    }
}

fn answer(jobs: Vec<Box<dyn Job>>, committed: &Result<()>) {
    for job in jobs {
        job.answer(committed.as_ref().copied().map_err(Error::duplicate));
    }
}

fn execute(connection: &Connection, sql: &str, doing: &str) -> Result<()> {
    let executed = connection
        .prepare_cached(sql)
        .and_then(|mut s| s.execute([]));
    executed.map(drop).map_err(|e| from_sqlite(doing, e))
}
