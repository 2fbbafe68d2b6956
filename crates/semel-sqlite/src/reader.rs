//! Threads that answer look-ups beside the writer.
//!
//! In WAL mode a reader sees the last commit and waits for nobody. Like the writer, a reader
//! takes all that has queued since it last looked. As long as it looks at one snapshot, the log cannot start over; so a
//! turn is short, and a question whose caller has gone is neither begun nor finished.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rusqlite::Connection;
use semel_core::Result;
use tokio::time::Instant;

use crate::queue::{Queue, Turn};

/// The most look-ups that one reader takes at a time, so that the others get some.
pub(crate) const LOOK_UPS: Turn = Turn {
    jobs_max: 32,
    bytes_max: usize::MAX,
};
/// Lists and counts take long: each statement of theirs sees its own snapshot.
pub(crate) const ONE: Turn = Turn {
    jobs_max: 1,
    bytes_max: usize::MAX,
};
/// How long one snapshot is looked at; the question that is being answered then is the last.
const SNAPSHOT_MAX: Duration = Duration::from_millis(20);
/// How many instructions of SQLite pass between two looks whether the caller has gone.
const INSTRUCTIONS: i32 = 10_000;

/// A question for a reader: it answers its caller itself. One of several statements that must see one moment begins a
/// [`Snapshot`].
pub(crate) type Question = Box<dyn FnOnce(&Connection) + Send>;

/// Held by a caller while it waits.
#[derive(Debug, Default)]
pub(crate) struct Gone(Arc<AtomicBool>);

impl Gone {
    /// What says that the caller has gone.
    pub(crate) fn flag(&self) -> Arc<AtomicBool> {
        self.0.clone()
    }
}

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Answers questions until the queue is closed and empty.
pub(crate) fn run(connection: &Connection, queue: &Queue<Question>, turn: Turn) {
    while let Some(questions) = queue.take(turn) {
        // One transaction for several: one look at the log's end instead of many.
        let mut snapshot = match questions.len() {
            1 => None,
            _ => Snapshot::begin(connection),
        };
        for question in questions {
            if snapshot.as_ref().is_some_and(Snapshot::is_old) {
                drop(snapshot.take());
                snapshot = Snapshot::begin(connection);
            }
            // A panic is a bug of ours; it must cost its caller an error, not every caller a thread.
            let _ = catch_unwind(AssertUnwindSafe(|| question(connection)));
        }
    }
}

/// The answer to a question, unless its caller has gone before it was found.
pub(crate) fn ask<A>(
    connection: &Connection,
    gone: Arc<AtomicBool>,
    question: impl FnOnce(&Connection) -> Result<A>,
) -> Option<Result<A>> {
    if gone.load(Ordering::Relaxed) {
        return None;
    }
    let stop = move || gone.load(Ordering::Relaxed);
    let watched = connection.progress_handler(INSTRUCTIONS, Some(stop));
    let answer = question(connection);
    if watched.is_ok() {
        let _ = connection.progress_handler(0, None::<fn() -> bool>);
    }
    Some(answer)
}

/// A read transaction, for a question of several statements that must see one moment.
pub(crate) struct Snapshot<'a> {
    connection: &'a Connection,
    begun: Instant,
}

impl<'a> Snapshot<'a> {
    /// Without a transaction each question sees the last commit, which is as good.
    fn begin(connection: &'a Connection) -> Option<Self> {
        execute(connection, "BEGIN").ok()?;
        Some(Self {
            connection,
            begun: Instant::now(),
        })
    }

    /// The same, unless one is open already.
    pub(crate) fn unless_open(connection: &'a Connection) -> Option<Self> {
        match connection.is_autocommit() {
            true => Self::begin(connection),
            false => None,
        }
    }

    fn is_old(&self) -> bool {
        self.begun.elapsed() > SNAPSHOT_MAX
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        if execute(self.connection, "COMMIT").is_err() {
            // A read transaction has nothing to lose, but must not keep an old snapshot.
            let _ = execute(self.connection, "ROLLBACK");
        }
    }
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
