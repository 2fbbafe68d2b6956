//! Threads that answer look-ups beside the writer.
//!
//! In WAL mode a reader sees the last commit and waits for nobody. Like the writer, a reader
//! takes all that has queued since it last looked.

use std::panic::{AssertUnwindSafe, catch_unwind};

use rusqlite::Connection;

use crate::queue::Queue;

/// The most look-ups that one reader takes at a time, so that the others get some.
const READS_PER_TURN: usize = 32;

/// A question for a reader: it sees one snapshot and answers its caller itself.
pub(crate) type Question = Box<dyn FnOnce(&Connection) + Send>;

/// Answers questions until the queue is closed and empty.
pub(crate) fn run(connection: &Connection, queue: &Queue<Question>) {
    while let Some(questions) = queue.take(READS_PER_TURN) {
        // One transaction for all of a turn: one look at the log's end instead of many.
        let begun = execute(connection, "BEGIN").is_ok();
        for question in questions {
            // A panic is a bug of ours; it must cost its caller an error, not every caller a thread.
            let _ = catch_unwind(AssertUnwindSafe(|| question(connection)));
        }
        if begun && execute(connection, "COMMIT").is_err() {
            // A read transaction has nothing to lose, but must not keep an old snapshot.
            let _ = execute(connection, "ROLLBACK");
        }
    }
}

fn execute(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(sql)?.execute([]).map(drop)
}
