//! The store: threads around one file, behind [`semel_core::Store`].

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use semel_core::inbox::Bells;
use semel_core::record::{Claim, Event};
use semel_core::store::{
    Answer, Answers, Batch, ClaimAnswer, ClaimRequest, Limits, MarkAnswer, MarkRequest, Page,
    Query, ReleaseAnswer, RenewAnswer, RenewRequest, ResolveAnswer, ResolveRequest, SettleAnswer,
    SettleRequest, Stats, Swept, check_batch, each_fails, merge, one,
};
use semel_core::{Error, Identity, Kind, Record, Result, SteadyClock, Store, Timestamp};
use tokio::sync::oneshot;

use crate::at_once::AtOnce;
use crate::checkpoint::Checkpointer;
use crate::config::Config;
use crate::error::from_sqlite;
use crate::queue::Queue;
use crate::reader::{self, Question};
use crate::sweeper::{self, Stop};
use crate::verbs::Session;
use crate::writer::{Job, VerbJob, Writer};
use crate::{connection, query, schema};

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
    writes: Arc<Queue<Box<dyn Job>>>,
    pub(crate) at_once: AtOnce,
    pub(crate) reads: Arc<Queue<Question>>,
    /// Lists and counts may take long; look-ups must not wait for them.
    pub(crate) slow_reads: Arc<Queue<Question>>,
    pub(crate) bells: Arc<Bells>,
    checkpointer: Arc<Checkpointer>,
    stop: Arc<Stop>,
    /// The writer first.
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl SqliteStore {
    pub(crate) fn open(config: Config) -> Result<Self> {
        let mut writer = connection::writable(&config)?;
        schema::migrate(&mut writer)?;
        let page_bytes: u64 = writer
            .pragma_query_value(None, "page_size", |row| row.get(0))
            .map_err(|e| from_sqlite("opening the store", e))?;
        let (checkpointer, started) = Checkpointer::new(config.wal_bytes / page_bytes);
        let store = Self {
            clock: SteadyClock::new(config.clock.clone()),
            writes: Arc::new(Queue::new()),
            at_once: AtOnce::open(&config)?,
            reads: Arc::new(Queue::new()),
            slow_reads: Arc::new(Queue::new()),
            bells: Arc::default(),
            checkpointer: Arc::new(checkpointer),
            stop: Arc::default(),
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

    fn start(&self, writer: Connection, started: std::sync::mpsc::Receiver<()>) -> Result<()> {
        let (queue, checkpointer) = (self.writes.clone(), self.checkpointer.clone());
        let writer = Writer {
            connection: writer,
            clock: self.clock.clone(),
            watch: self.config.watch.clone(),
            bells: self.bells.clone(),
        };
        self.spawn("writer", move || writer.run(&queue, &checkpointer))?;
        let look_ups = std::iter::repeat_n(&self.reads, self.config.readers);
        for queue in look_ups.chain([&self.slow_reads]) {
            let (connection, queue) = (connection::reading(&self.config)?, queue.clone());
            self.spawn("reader", move || reader::run(&connection, &queue))?;
        }
        let copier = connection::writable(&self.config)?;
        let (checkpointer, stop) = (self.checkpointer.clone(), self.stop.clone());
        self.spawn("checkpoint", move || {
            checkpointer.run(&copier, &started, || stop.is_stopped());
        })?;
        if let Some(interval) = self.config.sweep_every {
            let (queue, stop) = (self.writes.clone(), self.stop.clone());
            let (keep, watch) = (self.config.history_keep, self.config.watch.clone());
            self.spawn("sweeper", move || {
                sweeper::run(&stop, interval, watch.as_deref(), || {
                    let (caller, answer) = oneshot::channel();
                    let verb =
                        move |session: &mut Session<'_>, limit: &usize| session.sweep(*limit, keep);
                    queue.push(Box::new(VerbJob::new(vec![sweeper::STEP], verb, caller)))?;
                    let swept = answer.blocking_recv().map_err(closed)??;
                    Ok(swept[0])
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

    /// Queues a verb for the writer.
    pub(crate) fn write<I, A, V>(&self, items: Vec<I>, verb: V) -> Answer<'_, Vec<A>>
    where
        I: Send + 'static,
        A: Send + 'static,
        V: Fn(&mut Session<'_>, &I) -> Result<A> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        let queued = check_batch(items.len()).and_then(|()| {
            self.writes
                .push(Box::new(VerbJob::new(items, verb, caller)))
        });
        Box::pin(async move {
            queued?;
            answer.await.map_err(closed)?
        })
    }

    /// Queues a verb for the writer; each item is answered by itself.
    pub(crate) fn write_each<I, A, V>(&self, items: Batch<I>, verb: V) -> Answers<'_, A>
    where
        I: Send + 'static,
        A: Send + 'static,
        V: Fn(&mut Session<'_>, &I) -> Result<A> + Send + 'static,
    {
        let len = items.len();
        let written = self.write(items.into_vec(), verb);
        Box::pin(async move { spread(len, written.await) })
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
        let queued = queue.push(Box::new(move |connection: &Connection| {
            // A caller that went away learns nothing.
            let _ = caller.send(question(connection));
        }));
        Box::pin(async move {
            queued?;
            answer.await.map_err(closed)?
        })
    }
}

/// The answers of a call that was written whole or not at all.
fn spread<A>(len: usize, written: Result<Vec<A>>) -> Batch<Result<A>> {
    match written {
        Ok(answers) => answers.into_iter().map(Ok).collect(),
        Err(error) => each_fails(len, &error),
    }
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
        Limits::exact()
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
                let now = self.clock.now();
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
                    self.write_each(rest, |session, item| session.claim(item))
                        .await
                }
            };
            merge(answers, written)
        })
    }

    fn renew(&self, items: Batch<RenewRequest>) -> Answers<'_, RenewAnswer> {
        self.write_each(items, |session, item| session.renew(item))
    }

    fn settle(&self, items: Batch<SettleRequest>) -> Answers<'_, SettleAnswer> {
        self.write_each(items, |session, item| session.settle(item))
    }

    fn release(&self, items: Batch<Claim>) -> Answers<'_, ReleaseAnswer> {
        self.write_each(items, |session, item| session.release(item))
    }

    fn mark_unknown(&self, items: Batch<MarkRequest>) -> Answers<'_, MarkAnswer> {
        self.write_each(items, |session, item| session.mark_unknown(item))
    }

    fn resolve(&self, items: Batch<ResolveRequest>) -> Answers<'_, ResolveAnswer> {
        self.write_each(items, |session, item| session.resolve(item))
    }

    fn look_up(&self, identities: Batch<Identity>) -> Answers<'_, Option<Arc<Record>>> {
        self.read_each(identities, query::look_up)
    }

    fn history(&self, identity: Identity) -> Answer<'_, Vec<Event>> {
        self.read(&self.slow_reads, move |connection| {
            query::history(connection, &identity)
        })
    }

    fn list(&self, query: Query) -> Answer<'_, Page> {
        let clock = self.clock.clone();
        self.read(&self.slow_reads, move |connection| {
            query::list(connection, &query, clock.now())
        })
    }

    fn sweep(&self, limit: usize) -> Answer<'_, Swept> {
        let keep = self.config.history_keep;
        let swept = self.write(vec![limit], move |session, limit| {
            session.sweep(*limit, keep)
        });
        Box::pin(async move { Ok(swept.await?[0]) })
    }

    fn stats(&self) -> Answer<'_, Stats> {
        let clock = self.clock.clone();
        self.read(&self.slow_reads, move |connection| {
            query::stats(connection, clock.now())
        })
    }
}
