//! Consumes: one channel after another, and a buffer of what the broker has pushed, which its prefetch bounds.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::{FutureExt, StreamExt};
use lapin::message::Delivery;
use lapin::options::{BasicConsumeOptions, BasicQosOptions};
use lapin::types::FieldTable;
use lapin::{Channel, Consumer};
use semel_core::{Error, Kind, Result};
use semel_inbox::source::{self, Batch, Event, Gone, Handle, Partition, Raw, Want};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::channel::{Chan, Tag};
use super::{Place, message};
use crate::{connection, error, fields};

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
}

/// A channel, and what consumes on it.
type Opened = (Channel, Consumer);

/// A channel that is consumed on.
struct Session {
    chan: Arc<Chan>,
    consumer: Consumer,
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
            if want.count > 0 && !self.buffer.is_empty() {
                return Ok(Event::Batch(self.take(place, want)));
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
        let opening = self
            .opening
            .get_or_insert_with(|| tokio::spawn(consume(place.clone())));
        let opened = opening.await;
        self.opening = None;
        let ended = |error| Error::new(Kind::Internal, "a channel was not opened").caused_by(error);
        let (channel, consumer) = opened.map_err(ended)??;
        self.channels += 1;
        let chan = Arc::new(Chan::new(channel, self.channels));
        self.session = Some(Session { chan, consumer });
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
        match arrived {
            Some(Ok(delivery)) => self.push(place, delivery),
            Some(Err(error)) => self.lose(name, place, &error.to_string()),
            None => self.lose(name, place, "the consumer was cancelled"),
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
        place.held.store(self.buffer.len(), Ordering::Relaxed);
    }

    /// The channel is lost with everything that was delivered on it.
    fn lose(&mut self, name: &str, place: &Place, why: &str) {
        let Some(session) = self.session.take() else {
            return;
        };
        session.chan.lose();
        self.buffer.clear();
        place.held.store(0, Ordering::Relaxed);
        let partition = session.chan.partition.clone();
        tracing::warn!(source = name, %partition, why, "a channel was lost; what was open on it comes again");
        self.gone.push_back(partition);
        // A channel that is open without its consumer would keep what it was given.
        tokio::spawn(async move { connection::close(&session.chan.channel).await });
    }

    fn take(&mut self, place: &Place, want: Want) -> Batch {
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
async fn consume(place: Arc<Place>) -> Result<Opened> {
    let channel = place.connection.channel().await?;
    let what = format!("the queue {:?} cannot be read", place.queue);
    let begun = async {
        channel
            .basic_qos(place.prefetch, BasicQosOptions::default())
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
