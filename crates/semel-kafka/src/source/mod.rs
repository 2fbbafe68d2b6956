//! The source: a member of a consumer group.
//!
//! `member` is the thread that reads, `context` what it does when the group is balanced anew, `state` what it shares with the pump, `owned` one
//! partition, `begin` where a group begins, `transactions` commits that publish something. Offsets are committed by this crate alone: librdkafka neither commits nor stores any.

mod begin;
mod context;
mod member;
mod options;
mod owned;
mod publication;
mod read;
mod shared;
mod state;
mod transactions;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use semel_core::store::Answer;
use semel_core::{Error, Kind, Result};
use semel_inbox::Source;
use semel_inbox::source::{Event, Facts, Handle, Partition, Position, Settle, Settled, Want};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until, timeout};

pub(crate) use options::{From, Options};
pub(crate) use publication::Publication;

use crate::facts::Inspector;
use member::Member;
use shared::Shared;

/// How long `close` waits for the last commit and for the group to be left.
const CLOSE_MAX: Duration = Duration::from_secs(20);

type Ended = oneshot::Receiver<Result<()>>;

/// Topics of Kafka that are read as a member of a consumer group.
///
/// It is read by a thread of its own from [`Source::open`] on. Dropping it without [`Source::close`] does not block: the thread commits what was
/// acknowledged, leaves the group and ends by itself.
pub struct KafkaSource {
    name: Arc<str>,
    options: Options,
    shared: Arc<Shared>,
    ended: Mutex<Option<Ended>>,
    inspector: Inspector,
}

impl std::fmt::Debug for KafkaSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KafkaSource")
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

impl KafkaSource {
    /// The source that a URL names; `consumer` is the group unless the URL names one. Nothing is connected yet.
    ///
    /// # Errors
    /// A URL that is none of Kafka, or options that are unknown or out of bounds.
    pub fn from_url(url: &str, consumer: &str) -> Result<Self> {
        Options::parse(url, consumer).map(Self::new)
    }

    pub(crate) fn new(options: Options) -> Self {
        let topics = &options.address.topics;
        Self {
            name: format!("kafka:{}", topics.join(",")).into(),
            shared: Arc::new(Shared::new(topics, options.from)),
            ended: Mutex::default(),
            inspector: Inspector::new(options.clone()),
            options,
        }
    }

    /// Acknowledges a delivery together with what is published because of it; for members whose commits are transactions.
    pub(crate) fn publish_and_ack(
        &self,
        handle: &Handle,
        publications: Vec<Publication>,
    ) -> Settled {
        let settled = self.shared.state().publish_and_ack(handle, publications);
        self.shared.ready.notify_one();
        settled
    }

    /// Whether a delivery can still be acknowledged, and its partition stays ours as far as is known.
    pub(crate) fn holds(&self, handle: &Handle) -> bool {
        self.shared.state().holds(handle)
    }

    /// Whether more may be published without holding up deliveries.
    pub(crate) fn has_room_to_publish(&self) -> bool {
        self.shared.state().has_room_to_publish()
    }

    /// Publishes with the next commit of a partition of the first topic, if it is ours.
    pub(crate) fn publish(&self, partition: i32, publications: Vec<Publication>) {
        self.shared.state().publish((0, partition), publications);
    }

    /// A partition of the first topic is ours, without a broker.
    #[cfg(test)]
    pub(crate) fn assign_by_hand(&self, number: i32) {
        let mut state = self.shared.state();
        state.is_running = true;
        state.assign(&[(0, number)]);
    }

    /// A message was read, without a broker.
    #[cfg(test)]
    pub(crate) fn feed_by_hand(&self, number: i32, offset: i64, raw: semel_inbox::source::Raw) {
        self.shared.state().push((0, number), offset, raw);
    }

    /// The topics of what waits to be published, sorted.
    #[cfg(test)]
    pub(crate) fn published_by_hand(&self) -> Vec<String> {
        let (queued, _) = self.shared.state().take_publications(&[]);
        let topics = queued.iter().map(|one| one.publication.topic.to_string());
        let mut topics: Vec<String> = topics.collect();
        topics.sort_unstable();
        topics
    }

    /// Starts the thread; what it says once it has opened, or nothing if it runs already.
    fn start(&self) -> Result<Option<oneshot::Receiver<Result<()>>>> {
        let mut state = self.shared.state();
        if state.is_running {
            return Ok(None);
        }
        state.is_running = true;
        state.is_stopping = false;
        state.failure = None;
        drop(state);
        let member = Member {
            name: self.name.clone(),
            options: self.options.clone(),
            shared: self.shared.clone(),
        };
        let ((opened, opening), (end, ended)) = (oneshot::channel(), oneshot::channel());
        let thread = std::thread::Builder::new().name("semel-kafka".to_owned());
        let started = thread.spawn(move || {
            // Without a receiver the source was dropped.
            let _ = end.send(member.run(opened));
        });
        if let Err(error) = started {
            self.shared.state().is_running = false;
            let why = "the thread that reads Kafka cannot be started";
            return Err(Error::new(Kind::Unavailable, why).caused_by(error));
        }
        let mut slot = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some(ended);
        Ok(Some(opening))
    }

    async fn open(&self) -> Result<()> {
        if let Some(opening) = self.start()? {
            opening.await.unwrap_or_else(|_| Err(ended_early()))?;
            self.shared.state().is_crashed = false;
        }
        Ok(())
    }

    async fn next(&self, want: Want) -> Result<Event> {
        let is_to_open = self.shared.state().is_to_open();
        if is_to_open {
            self.open().await?;
        }
        loop {
            let ready = self.shared.ready.notified();
            let (taken, due) = self.take(want);
            if let Some(event) = taken {
                return event;
            }
            match due {
                None => ready.await,
                Some(due) => tokio::select! {
                    () = ready => {}
                    () = sleep_until(due) => {}
                },
            }
        }
    }

    /// What there is to say now, and when that changes by itself.
    fn take(&self, want: Want) -> (Option<Result<Event>>, Option<Instant>) {
        let mut state = self.shared.state();
        let taken = state.take(want, Instant::now());
        let due = state.due().filter(|_| want.count > 0);
        drop(state);
        if taken.is_some() {
            self.shared.wake_reader();
            // What is left must not wait for the next signal.
            self.shared.ready.notify_one();
        }
        (taken, due)
    }

    fn settle_all(&self, items: &[(Handle, Settle)]) -> Vec<Settled> {
        let mut state = self.shared.state();
        let now = Instant::now();
        let items = items.iter();
        let settled = items.map(|(handle, how)| state.settle(handle, *how, now));
        let settled = settled.collect();
        drop(state);
        self.shared.ready.notify_one();
        settled
    }

    async fn stop(&self) -> Result<()> {
        let ended = self.ended.lock();
        let ended = ended.unwrap_or_else(PoisonError::into_inner).take();
        self.shared.stop();
        let Some(ended) = ended else {
            return Ok(());
        };
        match timeout(CLOSE_MAX, ended).await {
            Ok(ended) => ended.unwrap_or_else(|_| Err(ended_early())),
            Err(_) => Err(Error::new(
                Kind::Unavailable,
                "the group was not left in time; what was acknowledged last may come again",
            )),
        }
    }
}

fn ended_early() -> Error {
    Error::new(Kind::Internal, "the thread that reads Kafka has ended")
}

impl Source for KafkaSource {
    fn name(&self) -> &str {
        &self.name
    }

    fn open(&self, _: Vec<(Partition, Position)>) -> Answer<'_, ()> {
        Box::pin(self.open())
    }

    fn next(&self, want: Want) -> Answer<'_, Event> {
        Box::pin(self.next(want))
    }

    fn settle(&self, items: Vec<(Handle, Settle)>) -> Answer<'_, Vec<Settled>> {
        Box::pin(async move { Ok(self.settle_all(&items)) })
    }

    fn facts(&self) -> Answer<'_, Facts> {
        Box::pin(async {
            let mut facts = self.inspector.facts().await?;
            let state = self.shared.state();
            if state.is_stuck() {
                let span = state.span();
                facts.warnings.push(format!(
                    "{span} messages are done behind one that is not; nothing more is read until that one is dealt with"
                ));
            }
            if let Some(why) = &state.blocked {
                facts.warnings.push(format!(
                    "nothing is handed out, because the last transaction failed: {why}"
                ));
            }
            Ok(facts)
        })
    }

    fn close(&self) -> Answer<'_, ()> {
        Box::pin(self.stop())
    }
}

impl Drop for KafkaSource {
    fn drop(&mut self) {
        // The thread ends by itself: leaving a group may take as long as the broker takes.
        self.shared.stop();
    }
}
