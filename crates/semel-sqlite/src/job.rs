//! Calls on their way through the writer: what is asked, for whom, and what becomes of an answer that is not heard.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};

use rusqlite::Connection;
use semel_core::store::Batch;
use semel_core::{Error, Kind, Outcome, Result};
use tokio::sync::oneshot;

use crate::error::from_sqlite;
use crate::queue::Queue;
use crate::verbs::Session;

/// What each item weighs beside its bodies: keys, headers, and the job around it.
const ITEM_BYTES: usize = 512;

/// What the body of an outcome weighs.
pub(crate) fn body_bytes(outcome: &Outcome) -> usize {
    outcome.body.kept().map_or(0, |body| body.len())
}

/// Calls that wait for the writer.
pub(crate) type Writes = Queue<Box<dyn Job>>;

/// A call that waits to be written.
pub(crate) trait Job: Send {
    /// Whether it is still to be performed.
    fn is_wanted(&self) -> bool;
    /// Performs the call inside the open transaction. An error spoils the transaction; an item that fails without
    /// having changed anything does not.
    fn perform(&mut self, session: &mut Session<'_>, isolation: Isolation) -> Result<()>;
    /// Answers the caller, once the transaction is durable or has failed.
    fn answer(self: Box<Self>, committed: Result<()>);
}

/// How items are kept from spoiling each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// Not at all, which costs nothing: an item that fails after it has changed something spoils the transaction.
    Shared,
    /// Each item can be rolled back alone.
    Savepoints,
}

/// Makes the call that takes an answer back, if it needs one.
pub(crate) type Undo<A> = fn(A) -> Option<Box<dyn Job>>;

/// How a verb treats a caller that has gone.
pub(crate) struct Manner<A> {
    /// Whether the verb is left out then. What only gives the caller something is; what brings a fact, such as an
    /// outcome, is performed whether or not its caller still waits: the queue may be the only place where it is.
    pub(crate) is_for_caller: bool,
    /// What undoes an answer that was committed and then not heard.
    pub(crate) undo: Option<Undo<A>>,
}

impl<A> Manner<A> {
    /// The verb brings a fact.
    pub(crate) const FACT: Self = Self {
        is_for_caller: false,
        undo: None,
    };
    /// The verb gives the caller something that may be lost.
    pub(crate) const FAVOUR: Self = Self {
        is_for_caller: true,
        undo: None,
    };

    /// The verb gives the caller something that must be given back if it is not heard.
    pub(crate) const fn grant(undo: Undo<A>) -> Self {
        Self {
            is_for_caller: true,
            undo: Some(undo),
        }
    }
}

/// The answers to a call. Dropped before they were taken, they are undone: the caller went away after the commit, or
/// while the answers were on their way.
pub(crate) struct Delivery<A> {
    answers: Option<Result<Batch<Result<A>>>>,
    undo: Option<Undo<A>>,
    queue: Weak<Writes>,
}

impl<A> Delivery<A> {
    /// The caller has its answers.
    pub(crate) fn take(mut self) -> Result<Batch<Result<A>>> {
        let taken = self.answers.take();
        taken.expect("answers are taken once, because taking consumes them")
    }
}

impl<A> Drop for Delivery<A> {
    fn drop(&mut self) {
        let (Some(Ok(answers)), Some(undo), Some(queue)) =
            (self.answers.take(), self.undo, self.queue.upgrade())
        else {
            return;
        };
        for job in answers.into_iter().flatten().filter_map(undo) {
            // A queue that is full or closed leaves it to the lease, which ends by itself.
            let _ = queue.push(job, ITEM_BYTES);
        }
    }
}

/// A verb over its items, each of which is answered by itself.
pub(crate) struct VerbJob<I, A, V> {
    items: Batch<I>,
    verb: V,
    manner: Manner<A>,
    answers: Batch<Result<A>>,
    caller: oneshot::Sender<Delivery<A>>,
    queue: Weak<Writes>,
}

impl<I, A, V> VerbJob<I, A, V>
where
    I: Send + 'static,
    A: Send + 'static,
    V: Fn(&mut Session<'_>, &I) -> Result<A> + Send + 'static,
{
    /// Queues a verb whose items have bodies of `body_bytes`; where its answers will come.
    pub(crate) fn queue(
        queue: &Arc<Writes>,
        items: Batch<I>,
        body_bytes: usize,
        manner: Manner<A>,
        verb: V,
    ) -> Result<oneshot::Receiver<Delivery<A>>> {
        let (caller, answer) = oneshot::channel();
        let bytes = body_bytes.saturating_add(items.len() * ITEM_BYTES);
        let job = Self {
            answers: Batch::with_capacity(items.len()),
            items,
            verb,
            manner,
            caller,
            queue: Arc::downgrade(queue),
        };
        queue.push(Box::new(job), bytes)?;
        Ok(answer)
    }

    /// A job of one item without a caller.
    pub(crate) fn alone(item: I, verb: V) -> Box<dyn Job> {
        let (caller, _nobody) = oneshot::channel();
        Box::new(Self {
            items: semel_core::store::one(item),
            verb,
            manner: Manner::FACT,
            answers: Batch::new(),
            caller,
            queue: Weak::new(),
        })
    }
}

impl<I, A, V> Job for VerbJob<I, A, V>
where
    I: Send,
    A: Send,
    V: Fn(&mut Session<'_>, &I) -> Result<A> + Send,
{
    fn is_wanted(&self) -> bool {
        !self.manner.is_for_caller || !self.caller.is_closed()
    }

    fn perform(&mut self, session: &mut Session<'_>, isolation: Isolation) -> Result<()> {
        // An earlier transaction with this job may have been rolled back.
        self.answers.clear();
        for item in &self.items {
            let answer = isolated(session, isolation, |session| (self.verb)(session, item))?;
            self.answers.push(answer);
        }
        Ok(())
    }

    fn answer(self: Box<Self>, committed: Result<()>) {
        let Self {
            caller,
            answers,
            manner,
            queue,
            ..
        } = *self;
        let delivery = Delivery {
            answers: Some(committed.map(|()| answers)),
            undo: manner.undo,
            queue,
        };
        // What comes back because the caller has gone undoes itself.
        drop(caller.send(delivery));
    }
}

/// Performs one item; the outer error spoils the transaction, the inner one is the item's answer.
fn isolated<A>(
    session: &mut Session<'_>,
    isolation: Isolation,
    verb: impl FnOnce(&mut Session<'_>) -> Result<A>,
) -> Result<Result<A>> {
    let (connection, mark) = (session.connection, session.mark());
    match isolation {
        Isolation::Shared => {
            let changes = connection.total_changes();
            match verb(session) {
                Err(error) if connection.is_autocommit() => Err(error),
                Err(error) if connection.total_changes() != changes => Err(error),
                Err(error) => {
                    session.return_to(mark);
                    Ok(Err(error))
                }
                Ok(answer) => Ok(Ok(answer)),
            }
        }
        Isolation::Savepoints => {
            savepoint(connection, "SAVEPOINT semel_item")?;
            let done = catch_unwind(AssertUnwindSafe(|| verb(session)));
            let answer = done.unwrap_or_else(|_| Err(panicked()));
            match answer {
                // SQLite has rolled all of it back: there is nothing to go on with.
                Err(error) if connection.is_autocommit() => return Err(error),
                Err(_) => {
                    savepoint(connection, "ROLLBACK TO semel_item")?;
                    session.return_to(mark);
                }
                Ok(_) => {}
            }
            savepoint(connection, "RELEASE semel_item")?;
            Ok(answer)
        }
    }
}

/// A panic is a bug of ours; it must cost its caller an error, not every caller the writer.
pub(crate) fn panicked() -> Error {
    Error::new(Kind::Internal, "the writer panicked")
}

fn savepoint(connection: &Connection, sql: &str) -> Result<()> {
    let executed = connection
        .prepare_cached(sql)
        .and_then(|mut s| s.execute([]));
    executed
        .map(drop)
        .map_err(|e| from_sqlite("writing one item", e))
}
