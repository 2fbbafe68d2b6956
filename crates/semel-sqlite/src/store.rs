//! The store: threads around one file, behind [`semel_core::Store`].

use std::cell::Cell;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use semel_core::clock::Doubt;
use semel_core::inbox::{CountsCache, WakeUps};
use semel_core::record::{Claim, Event};
use semel_core::store::{
    Answer, Answers, AuditEntry, Batch, ClaimAnswer, ClaimRequest, Counts, Limits, MarkAnswer,
    MarkRequest, Page, Query, ReleaseAnswer, RenewAnswer, RenewRequest, ResolveAnswer,
    ResolveRequest, SettleAnswer, SettleRequest, Stats, Swept, check_batch, each_fails, merge, one,
    only,
};
use semel_core::{Error, Identity, Kind, Record, Result, SteadyClock, Store, Timestamp};
use tokio::sync::oneshot;

use crate::at_once::AtOnce;
use crate::checkpoint::Checkpointer;
use crate::config::Config;
use crate::error::from_sqlite;
use crate::job::{Delivery, Job, Manner, VerbJob, Writes, body_bytes};
use crate::queue::Queue;
use crate::reader::{self, Gone, Question};
use crate::sweep::Walks;
use crate::sweeper::{self, Stop};
use crate::time::FileTime;
use crate::verbs::Session;
use crate::writer::Writer;
use crate::{audit, connection, counting, query, schema};

/// Semel's embedded store. Dropping it lets waiting calls finish and closes the file.
///
/// ```
/// use semel_sqlite::Config;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("semel.db");
/// let store = Config::new(path).open()?;
/// let once = semel_core::Once::new(store);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct SqliteStore {
    config: Config,
    pub(crate) clock: SteadyClock,
    writes: Arc<Writes>,
    pub(crate) at_once: AtOnce,
    pub(crate) reads: Arc<Queue<Question>>,
    /// Lists and counts may take long; look-ups must not wait for them.
    pub(crate) slow_reads: Arc<Queue<Question>>,
    pub(crate) wake_ups: Arc<WakeUps>,
    /// The last counts of messages, while they are told again.
    pub(crate) counts: CountsCache,
    checkpointer: Arc<Checkpointer>,
    stop: Arc<Stop>,
    walks: Arc<Walks>,
    /// The writer first.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl SqliteStore {
    pub(crate) fn open(config: Config) -> Result<Self> {
        let mut writer = connection::writable(&config)?;
        if config.create {
            schema::migrate(&mut writer)?;
        }
        let page_bytes: u64 = writer
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .map_err(|e| from_sqlite("opening the store", e))?;
        let (checkpointer, started) = Checkpointer::new(config.wal_bytes / page_bytes);
        let clock = SteadyClock::new(config.clock.clone());
        // Readers judge by it from the first moment; the first transaction writes down what it asks for.
        clock.judge(FileTime::read(&writer)?.known);
        let store = Self {
            clock,
            writes: Arc::new(Queue::new()),
            at_once: AtOnce::open(&config)?,
            reads: Arc::new(Queue::new()),
            slow_reads: Arc::new(Queue::new()),
            wake_ups: Arc::default(),
            counts: CountsCache::default(),
            checkpointer: Arc::new(checkpointer),
            stop: Arc::default(),
            walks: Arc::default(),
            threads: Mutex::default(),
            config,
        };
        store.start(writer, started)?;
        Ok(store)
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.config.path
    }

    /// The jump of the clock that is doubted at present; [`semel_core::clock`] has the rule.
    pub fn clock_doubt(&self) -> Option<Doubt> {
        self.clock.doubt()
    }

    fn start(&self, writer: Connection, started: std::sync::mpsc::Receiver<()>) -> Result<()> {
        let (queue, checkpointer) = (self.writes.clone(), self.checkpointer.clone());
        let writer = Writer {
            connection: writer,
            clock: self.clock.clone(),
            only_looks: !self.config.create,
            watch: self.config.watch.clone(),
            wake_ups: self.wake_ups.clone(),
            doubt_reported: Cell::new(None),
        };
        self.spawn("writer", move || writer.run(&queue, &checkpointer))?;
        let look_ups = std::iter::repeat_n((&self.reads, reader::LOOK_UPS), self.config.readers);
        for (queue, turn) in look_ups.chain([(&self.slow_reads, reader::ONE)]) {
            let (connection, queue) = (connection::reading(&self.config)?, queue.clone());
            self.spawn("reader", move || reader::run(&connection, &queue, turn))?;
        }
        let copier = connection::writable(&self.config)?;
        // It must not hold the write lock while it waits for readers.
        connection::never_wait(&copier)?;
        let (checkpointer, stop) = (self.checkpointer.clone(), self.stop.clone());
        self.spawn("checkpoint", move || {
            checkpointer.run(&copier, &started, || stop.is_stopped());
        })?;
        if let Some(interval) = self.config.sweep_every {
            let (queue, stop) = (self.writes.clone(), self.stop.clone());
            let (keep, watch) = (self.config.history_keep, self.config.watch.clone());
            let walks = self.walks.clone();
            self.spawn("sweeper", move || {
                sweeper::run(&stop, interval, watch.as_deref(), || {
                    let walks = walks.clone();
                    let verb = move |session: &mut Session<'_>, limit: &usize| {
                        session.sweep(*limit, keep, &walks)
                    };
                    let step = one(sweeper::STEP);
                    let answer = VerbJob::queue(&queue, step, 0, Manner::FAVOUR, verb)?;
                    only(answer.blocking_recv().map_err(closed)?.take()?)
                });
            })?;
        }
        Ok(())
    }

    fn spawn(&self, name: &str, work: impl FnOnce() + Send + 'static) -> Result<()> {
        let thread = std::thread::Builder::new().name(format!("semel-{name}"));
        let thread = thread.spawn(work).map_err(|e| {
            Error::new(Kind::Unavailable, "the store cannot start a thread").caused_by(e)
        })?;
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        threads.push(thread);
        Ok(())
    }

    /// Queues a verb for the writer; its items are written whole or not at all.
    pub(crate) fn write<I, A, V>(
        &self,
        items: Vec<I>,
        body_bytes: usize,
        manner: Manner<Vec<A>>,
        verb: V,
    ) -> Answer<'_, Vec<A>>
    where
        I: Send + 'static,
        A: Send + 'static,
        V: Fn(&mut Session<'_>, &I) -> Result<A> + Send + 'static,
    {
        let all = move |session: &mut Session<'_>, items: &Vec<I>| {
            items.iter().map(|item| verb(session, item)).collect()
        };
        let queued = check_batch(items.len())
            .and_then(|()| VerbJob::queue(&self.writes, one(items), body_bytes, manner, all));
        Box::pin(async move { only(queued?.await.map_err(closed)?.take()?) })
    }

    /// Queues a verb for the writer; each item is written and answered by itself.
    pub(crate) fn write_each<I, A, V>(
        &self,
        items: Batch<I>,
        body_bytes: usize,
        manner: Manner<A>,
        verb: V,
    ) -> Answers<'_, A>
    where
        I: Send + 'static,
        A: Send + 'static,
        V: Fn(&mut Session<'_>, &I) -> Result<A> + Send + 'static,
    {
        let len = items.len();
        let queued = check_batch(len)
            .and_then(|()| VerbJob::queue(&self.writes, items, body_bytes, manner, verb));
        Box::pin(async move {
            let delivered = match queued {
                Ok(answer) => answer.await.map_err(closed).and_then(Delivery::take),
                Err(error) => Err(error),
            };
            delivered.unwrap_or_else(|error| each_fails(len, &error))
        })
    }

    /// Asks a reader about each item.
    pub(crate) fn read_each<I, A>(
        &self,
        items: Batch<I>,
        question: impl Fn(&Connection, &I, Timestamp) -> Result<A> + Send + 'static,
    ) -> Answers<'_, A>
    where
        I: Send + 'static,
        A: Send + 'static,
    {
        let len = items.len();
        if let Err(error) = check_batch(len) {
            return Box::pin(std::future::ready(each_fails(len, &error)));
        }
        if let [item] = items.as_slice()
            && let Some(found) = self.at_once.ask(&self.clock, |connection, now| {
                question(connection, item, now)
            })
        {
            return Box::pin(std::future::ready(one(Ok(found))));
        }
        let clock = self.clock.clone();
        let found = self.read(&self.reads, move |connection| {
            let now = clock.now();
            let found = items.iter().map(|item| question(connection, item, now));
            Ok(found.collect::<Batch<Result<A>>>())
        });
        Box::pin(async move { found.await.unwrap_or_else(|error| each_fails(len, &error)) })
    }

    /// Asks a reader through `queue`.
    pub(crate) fn read<A: Send + 'static>(
        &self,
        queue: &Queue<Question>,
        question: impl FnOnce(&Connection) -> Result<A> + Send + 'static,
    ) -> Answer<'_, A> {
        let (caller, answer) = oneshot::channel();
        let gone = Gone::default();
        let asked = gone.flag();
        let question = Box::new(move |connection: &Connection| {
            if let Some(answer) = reader::ask(connection, asked, question) {
                // A caller that went away learns nothing.
                let _ = caller.send(answer);
            }
        });
        let queued = queue.push(question, QUESTION_BYTES);
        Box::pin(async move {
            let _gone = gone;
            queued?;
            answer.await.map_err(closed)?
        })
    }
}

/// What a question weighs in a queue.
const QUESTION_BYTES: usize = 512;
/// The most bytes of bodies in one job, unless one item alone has more: a commit is no larger than it must be.
const JOB_BYTES_MAX: usize = 32 * 1024 * 1024;

/// The items in jobs of at most [`JOB_BYTES_MAX`].
fn parts_of(items: Batch<SettleRequest>) -> Vec<Batch<SettleRequest>> {
    let (mut parts, mut part, mut bytes) = (Vec::new(), Batch::new(), 0_usize);
    for item in items {
        let more = body_bytes(&item.outcome);
        if bytes.saturating_add(more) > JOB_BYTES_MAX && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
            bytes = 0;
        }
        bytes = bytes.saturating_add(more);
        part.push(item);
    }
    parts.push(part);
    parts
}

/// Gives a claim back whose caller went away before it heard: nothing runs under it, and its lease must not end as an
/// unknown outcome.
fn released(answer: ClaimAnswer) -> Option<Box<dyn Job>> {
    let ClaimAnswer::Granted(lease) = answer else {
        return None;
    };
    Some(VerbJob::alone(lease.claim, |session, claim| {
        session.release(claim)
    }))
}

/// The thread that was to answer is gone.
fn closed<E>(_: E) -> Error {
    Error::new(
        Kind::Unavailable,
        "the store was closed while a call waited",
    )
}

impl Drop for SqliteStore {
    /// The writer goes last: whoever closes the file last copies the log into it.
    fn drop(&mut self) {
        self.at_once.close();
        self.stop.stop();
        self.reads.close();
        self.slow_reads.close();
        self.checkpointer.wake();
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let mut threads: VecDeque<_> = threads.drain(..).collect();
        let writer = threads.pop_front();
        // A thread that panicked has nothing left to finish.
        threads.into_iter().for_each(|thread| drop(thread.join()));
        self.writes.close();
        drop(writer.map(JoinHandle::join));
    }
}

impl Store for SqliteStore {
    fn limits(&self) -> Limits {
        Limits::exact().with_counts(Counts::ExactUpTo(counting::COUNTED_MAX))
    }

    fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Duplicates of settled operations are answered by a reader; only the rest goes to the writer.
    fn claim(&self, items: Batch<ClaimRequest>) -> Answers<'_, ClaimAnswer> {
        Box::pin(async move {
            let identities = items.iter().map(|item| item.identity.clone()).collect();
            let mut answers = Batch::with_capacity(items.len());
            let mut rest = Batch::new();
            for (item, found) in items.into_iter().zip(self.look_up(identities).await) {
                let now = self.clock.now().before(self.clock.grace());
                match found {
                    Ok(Some(record)) if query::is_replay(&record, item.fingerprint, now) => {
                        answers.push(Some(Ok(ClaimAnswer::Settled(record))));
                    }
                    Ok(_) => {
                        answers.push(None);
                        rest.push(item);
                    }
                    Err(error) => answers.push(Some(Err(error))),
                }
            }
            let written = match rest.is_empty() {
                true => Batch::new(),
                false => {
                    self.write_each(rest, 0, Manner::grant(released), |session, item| {
                        session.claim(item)
                    })
                    .await
                }
            };
            merge(answers, written)
        })
    }

    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer> {
        self.write_each(items, 0, Manner::FAVOUR, |session, item| {
            session.renew(item)
        })
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        let settle = |items: Batch<SettleRequest>| {
            let bytes = items.iter().map(|item| body_bytes(&item.outcome)).sum();
            self.write_each(items, bytes, Manner::FACT, |session, item| {
                session.settle(item)
            })
        };
        let bytes: usize = items.iter().map(|item| body_bytes(&item.outcome)).sum();
        if bytes <= JOB_BYTES_MAX {
            return settle(items);
        }
        // All parts are queued before the first is awaited: a caller that goes away takes no outcome along.
        let parts: Vec<_> = parts_of(items).into_iter().map(settle).collect();
        Box::pin(async move {
            let mut answers = Batch::new();
            for part in parts {
                answers.extend(part.await);
            }
            answers
        })
    }

    fn release(&self, items: Batch<Claim>) -> Answers<'_, ReleaseAnswer> {
        self.write_each(items, 0, Manner::FACT, |session, item| {
            session.release(item)
        })
    }

    fn mark_unknown(&self, items: Batch<MarkRequest>) -> Answers<'_, MarkAnswer> {
        self.write_each(items, 0, Manner::FACT, |session, item| {
            session.mark_unknown(item)
        })
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        self.write_each(items, 0, Manner::FACT, |session, item| {
            session.resolve(item)
        })
    }

    fn look_up(&self, identities: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        let grace = self.clock.grace();
        self.read_each(identities, move |connection, identity, now| {
            query::look_up(connection, identity, (now, grace))
        })
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        self.read(&self.slow_reads, move |connection| {
            query::history(connection, &identity)
        })
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        let clock = self.clock.clone();
        self.read(&self.slow_reads, move |connection| {
            query::list(connection, &query, (clock.now(), clock.grace()))
        })
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        let (keep, walks) = (self.config.history_keep, self.walks.clone());
        let swept = self.write_each(one(limit), 0, Manner::FAVOUR, move |session, limit| {
            session.sweep(*limit, keep, &walks)
        });
        Box::pin(async move { only(swept.await) })
    }

    fn stats(&self) -> Answer<'_, Stats> {
        let clock = self.clock.clone();
        self.read(&self.slow_reads, move |connection| {
            counting::stats(connection, clock.now())
        })
    }

    fn audit(&self, limit: usize) -> Answer<'_, Vec<AuditEntry>> {
        self.read(&self.slow_reads, move |connection| {
            audit::list(connection, limit)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn a_question_whose_caller_has_gone_is_given_up() {
        let dir = tempfile::tempdir().unwrap();
        let store = Config::new(dir.path().join("semel.db")).open().unwrap();
        let endless = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n) \
                       SELECT count(*) FROM n, semel_meta";
        let asked = store.read(&store.slow_reads, move |connection| {
            let counted = connection.query_row(endless, [], |row| row.get::<_, i64>(0));
            counted.map_err(|e| from_sqlite("counting", e))
        });
        let impatient = tokio::time::timeout(Duration::from_millis(100), asked).await;
        assert!(impatient.is_err());
        let stats = tokio::time::timeout(Duration::from_secs(20), store.stats()).await;
        stats.expect("the reader is free again").unwrap();
    }
}
