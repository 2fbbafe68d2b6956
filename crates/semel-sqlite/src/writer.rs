//! The one thread that writes. While one commit is on its way to the disk, callers queue; the next
//! commit takes them all. No timer: a lone caller waits for nobody.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rusqlite::Connection;
use semel_core::inbox::Bells;
use semel_core::record::Claim;
use semel_core::store::Watch;
use semel_core::{Error, Kind, Result, Scope, SteadyClock};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::checkpoint::Checkpointer;
use crate::error::from_sqlite;
use crate::queue::Queue;
use crate::verbs::Session;

/// The most jobs that one commit takes.
const JOBS_PER_COMMIT: usize = 1_024;

/// A call that waits to be written.
pub(crate) trait Job: Send {
    /// Performs the call inside the open transaction.
    fn perform(&mut self, session: &mut Session<'_>) -> Result<()>;
    /// Tells the caller, once the transaction is durable or has failed.
    fn answer(self: Box<Self>, committed: Result<()>);
}

/// A verb over its items.
pub(crate) struct VerbJob<I, A, V> {
    items: Vec<I>,
    verb: V,
    answers: Vec<A>,
    caller: oneshot::Sender<Result<Vec<A>>>,
}

impl<I, A, V> VerbJob<I, A, V> {
    pub(crate) fn new(items: Vec<I>, verb: V, caller: oneshot::Sender<Result<Vec<A>>>) -> Self {
        Self {
            answers: Vec::with_capacity(items.len()),
            items,
            verb,
            caller,
        }
    }
}

impl<I, A, V> Job for VerbJob<I, A, V>
where
    I: Send,
    A: Send,
    V: Fn(&mut Session<'_>, &I) -> Result<A> + Send,
{
    fn perform(&mut self, session: &mut Session<'_>) -> Result<()> {
        // An earlier transaction with this job may have been rolled back.
        self.answers.clear();
        for item in &self.items {
            self.answers.push((self.verb)(session, item)?);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<()>) {
        // A caller that went away learns nothing; a lease that it was granted ends by itself.
        let Self {
            caller, answers, ..
        } = *self;
        let _ = caller.send(committed.map(|()| answers));
    }
}

/// What the thread writes with.
pub(crate) struct Writer {
    pub(crate) connection: Connection,
    pub(crate) clock: SteadyClock,
    pub(crate) watch: Option<Arc<dyn Watch>>,
    pub(crate) bells: Arc<Bells>,
}

impl Writer {
    /// Writes until the queue is closed and empty.
    pub(crate) fn run(&self, queue: &Queue<Box<dyn Job>>, checkpointer: &Checkpointer) {
        checkpointer.watch(&self.connection);
        while let Some(mut jobs) = queue.take_settled(JOBS_PER_COMMIT) {
            let committed = self.commit_or_roll_back(&mut jobs);
            match committed {
                // Somebody else holds the lock: waiting for it once per job would help nobody.
                Err(error) if error.kind() != Kind::Locked && jobs.len() > 1 => {
                    self.one_by_one(jobs);
                }
                committed => {
                    for job in jobs {
                        job.answer(committed.as_ref().copied().map_err(Error::duplicate));
                    }
                }
            }
            checkpointer.after_commit(&self.connection);
        }
    }

    /// Commits each job by itself: only the one that cannot be written hears of it. On a full disk
    /// the renewals and the sweep still go through.
    fn one_by_one(&self, jobs: Vec<Box<dyn Job>>) {
        for job in jobs {
            let mut alone = [job];
            let committed = self.commit_or_roll_back(&mut alone);
            let [job] = alone;
            job.answer(committed);
        }
    }

    fn commit_or_roll_back(&self, jobs: &mut [Box<dyn Job>]) -> Result<()> {
        let begun = Instant::now();
        // A panic is a bug of ours; it must cost its caller an error, not every caller the writer.
        let committed = catch_unwind(AssertUnwindSafe(|| self.commit(jobs)))
            .unwrap_or_else(|_| Err(Error::new(Kind::Internal, "the writer panicked")));
        if committed.is_err() && !self.connection.is_autocommit() {
            // The transaction is void either way; a failed rollback shows at the next begin.
            let _ = self.connection.execute_batch("ROLLBACK");
        }
        let (ended, due) = committed?;
        due.iter().for_each(|consumer| self.bells.ring(consumer));
        if let Some(watch) = &self.watch {
            watch.committed(jobs.len(), begun.elapsed());
            ended.iter().for_each(|claim| watch.lease_ended(claim));
        }
        Ok(())
    }

    /// Performs all jobs in one transaction; the leases that were found to have ended, and the consumers for
    /// whom something became due.
    fn commit(&self, jobs: &mut [Box<dyn Job>]) -> Result<(Vec<Claim>, Vec<Scope>)> {
        execute(&self.connection, "BEGIN IMMEDIATE", "taking the write lock")?;
        let mut session = Session::begin(&self.connection, &self.clock)?;
        for job in jobs {
            job.perform(&mut session)?;
        }
        execute(&self.connection, "COMMIT", "committing")?;
        Ok(session.into_news())
    }
}

fn execute(connection: &Connection, sql: &str, doing: &str) -> Result<()> {
    let executed = connection
        .prepare_cached(sql)
        .and_then(|mut s| s.execute([]));
    executed.map(drop).map_err(|e| from_sqlite(doing, e))
}
