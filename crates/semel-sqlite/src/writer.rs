//! The one thread that writes. While one commit is on its way to the disk, callers queue; the next
//! commit takes them all. No timer: a lone caller waits for nobody.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;
use semel_core::{Error, Kind, Result, SteadyClock};
use tokio::sync::oneshot;

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

/// Writes until the queue is closed and empty.
pub(crate) fn run(
    connection: &Connection,
    queue: &Queue<Box<dyn Job>>,
    clock: &SteadyClock,
    checkpointer: &Checkpointer,
) {
    checkpointer.watch(connection);
    while let Some(mut jobs) = queue.take_settled(JOBS_PER_COMMIT) {
        let committed = commit_or_roll_back(connection, &mut jobs, clock);
        match committed {
            // Somebody else holds the lock: waiting for it once per job would help nobody.
            Err(error) if error.kind() != Kind::Locked && jobs.len() > 1 => {
                one_by_one(connection, jobs, clock);
            }
            committed => {
                for job in jobs {
                    job.answer(committed.as_ref().copied().map_err(Error::duplicate));
                }
            }
        }
        checkpointer.after_commit(connection);
    }
}

/// Commits each job by itself: only the one that cannot be written hears of it. On a full disk the
/// renewals and the sweep still go through.
fn one_by_one(connection: &Connection, jobs: Vec<Box<dyn Job>>, clock: &SteadyClock) {
    for job in jobs {
        let mut alone = [job];
        let committed = commit_or_roll_back(connection, &mut alone, clock);
        let [job] = alone;
        job.answer(committed);
    }
}

fn commit_or_roll_back(
    connection: &Connection,
    jobs: &mut [Box<dyn Job>],
    clock: &SteadyClock,
) -> Result<()> {
    // A panic is a bug of ours; it must cost its caller an error, not every caller the writer.
    let committed = catch_unwind(AssertUnwindSafe(|| commit(connection, jobs, clock)))
        .unwrap_or_else(|_| Err(Error::new(Kind::Internal, "the writer panicked")));
    if committed.is_err() && !connection.is_autocommit() {
        // The transaction is void either way; a failed rollback shows at the next begin.
        let _ = connection.execute_batch("ROLLBACK");
    }
    committed
}

fn commit(connection: &Connection, jobs: &mut [Box<dyn Job>], clock: &SteadyClock) -> Result<()> {
    execute(connection, "BEGIN IMMEDIATE", "taking the write lock")?;
    let mut session = Session::begin(connection, clock)?;
    for job in jobs {
        job.perform(&mut session)?;
    }
    execute(connection, "COMMIT", "committing")
}

fn execute(connection: &Connection, sql: &str, doing: &str) -> Result<()> {
    let executed = connection
        .prepare_cached(sql)
        .and_then(|mut s| s.execute([]));
    executed.map(drop).map_err(|e| from_sqlite(doing, e))
}
