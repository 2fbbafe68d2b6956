//! Reads: one pull request after another, a bounded buffer of what has arrived, and what became of the consumer.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::consumer::pull::BatchConfig;
use async_nats::jetstream::{Context, Message};
use async_nats::{StatusCode, Subject, Subscriber};
use futures_util::{FutureExt, StreamExt};
use semel_core::Result;
use semel_inbox::source::{
    Batch, Delivery, Event, Gone, Handle, OPEN_MAX, Partition, Raw, Settle, Want,
};
use tokio::sync::watch;
use tokio::task::unconstrained;
use tokio::time::{Instant, sleep_until};

use super::advisory::{self, LOOKED_UP_MAX};
use super::attach::{self, Found, Incarnation};
use super::settle::Taken;
use super::{Place, message, millis};
use crate::error;

/// How long one pull request waits at the server.
const EXPIRES: Duration = Duration::from_secs(30);
/// How often the server shows that it still knows the request.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// How long the server may be silent while a request is open.
const SILENCE_MAX: Duration = Duration::from_secs(11);
/// The fewest bytes that one request asks for.
const BYTES_MIN: usize = 1024 * 1024;
/// A batch at least this large lets the next one be asked for while it is stored.
const AHEAD_MIN: usize = 100;
/// What the subjects begin with that deliveries are answered on.
const ACK: &str = "$JS.ACK.";
/// The pause after the server refused a request.
const PAUSE: Duration = Duration::from_millis(200);

/// The reading side of the source.
pub(super) struct Reader {
    connected: watch::Receiver<u64>,
    session: Option<Session>,
    buffer: VecDeque<Held>,
    gone: VecDeque<Partition>,
}

/// A consumer that is being read.
struct Session {
    incarnation: Arc<Incarnation>,
    consumer: PullConsumer,
    context: Context,
    inbox: Subject,
    subscriber: Subscriber,
    /// How many messages were asked for and have not come.
    pending: usize,
    heard: Instant,
    /// No request before this moment.
    pause_until: Instant,
    /// The next message is larger than a request may be: it is asked for alone.
    alone: bool,
}

/// A delivery that the pump has not asked for yet.
struct Held {
    raw: Raw,
    /// Whether the message of an advisory is in its place.
    is_looked_up: bool,
    taken: Arc<Taken>,
}

impl Reader {
    pub(super) const fn new(connected: watch::Receiver<u64>) -> Self {
        Self {
            connected,
            session: None,
            buffer: VecDeque::new(),
            gone: VecDeque::new(),
        }
    }

    /// Makes sure that the consumer is there, and that it is the one that was read.
    pub(super) async fn attach(&mut self, place: &Place) -> Result<()> {
        // A call that is dropped or fails leaves the doubt, and one that is raised meanwhile stays.
        place.doubted.store(false, Ordering::Release);
        let doubt = Doubt(&place.doubted);
        self.connected.mark_unchanged();
        let Found {
            consumer,
            context,
            incarnation,
            floor,
        } = match attach::find(place).await {
            Ok(found) => found,
            Err(error) => {
                if !error.is_retryable() {
                    self.lose(place);
                }
                return Err(error);
            }
        };
        let is_same = |session: &Session| session.incarnation.partition == incarnation.partition;
        if self.session.as_ref().is_some_and(is_same) {
            // The server forgets requests with the connection that they came on.
            self.session
                .iter_mut()
                .for_each(|session| session.pending = 0);
            doubt.dispel();
            return Ok(());
        }
        self.lose(place);
        let client = place.connection.client().await?;
        let inbox = Subject::from(client.new_inbox());
        let subscriber = client.subscribe(inbox.clone()).await;
        let subscriber =
            subscriber.map_err(|error| error::away("NATS cannot be subscribed to", error))?;
        place
            .term_ms
            .store(millis(incarnation.term), Ordering::Relaxed);
        let incarnation = Arc::new(incarnation);
        let mut seen = place.seen();
        seen.floor = Some((incarnation.stream_created, floor));
        seen.current = Some(incarnation.clone());
        drop(seen);
        let now = Instant::now();
        self.session = Some(Session {
            incarnation,
            consumer,
            context,
            inbox,
            subscriber,
            pending: 0,
            heard: now,
            pause_until: now,
            alone: false,
        });
        doubt.dispel();
        Ok(())
    }

    /// What comes next. Whatever is taken in stays in the reader until it is returned, so that the call may be dropped.
    pub(super) async fn next(&mut self, place: &Place, want: Want) -> Result<Event> {
        loop {
            if let Some(partition) = self.gone.pop_front() {
                return Ok(Event::Gone(Gone {
                    partitions: vec![partition],
                    flushed: None,
                }));
            }
            if self.session.is_none() || place.doubted.load(Ordering::Acquire) {
                let attached = self.attach(place).await;
                if !self.gone.is_empty() {
                    continue;
                }
                attached?;
            }
            self.drain(place);
            if want.count > 0 && !self.buffer.is_empty() {
                if want.count >= AHEAD_MIN && self.buffer.len() >= want.count {
                    self.pull(want).await?;
                }
                if !place.wanted.advisories {
                    return Ok(Event::Batch(self.take(want)));
                }
                let count = want.count.min(LOOKED_UP_MAX);
                self.look_up(count).await?;
                return Ok(Event::Batch(self.take(Want { count, ..want })));
            }
            self.pull(want).await?;
            self.wait(place, want).await?;
        }
    }

    /// Puts messages in the place of the advisories about them. Each stays where it is until its message is there.
    async fn look_up(&mut self, count: usize) -> Result<()> {
        let Some(session) = &self.session else {
            return Ok(());
        };
        let advisories = self.buffer.iter_mut().take(count);
        for held in advisories.filter(|held| !held.is_looked_up) {
            held.raw = advisory::original(&session.context, held.raw.clone()).await?;
            held.is_looked_up = true;
        }
        Ok(())
    }

    /// Ends reading; what was taken and not delivered, to be given back.
    pub(super) fn close(&mut self, place: &Place) -> Vec<(Handle, Settle)> {
        self.drain(place);
        self.session = None;
        let unread = self.buffer.drain(..);
        let back = |held: Held| (Handle::new(held.taken), Settle::Back(Duration::ZERO));
        unread.map(back).collect()
    }

    /// The consumer is not there any more: its deliveries are worthless.
    fn lose(&mut self, place: &Place) {
        let Some(session) = self.session.take() else {
            return;
        };
        session.incarnation.lose();
        place.seen().current = None;
        self.buffer.clear();
        self.gone.push_back(session.incarnation.partition.clone());
    }

    /// Takes in what has arrived, and forgets what has waited so long that the server delivers it again.
    fn drain(&mut self, place: &Place) {
        while let Some(session) = &mut self.session {
            // The runtime's budget for one turn of a task would cut a batch short; what has arrived is bounded by what was asked for.
            let next = unconstrained(session.subscriber.next());
            match next.now_or_never().flatten() {
                Some(message) => self.took(place, message),
                None => break,
            }
        }
        let now = Instant::now();
        self.buffer.retain(|held| held.taken.until() > now);
    }

    fn take(&mut self, want: Want) -> Batch {
        let (mut deliveries, mut bytes) = (Vec::new(), 0);
        while let Some(held) = self.buffer.front() {
            let more = held.raw.bytes();
            if want.is_met(deliveries.len(), bytes, more) {
                break;
            }
            bytes += more;
            let Some(held) = self.buffer.pop_front() else {
                break;
            };
            let partition = held.taken.of.partition.clone();
            deliveries.push(Delivery {
                raw: held.raw,
                handle: Handle::new(held.taken),
                partition,
            });
        }
        Batch::of(deliveries)
    }

    /// Asks the server for more if little is on its way.
    async fn pull(&mut self, want: Want) -> Result<()> {
        let now = Instant::now();
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        let wanted = want.count.min(OPEN_MAX);
        if wanted == 0 || session.pending * 2 >= wanted || now < session.pause_until {
            return Ok(());
        }
        let config = session.request(wanted - session.pending, want.bytes.max(BYTES_MIN));
        let count = config.batch;
        let sent = session
            .consumer
            .request_batch(config, session.inbox.clone())
            .await;
        sent.map_err(|error| error::away("NATS cannot be asked for messages", error))?;
        if session.pending == 0 {
            session.heard = now;
        }
        session.pending += count;
        session.alone = false;
        Ok(())
    }

    /// Waits until something may have changed.
    async fn wait(&mut self, place: &Place, want: Want) -> Result<()> {
        let wake = self.wake(want);
        let Some(session) = &mut self.session else {
            return Ok(());
        };
        let message = tokio::select! {
            message = session.subscriber.next() => message,
            _ = self.connected.changed() => {
                place.doubted.store(true, Ordering::Release);
                return Ok(());
            }
            () = place.doubt.notified() => return Ok(()),
            () = sleep_until(wake) => {
                self.woke(place).await;
                return Ok(());
            }
        };
        match message {
            Some(message) => self.took(place, message),
            None => {
                self.session = None;
                return Err(error::away(
                    "NATS cannot be read",
                    "the connection was closed",
                ));
            }
        }
        Ok(())
    }

    /// When to look again though nothing has arrived.
    fn wake(&self, want: Want) -> Instant {
        let mut wake = Instant::now() + EXPIRES;
        if let Some(session) = &self.session {
            if session.pending > 0 {
                wake = wake.min(session.heard + SILENCE_MAX);
            } else if want.count > 0 {
                wake = wake.min(session.pause_until);
            }
            if let Some(first) = self.buffer.iter().map(|held| held.taken.until()).min() {
                wake = wake.min(first - session.incarnation.term / 2);
            }
        }
        wake
    }

    /// The time has come to look: for a server that is silent, and for leases of what waits here.
    async fn woke(&mut self, place: &Place) {
        let now = Instant::now();
        let Some(session) = &mut self.session else {
            return;
        };
        if session.pending > 0 && now >= session.heard + SILENCE_MAX {
            place.doubted.store(true, Ordering::Release);
        }
        let Ok(client) = place.connection.client().await else {
            return;
        };
        let term = session.incarnation.term;
        for held in &self.buffer {
            let taken = &held.taken;
            let due = now + term / 2 >= taken.until() && now < taken.until();
            // Not confirmed: an extension that is lost makes a duplicate, which the record recognises.
            if due
                && client
                    .publish(taken.reply.clone(), "+WPI".into())
                    .await
                    .is_ok()
            {
                taken.set_until(now + term);
            }
        }
    }

    /// A message has arrived: a delivery, or the server's word about a request.
    fn took(&mut self, place: &Place, message: async_nats::Message) {
        let Some(session) = &mut self.session else {
            return;
        };
        let now = Instant::now();
        session.heard = now;
        if let Some(status) = message.status.filter(|_| !is_delivery(&message)) {
            if session.is_consumer_doubted(status, &message, now) {
                place.doubted.store(true, Ordering::Release);
            }
            return;
        }
        let message = Message {
            message,
            context: session.context.clone(),
        };
        let raw = message::raw(&message, &session.incarnation.coordinates);
        let (Some(raw), Some(reply)) = (raw, message.message.reply) else {
            return;
        };
        session.pending = session.pending.saturating_sub(1);
        let taken = Arc::new(Taken::new(reply, session.incarnation.clone(), now));
        self.buffer.push_back(Held {
            raw,
            is_looked_up: false,
            taken,
        });
    }
}

/// Whether it comes from the stream. A producer may give a message a status line of its own, so that the status does not tell.
fn is_delivery(message: &async_nats::Message) -> bool {
    let reply = message.reply.as_ref();
    reply.is_some_and(|reply| reply.starts_with(ACK))
}

/// A doubt that is being looked into; it is there again if that does not come to its end.
struct Doubt<'a>(&'a AtomicBool);

impl Doubt<'_> {
    fn dispel(self) {
        std::mem::forget(self);
    }
}

impl Drop for Doubt<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Release);
    }
}

impl Session {
    /// A request for so much, within the limits of the consumer.
    fn request(&self, count: usize, bytes: usize) -> BatchConfig {
        let limits = &self.consumer.cached_info().config;
        let at_most = |wanted: usize, limit: i64| match usize::try_from(limit) {
            Ok(limit) if limit > 0 => wanted.min(limit),
            _ => wanted,
        };
        let expires = match limits.max_expires {
            limit if limit.is_zero() => EXPIRES,
            limit => EXPIRES.min(limit),
        };
        let (count, bytes) = match self.alone {
            true => (1, 0),
            false => (count, bytes),
        };
        BatchConfig {
            batch: at_most(count, limits.max_batch),
            max_bytes: at_most(bytes, limits.max_bytes),
            expires: Some(expires),
            idle_heartbeat: HEARTBEAT.min(expires / 2),
            ..BatchConfig::default()
        }
    }

    /// What the server says about a request; whether the consumer may be gone.
    fn is_consumer_doubted(
        &mut self,
        status: StatusCode,
        message: &async_nats::Message,
        now: Instant,
    ) -> bool {
        let says = message.description.as_deref().unwrap_or_default();
        let says = says.to_ascii_lowercase();
        // A request that was met ends with a word of its own: all that it asked for has come.
        if status == StatusCode::IDLE_HEARTBEAT || says.contains("batch completed") {
            return false;
        }
        let unsent = message.headers.as_ref();
        let unsent = unsent.and_then(|headers| headers.get("Nats-Pending-Messages"));
        let unsent = unsent.and_then(|count| count.as_str().parse().ok());
        let unsent = unsent.unwrap_or(self.pending);
        self.pending = self.pending.saturating_sub(unsent);
        if status == StatusCode::NOT_FOUND || status == StatusCode::TIMEOUT {
            return false;
        }
        if says.contains("exceeds maxbytes") {
            self.alone = true;
            return false;
        }
        tracing::debug!(says, "a request for messages was refused");
        self.pause_until = now + PAUSE;
        true
    }
}
