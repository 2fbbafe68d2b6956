//! Consumes: one channel after another, and a buffer of what the broker has pushed, which its prefetch bounds.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::{FutureExt, StreamExt};
use lapin::message::Delivery;
use lapin::options::{BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Consumer, ErrorKind};
use semel_core::{Error, Kind, Result};
use semel_inbox::source::{self, Batch, Event, Gone, Handle, Partition, Raw, Want};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::channel::{Chan, Tag};
use super::{Place, message};
use crate::{connection, error, fields};

/// How many deliveries are read one at a time after one that could not be decoded.
const CAREFUL: usize = 100;

/// The reading side of the source.
#[derive(Default)]
pub(super) struct Reader {
    session: Option<Session>,
    buffer: VecDeque<Held>,
    gone: VecDeque<Partition>,
    /// How many channels there were.
    channels: u64,
    /// A channel that is being opened, on a task of its own: a call that is dropped half-way would leave one behind that the broker delivers to and
    /// that is never read.
    opening: Option<JoinHandle<Result<Opened>>>,
    /// Why a channel was lost of which nothing was handed out: an error instead of a loss, so that the pump's pauses grow if it happens again and again.
    failed: Option<Error>,
    /// How many deliveries are still to be read one at a time, because one could not be decoded. The connection dies of such a one, and the queue
    /// counts a delivery for everything that was pushed with it, up to the limit where a quorum queue drops it.
    careful: usize,
}

/// A channel, and what consumes on it.
type Opened = (Channel, Consumer);

/// A channel that is consumed on.
struct Session {
    chan: Arc<Chan>,
    consumer: Consumer,
    /// Whether something of it was handed out.
    is_taken: bool,
    /// Whether it reads one at a time.
    is_careful: bool,
}

/// A delivery that the pump has not asked for yet.
struct Held {
    raw: Raw,
    tag: u64,
    chan: Arc<Chan>,
}

impl Reader {
    /// What comes next. Whatever is taken in stays in the reader until it is returned, so that the call may be dropped.
    pub(super) async fn next(
        &mut self,
        name: &str,
        place: &Arc<Place>,
        want: Want,
    ) -> Result<Event> {
        loop {
            self.drain(name, place);
            if let Some(partition) = self.gone.pop_front() {
                return Ok(Event::Gone(Gone {
                    partitions: vec![partition],
                    flushed: None,
                }));
            }
            if let Some(error) = self.failed.take() {
                return Err(error);
            }
            if want.count > 0 && !self.buffer.is_empty() {
                return Ok(Event::Batch(self.take(place, want)));
            }
            if self.is_careful_enough() {
                let why =
                    "read one at a time for long enough, a channel with the usual prefetch follows";
                self.lose(name, place, Error::new(Kind::Unavailable, why));
                continue;
            }
            let Some(session) = &mut self.session else {
                if want.count == 0 && self.opening.is_none() {
                    // There is nothing to lose, and nothing is asked for.
                    return std::future::pending().await;
                }
                self.open(place).await?;
                continue;
            };
            let arrived = session.consumer.next().await;
            self.arrived(name, place, arrived);
        }
    }

    /// Ends the channel; the broker queues again what was delivered on it and is not acknowledged.
    pub(super) async fn close(&mut self, place: &Place) {
        self.buffer.clear();
        place.held.store(0, Ordering::Relaxed);
        let limit = place.connection.address().timeout;
        if let Some(opening) = self.opening.take()
            && let Ok(Ok(Ok((channel, _)))) = timeout(limit, opening).await
        {
            let _ = timeout(limit, connection::close(&channel)).await;
        }
        if let Some(session) = self.session.take() {
            session.chan.lose();
            // The broker's answer comes after everything that was acknowledged on the channel.
            let _ = timeout(limit, connection::close(&session.chan.channel)).await;
        }
    }

    /// Opens a channel and consumes on it; a call that is dropped is gone on with by the next one.
    async fn open(&mut self, place: &Arc<Place>) -> Result<()> {
        let is_careful = self.careful > 0;
        let prefetch = if is_careful { 1 } else { place.prefetch };
        let opening = self
            .opening
            .get_or_insert_with(|| tokio::spawn(consume(place.clone(), prefetch)));
        let opened = opening.await;
        self.opening = None;
        let ended = |error| Error::new(Kind::Internal, "a channel was not opened").caused_by(error);
        let (channel, consumer) = opened.map_err(ended)??;
        self.channels += 1;
        let chan = Arc::new(Chan::new(channel, self.channels));
        self.session = Some(Session {
            chan,
            consumer,
            is_taken: false,
            is_careful,
        });
        Ok(())
    }

    /// Takes in what has arrived, without waiting.
    fn drain(&mut self, name: &str, place: &Place) {
        while let Some(session) = &mut self.session {
            match session.consumer.next().now_or_never() {
                Some(arrived) => self.arrived(name, place, arrived),
                None => return,
            }
        }
    }

    /// The broker has pushed something, or has ended the channel or the consumer.
    fn arrived(&mut self, name: &str, place: &Place, arrived: Option<lapin::Result<Delivery>>) {
        let what = || format!("the queue {:?} cannot be read", place.queue);
        match arrived {
            Some(Ok(delivery)) => self.push(place, delivery),
            Some(Err(error)) if matches!(error.kind(), ErrorKind::ParsingError(_)) => {
                self.careful = CAREFUL;
                let what = format!("{}, a delivery cannot be decoded", what());
                self.lose(name, place, error::of(&what, &error));
            }
            // Whatever the broker's code: a channel may be opened again, and if not, that says why.
            Some(Err(error)) => self.lose(name, place, error::away(&what(), error)),
            None => self.lose(
                name,
                place,
                error::away(&what(), "the consumer was cancelled"),
            ),
        }
    }

    fn push(&mut self, place: &Place, delivery: Delivery) {
        let Some(session) = &self.session else {
            return;
        };
        let (tag, chan) = (delivery.delivery_tag, session.chan.clone());
        chan.delivered(tag);
        if fields::delivered_before(&delivery.properties).is_some() {
            place.counts.store(true, Ordering::Relaxed);
        }
        let raw = message::raw(&place.queue, delivery);
        self.buffer.push_back(Held { raw, tag, chan });
        self.careful = self.careful.saturating_sub(1);
        place.held.store(self.buffer.len(), Ordering::Relaxed);
    }

    /// The channel is lost with everything that was delivered on it.
    fn lose(&mut self, name: &str, place: &Place, why: Error) {
        let Some(session) = self.session.take() else {
            return;
        };
        session.chan.lose();
        self.buffer.clear();
        place.held.store(0, Ordering::Relaxed);
        let partition = session.chan.partition.clone();
        tracing::warn!(source = name, %partition, %why, "a channel was lost; what was open on it comes again");
        match session.is_taken {
            true => self.gone.push_back(partition),
            false => self.failed = Some(why),
        }
        // A channel that is open without its consumer would keep what it was given.
        tokio::spawn(async move { connection::close(&session.chan.channel).await });
    }

    /// Whether so many deliveries were read one at a time that the rest can be read as usual.
    fn is_careful_enough(&self) -> bool {
        let is_careful = |session: &Session| session.is_careful;
        self.careful == 0 && self.buffer.is_empty() && self.session.as_ref().is_some_and(is_careful)
    }

    fn take(&mut self, place: &Place, want: Want) -> Batch {
        if let Some(session) = &mut self.session {
            session.is_taken = true;
        }
        let (mut deliveries, mut bytes) = (Vec::new(), 0);
        while let Some(held) = self.buffer.front() {
            let more = held.raw.bytes();
            if want.is_met(deliveries.len(), bytes, more) {
                break;
            }
            bytes += more;
            let Some(Held {
                raw,
                tag: number,
                chan,
            }) = self.buffer.pop_front()
            else {
                break;
            };
            let partition = chan.partition.clone();
            deliveries.push(source::Delivery {
                raw,
                handle: Handle::new(Tag {
                    chan: Arc::downgrade(&chan),
                    number,
                }),
                partition,
            });
        }
        place.held.store(self.buffer.len(), Ordering::Relaxed);
        Batch::of(deliveries)
    }
}

/// A channel that the broker delivers to.
async fn consume(place: Arc<Place>, prefetch: u16) -> Result<Opened> {
    let channel = place.connection.channel().await?;
    let what = format!("the queue {:?} cannot be read", place.queue);
    let begun = async {
        channel
            .basic_qos(prefetch, BasicQosOptions::default())
            .await?;
        let tag = format!("semel-{}-{}", place.consumer, channel.id());
        let options = BasicConsumeOptions::default();
        let queue = place.queue.as_str().into();
        channel
            .basic_consume(queue, tag.into(), options, FieldTable::default())
            .await
    };
    let begun = timeout(place.connection.address().timeout, begun).await;
    let begun = begun.map_err(|_| error::away(&what, "no answer in time"))?;
    let consumer = begun.map_err(|error| error::of(&what, &error))?;
    Ok((channel, consumer))
}
