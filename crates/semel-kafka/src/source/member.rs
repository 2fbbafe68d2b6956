//! The thread that reads: a member of the group.
//!
//! It polls always, because a member that does not loses its partitions. While the buffer is full, it waits a moment for room, then pauses its
//! partitions and polls on without messages.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use rdkafka::Message as _;
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::message::BorrowedMessage;
use semel_core::{Error, Kind, Result};
use semel_inbox::source::Raw;
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::context::Context;
use super::options::Options;
use super::owned::Owned;
use super::read;
use super::shared::Shared;
use super::state::At;
use super::transactions::Transactions;
use crate::error;

/// How long one poll waits for a message.
const POLL: Duration = Duration::from_millis(100);
/// The most messages that are taken at once.
const CHUNK: usize = 256;
/// How often positions are committed, and how seldom at the least while that fails.
const COMMIT: [Duration; 2] = [Duration::from_millis(150), Duration::from_secs(5)];
/// How long a full buffer is waited for before partitions are paused, which throws away what was fetched ahead.
const PATIENCE: Duration = Duration::from_millis(500);
/// How often the last commit is tried.
const LAST_TRIES: usize = 20;
/// How long a member that was fenced stays away.
const FENCED: Duration = Duration::from_secs(15);
/// How long the thread waits until an error was read, at once.
const ERROR_READ: Duration = Duration::from_secs(1);
/// How often events are looked through for the reason of a broker's silence.
const REFUSAL_POLLS: usize = 50;

type Reader = BaseConsumer<Context>;

/// What the thread needs.
pub(super) struct Member {
    pub(super) name: Arc<str>,
    pub(super) options: Options,
    pub(super) shared: Arc<Shared>,
}

/// Why a consumer is read no more.
enum Over {
    Stopped,
    /// It cannot be used any more; another one may.
    Fatal(Error),
}

/// Says that the thread has ended, also if it panics.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let why = "the thread that reads Kafka has panicked";
            self.0.state().is_crashed = true;
            self.0.fail(Error::new(Kind::Internal, why));
        }
        self.0.end();
    }
}

impl Member {
    /// Reads until it is time to stop; what the last commit gave.
    pub(super) fn run(self, opened: oneshot::Sender<Result<()>>) -> Result<()> {
        let ending = Ending(self.shared.clone());
        let mut reader = match self.open() {
            Ok(reader) => reader,
            Err(error) => {
                // First, because the source may be opened again as soon as the error is read.
                drop(ending);
                let _ = opened.send(Err(error));
                return Ok(());
            }
        };
        let _ = opened.send(Ok(()));
        loop {
            let pause = match self.read(&reader) {
                Over::Stopped => return self.finish(&reader),
                Over::Fatal(error) => {
                    let pause = pause_after(&error);
                    tracing::error!(source = &*self.name, %error, "the member of the group is made anew");
                    let mut state = self.shared.state();
                    let all = state.all();
                    state.lose(&all);
                    drop(state);
                    drop(reader);
                    self.shared.fail(error);
                    pause
                }
            };
            reader = match self.reopen(pause) {
                Some(reader) => reader,
                None => return Ok(()),
            };
        }
    }

    fn open(&self) -> Result<Reader> {
        let doing = "Kafka cannot be read";
        let clock = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build();
        let clock = clock.map_err(|e| Error::new(Kind::Unavailable, doing).caused_by(e))?;
        let context = Context {
            name: self.name.clone(),
            shared: self.shared.clone(),
            flush_max: self.options.flush_max(),
            begins: self.options.from,
            dead_letters: self.options.dead_letters.clone(),
            clock,
            is_paused: AtomicBool::new(false),
            transactions: OnceLock::new(),
            broken: Mutex::default(),
        };
        let reader = Reader::from_config_and_context(&self.options.member(), context);
        let reader = reader.map_err(|error| error::map(doing, error))?;
        let described = reader.context().describe(&reader);
        described.map_err(|error| refusal(&reader).unwrap_or(error))?;
        if let Some(transactions) = self.transactions()? {
            // The slot is new with the reader.
            let _ = reader.context().transactions.set(transactions);
        }
        let topics = self.options.address.topics.iter();
        let topics: Vec<&str> = topics.map(String::as_str).collect();
        let subscribed = reader.subscribe(&topics);
        subscribed.map_err(|error| error::map(doing, error))?;
        Ok(reader)
    }

    /// The producer of a member whose commits are transactions.
    fn transactions(&self) -> Result<Option<Transactions>> {
        let Some(id) = &self.options.transactional else {
            return Ok(None);
        };
        let opened = Transactions::open(self.options.address.config(), id);
        let doing = "the broker does not take transactions";
        opened.map(Some).map_err(|error| error::map(doing, error))
    }

    /// Opens again once the last error was read; nothing if it is time to stop.
    fn reopen(&self, pause: Duration) -> Option<Reader> {
        self.shared.wait(pause, |_| false);
        loop {
            self.shared
                .wait(ERROR_READ, |state| state.failure.is_none());
            if self.shared.is_stopping() {
                return None;
            }
            if self.shared.state().failure.is_some() {
                continue;
            }
            match self.open() {
                Ok(reader) => return Some(reader),
                Err(error) => self.shared.fail(error),
            }
        }
    }

    fn read(&self, reader: &Reader) -> Over {
        let (mut committed, mut pause) = (Instant::now(), COMMIT[0]);
        let mut full_since = None;
        loop {
            if self.shared.is_stopping() {
                return Over::Stopped;
            }
            if committed.elapsed() >= pause {
                pause = match self.commit(reader) {
                    Ok(()) => COMMIT[0],
                    Err(_) => COMMIT[1].min(pause * 2),
                };
                committed = Instant::now();
            }
            if let Some(broken) = reader.context().take_broken() {
                return Over::Fatal(broken);
            }
            if !self.may_poll(reader, &mut full_since) {
                continue;
            }
            if let Err(fatal) = self.poll(reader) {
                return Over::Fatal(fatal);
            }
        }
    }

    /// Waits for room and pauses or resumes; whether it is time to poll.
    fn may_poll(&self, reader: &Reader, full_since: &mut Option<Instant>) -> bool {
        let state = self.shared.state();
        let (is_full, is_half_empty) = (state.is_full(), state.is_half_empty());
        drop(state);
        let is_paused = reader.context().is_paused.load(Ordering::Relaxed);
        if !is_full {
            *full_since = None;
            if is_paused && is_half_empty {
                self.pause(reader, false);
            }
            return true;
        }
        if is_paused {
            return true;
        }
        let since = full_since.get_or_insert_with(Instant::now);
        if since.elapsed() < PATIENCE {
            self.shared.wait(POLL, |state| !state.is_full());
            return false;
        }
        self.pause(reader, true);
        true
    }

    fn pause(&self, reader: &Reader, is_paused: bool) {
        let changed = reader.assignment().and_then(|all| match is_paused {
            true => reader.pause(&all),
            false => reader.resume(&all),
        });
        if let Err(error) = changed {
            tracing::warn!(source = &*self.name, %error, is_paused, "partitions cannot be paused or resumed");
        }
        tracing::debug!(
            source = &*self.name,
            is_paused,
            "the buffer decides whether partitions are read"
        );
        reader
            .context()
            .is_paused
            .store(is_paused, Ordering::Relaxed);
    }

    /// Takes what there is, at most a chunk; an error only if this consumer is worth nothing any more.
    fn poll(&self, reader: &Reader) -> Result<()> {
        let mut found = Vec::new();
        let mut wait = POLL;
        while found.len() < CHUNK {
            let Some(polled) = reader.poll(wait) else {
                break;
            };
            wait = Duration::ZERO;
            match polled {
                Ok(message) => found.extend(self.message(&message)),
                Err(error) => self.failed(reader, error)?,
            }
        }
        if !found.is_empty() {
            self.push(reader, found);
        }
        Ok(())
    }

    fn message(&self, message: &BorrowedMessage<'_>) -> Option<(At, i64, Raw)> {
        let mut topics = self.options.address.topics.iter();
        let topic = topics.position(|known| known == message.topic())?;
        let at = (topic, message.partition());
        Some((at, message.offset(), read::raw(message)))
    }

    fn push(&self, reader: &Reader, found: Vec<(At, i64, Raw)>) {
        let mut state = self.shared.state();
        for (at, offset, raw) in found {
            if state.is_rewound(at, offset) {
                drop(state);
                tracing::warn!(
                    source = &*self.name,
                    offset,
                    "the broker goes back in a partition; it counts as another one"
                );
                if let Err(error) = reader.context().describe(reader) {
                    tracing::warn!(source = &*self.name, %error, "the ids of topics cannot be read");
                }
                state = self.shared.state();
                state.assign(&[at]);
            }
            state.push(at, offset, raw);
        }
        drop(state);
        self.shared.ready.notify_one();
    }

    /// Says an error that people should see; librdkafka goes on by itself after all others.
    fn failed(&self, reader: &Reader, failed: KafkaError) -> Result<()> {
        // The event of a fatal error says only that it is one.
        if let Some((code, why)) = reader.client().fatal_error() {
            let said = format!("Kafka cannot be read: {code}: {why}");
            return Err(Error::new(error::kind(code), said));
        }
        let error = error::map("Kafka cannot be read", failed.clone());
        match error::code(&failed) {
            Some(Code::AllBrokersDown) => self.shared.fail(error),
            _ if !error.is_retryable() => self.shared.fail(error),
            _ => tracing::warn!(source = &*self.name, %error, "librdkafka goes on after an error"),
        }
        Ok(())
    }

    fn commit(&self, reader: &Reader) -> KafkaResult<()> {
        let positions = self.shared.state().positions(Owned::commit);
        let context = reader.context();
        let committed = context.commit(reader, &positions, CommitMode::Async);
        if let Err(error) = &committed {
            tracing::debug!(source = &*self.name, %error, "a commit failed and is made again");
        }
        committed
    }

    /// Commits what is done. A group that is being balanced takes it a moment later.
    fn finish(&self, reader: &Reader) -> Result<()> {
        let mut last: KafkaResult<()> = Ok(());
        for _ in 0..LAST_TRIES {
            let positions = self.shared.state().positions(Owned::commit_last);
            last = reader
                .context()
                .commit(reader, &positions, CommitMode::Sync);
            let passes = |code| error::kind(code).is_retryable();
            match &last {
                Err(error) if error::code(error).is_some_and(passes) => {
                    // Callbacks of the group run here; messages are dropped, and come again.
                    drop(reader.poll(POLL));
                }
                _ => break,
            }
        }
        last.map_err(|error| error::map("what was acknowledged cannot be committed", error))
    }
}

/// How long a member waits before it is made anew. One that was fenced by another of its name would fence that one in turn.
fn pause_after(error: &Error) -> Duration {
    match error.is_retryable() {
        true => Duration::ZERO,
        false => FENCED,
    }
}

/// Why the broker does not let us in, if that is the reason for its silence.
fn refusal(reader: &Reader) -> Option<Error> {
    // Lines of the log come the same way and end a poll without an event.
    let mut polls = (0..REFUSAL_POLLS).map(|_| reader.poll(Duration::from_millis(5)));
    polls.find_map(|event| {
        let error = error::map("the broker refuses us", event?.err()?);
        (!error.is_retryable()).then_some(error)
    })
}
