//! Brings the deliveries of one source into the inbox.

use std::sync::Arc;
use std::time::Duration;

use crate::policy::Ack;
use semel_core::Scope;
use semel_core::inbox::{Message, Receipt};
use semel_core::store::Answer;
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::keeper::{self, Kept};
use super::open::{Open, Ref};
use super::{Batch, Delivery, Rule, Source};
use crate::engine::{ActiveConsumer, Stopping, is_settled};
use crate::pause;
use crate::receiver::Receiver;

/// The most deliveries that are asked for at once.
const BATCH: usize = 500;
/// The pause after something failed, at first.
const PAUSE: Duration = Duration::from_millis(100);

/// A source, whose messages they are, and how they are found in what it delivers.
pub(crate) struct Feed {
    pub(crate) consumer: Scope,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) rule: Rule,
}

/// The task of one source.
pub(crate) struct Pump {
    feed: Feed,
    receiver: Receiver,
    active: Arc<ActiveConsumer>,
    open: Arc<Open>,
    stopping: Stopping,
    /// Nothing more will be dealt with here.
    drained: Stopping,
}

impl Pump {
    pub(crate) fn new(
        feed: Feed,
        receiver: Receiver,
        active: Arc<ActiveConsumer>,
        stopping: Stopping,
        drained: Stopping,
    ) -> Self {
        let open = Arc::new(Open::new(feed.source.clone()));
        Self {
            feed,
            receiver,
            active,
            open,
            stopping,
            drained,
        }
    }

    pub(crate) fn open(&self) -> Arc<Open> {
        self.open.clone()
    }

    pub(crate) async fn run(self) {
        let (keep, kept) = mpsc::unbounded_channel();
        let keeper = keeper::run(self.open.clone(), kept, self.drained.clone());
        tokio::join!(self.pump(keep), keeper);
        // What is still open was not dealt with here; whoever gets it next finds it in the inbox.
        self.open.give_back().await;
    }

    async fn pump(&self, keep: mpsc::UnboundedSender<Kept>) {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            () = stopping.stopped() => return,
            () = self.resume() => {}
        }
        loop {
            let batch = tokio::select! {
                biased;
                () = stopping.stopped() => return,
                batch = self.next() => batch,
            };
            let is_end = batch.end;
            tokio::select! {
                // Not biased towards stopping: what can be stored at once is.
                () = self.take_in(batch, &keep) => {}
                () = stopping.stopped() => return,
            }
            if is_end {
                let source = self.feed.source.name();
                tracing::info!(source, consumer = %self.feed.consumer, "a source has come to its end");
                return;
            }
        }
    }

    /// Where the store says the source stands.
    async fn resume(&self) {
        self.insist("a source cannot be resumed", || {
            Box::pin(async {
                let position = self
                    .active
                    .shared
                    .inbox
                    .position(self.position_name())
                    .await?;
                self.feed.source.resume(position).await
            })
        })
        .await;
    }

    /// The next deliveries. While too much waits already, the source is not asked, and keeps what it has.
    async fn next(&self) -> Batch {
        let backlog = &self.active.backlog;
        if backlog.is_full() {
            let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
            tracing::warn!(source, %consumer, "the backlog is full; the source waits until some of it is done");
            backlog.has_room().await;
        }
        let room = self.open.room().await.min(BATCH).min(backlog.room());
        self.insist("a source cannot be read", || self.feed.source.next(room))
            .await
    }

    /// Stores a batch, and answers what can be answered.
    async fn take_in(&self, batch: Batch, keep: &mpsc::UnboundedSender<Kept>) {
        let (messages, open) = self.messages(batch.deliveries).await;
        let position = batch.position.map(|at| (self.position_name(), at));
        if messages.is_empty() && position.is_none() {
            return;
        }
        let after_effect = self.receiver.consumer().ack == Ack::AfterEffect;
        // Before they are stored, because they may be dealt with before that returns.
        let waiters: Vec<_> = match after_effect {
            true => messages
                .iter()
                .map(|message| Some(self.active.shared.finals.waiter(message.identity())))
                .collect(),
            false => messages.iter().map(|_| None).collect(),
        };
        let receipts = self
            .insist(
                "deliveries cannot be stored, nothing is acknowledged",
                || {
                    let (messages, position) = (messages.clone(), position.clone());
                    Box::pin(self.receiver.receive_to(messages, position))
                },
            )
            .await;
        let mut done = Vec::new();
        for ((open, waiter), receipt) in open.into_iter().zip(waiters).zip(receipts) {
            match waiter {
                Some(waiter) if !is_at_rest(receipt) => {
                    // Without a keeper the engine is stopping, and gives it back.
                    let _ = keep.send(Kept { open, waiter });
                }
                _ => done.push(open),
            }
        }
        self.open.ack(done).await;
    }

    /// The messages of the deliveries; what is none is set aside.
    async fn messages(&self, deliveries: Vec<Delivery>) -> (Vec<Message>, Vec<Ref>) {
        let (mut messages, mut open) = (Vec::new(), Vec::new());
        for Delivery { raw, handle } in deliveries {
            let delivery = self.open.add(handle.clone());
            match self.feed.rule.message(self.receiver.consumer(), raw) {
                Ok(message) => {
                    messages.push(message);
                    open.push(delivery);
                }
                Err(refusal) => {
                    let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
                    tracing::warn!(source, %consumer, %refusal, "a delivery is no message and is set aside");
                    self.insist("a delivery cannot be set aside", || {
                        let reason = refusal.to_string();
                        self.feed.source.reject(handle.clone(), reason)
                    })
                    .await;
                    self.open.close(delivery);
                }
            }
        }
        (messages, open)
    }

    /// Tries until it succeeds; whoever calls it stops it.
    async fn insist<'a, T>(&self, what: &'static str, act: impl Fn() -> Answer<'a, T>) -> T {
        let mut wait = PAUSE;
        loop {
            match act().await {
                Ok(done) => return done,
                Err(error) => {
                    let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
                    tracing::warn!(source, %consumer, %error, "{what}");
                }
            }
            sleep(wait).await;
            wait = pause::longer(wait);
        }
    }

    /// Two consumers of one source have two positions.
    fn position_name(&self) -> String {
        format!("{} {}", self.feed.consumer, self.feed.source.name())
    }
}

/// Whether nothing more need happen before a delivery is acknowledged: its message is dealt with, or kept among the dead letters.
fn is_at_rest(receipt: Receipt) -> bool {
    match receipt {
        Receipt::Stored { state } | Receipt::Duplicate { state } => is_settled(state),
        Receipt::Conflict => true,
    }
}
