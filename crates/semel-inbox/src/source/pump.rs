//! Brings the deliveries of one source into the inbox.

mod storing;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use semel_core::inbox::Progress;
use semel_core::store::Answer;
use semel_core::{Error, Scope};
use tokio::sync::{mpsc, watch};
use tokio::time::sleep;

use super::held::{Arrival, Held};
use super::keeper::{self, Kept};
use super::open::{Open, answered};
use super::status::{Seen, SourceState, Status};
use super::trail::Trail;
use super::{Batch, Delivery, Event, Facts, Gone, Partition, Position, Rule, Source, Want};
use crate::engine::{ActiveConsumer, Stopping};
use crate::pause;
use crate::policy::Ack;
use crate::receiver::Receiver;

/// The most deliveries that are asked for at once.
const BATCH: usize = 500;
/// The most bytes that are asked for at once.
const BYTES: usize = 8 * 1024 * 1024;
/// The pause after something failed, at first.
const PAUSE: Duration = Duration::from_millis(100);
/// The pause after something failed in a way that does not pass by itself.
const LONG_PAUSE: Duration = Duration::from_secs(30);

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
    status: Arc<Status>,
    open: Arc<Open>,
    held: Held,
    stopping: Stopping,
    /// Nothing more will be dealt with here.
    drained: Stopping,
    /// The epochs under which the positions of partitions were taken.
    epochs: Mutex<HashMap<Partition, u64>>,
    /// How far each part was read here; nothing for a source whose positions the store keeps, which delivers nothing again.
    trail: Option<Trail>,
    /// Why nothing may be read now: messages would be lost or run twice, by what the broker said last.
    refusal: watch::Sender<Option<String>>,
}

impl Pump {
    pub(crate) fn new(
        feed: Feed,
        receiver: Receiver,
        active: Arc<ActiveConsumer>,
        stopping: Stopping,
        drained: Stopping,
    ) -> Self {
        let status: Arc<Status> = Arc::default();
        let open = Arc::new(Open::new(feed.source.clone(), status.clone()));
        let keeps_positions = !feed.source.kept_partitions().is_empty();
        Self {
            feed,
            receiver,
            active,
            held: Held::new(status.clone()),
            status,
            open,
            stopping,
            drained,
            epochs: Mutex::default(),
            trail: (!keeps_positions).then(Trail::default),
            refusal: watch::Sender::new(None),
        }
    }

    pub(crate) fn open(&self) -> Arc<Open> {
        self.open.clone()
    }

    pub(crate) fn seen(&self) -> Seen {
        let (name, consumer) = (self.feed.source.name(), &self.feed.consumer);
        Seen::new(name, consumer, self.status.clone(), self.open.clone())
    }

    pub(crate) async fn run(self) {
        let (keep, kept) = mpsc::unbounded_channel();
        let keeper = keeper::run(self.open.clone(), kept, self.drained.clone());
        tokio::join!(self.pump(keep), keeper);
        // What is still open was not dealt with here; its next reader finds it in the inbox.
        self.open.give_back().await;
        self.status.set(SourceState::Ended);
        if let Err(error) = answered(self.feed.source.close()).await {
            let source = self.feed.source.name();
            tracing::warn!(source, %error, "a source did not close well; what it had acknowledged may come again");
        }
    }

    async fn pump(&self, keep: mpsc::UnboundedSender<Kept>) {
        let mut stopping = self.stopping.clone();
        tokio::select! {
            () = stopping.stopped() => {}
            () = self.open_source() => {
                tokio::select! {
                    () = self.read(&keep) => {}
                    () = self.watch_facts() => {}
                    () = self.offer_held(&keep) => {}
                }
            }
        }
    }

    /// Reads until the end, or until it is time to stop.
    async fn read(&self, keep: &mpsc::UnboundedSender<Kept>) {
        let mut stopping = self.stopping.clone();
        loop {
            let event = tokio::select! {
                biased;
                () = stopping.stopped() => return,
                event = self.next() => event,
            };
            match event {
                Event::Batch(batch) => tokio::select! {
                    // Before stopping, so that everything that was delivered is open and can be given back.
                    biased;
                    is_owner = self.take_in(batch, keep) => if !is_owner {
                        return;
                    },
                    () = stopping.stopped() => return,
                },
                Event::Gone(gone) => self.lose(gone),
                Event::End => {
                    let source = self.feed.source.name();
                    tracing::info!(source, consumer = %self.feed.consumer, "a source has come to its end");
                    tokio::select! {
                        () = stopping.stopped() => {}
                        () = self.held.is_waiting(false) => {}
                    }
                    return;
                }
            }
        }
    }

    /// Opens the source where the store says that it stands, and hears what its broker says about itself.
    async fn open_source(&self) {
        let opened = "a source cannot be opened";
        self.insist(opened, SourceState::Away, || {
            Box::pin(async {
                let positions = self.positions().await?;
                self.feed.source.open(positions).await
            })
        })
        .await;
        let asked = "a source does not say whether it is safe to read, and is not read";
        self.insist(asked, SourceState::Away, || Box::pin(self.ask_facts()))
            .await;
    }

    /// Makes this process the owner of the positions that the store keeps, and says where they stand.
    async fn positions(&self) -> semel_core::Result<Vec<(Partition, Position)>> {
        let kept = self.feed.source.kept_partitions();
        if kept.is_empty() {
            return Ok(Vec::new());
        }
        // Another reader is not fenced for a source that cannot be read here.
        self.feed.source.facts().await?;
        let names = kept.iter().map(|partition| partition.as_str().to_owned());
        let inbox = &self.active.shared.inbox;
        let taken = inbox.take_positions(self.position_name(), names.collect());
        let taken = taken.await?;
        let mut epochs = self.epochs.lock().unwrap_or_else(PoisonError::into_inner);
        *epochs = kept
            .iter()
            .cloned()
            .zip(taken.iter().map(|one| one.epoch))
            .collect();
        let positions = kept.into_iter().zip(taken);
        let positions =
            positions.filter_map(|(partition, taken)| Some((partition, taken.position?)));
        Ok(positions.collect())
    }

    /// How far the partitions of a batch will have been received.
    fn progress(&self, positions: Vec<(Partition, Position)>) -> Vec<Progress> {
        // The map is replaced whole, so a poisoned lock protects nothing.
        let epochs = self.epochs.lock().unwrap_or_else(PoisonError::into_inner);
        let progress = positions.into_iter().map(|(partition, position)| Progress {
            source: self.position_name(),
            epoch: epochs.get(&partition).copied().unwrap_or_default(),
            partition: partition.as_str().to_owned(),
            position,
        });
        progress.collect()
    }

    /// Asks the broker about itself now and then, for ever. While it does not answer, its last word holds.
    async fn watch_facts(&self) {
        loop {
            sleep(self.active.shared.settings.facts).await;
            if let Err(error) = self.ask_facts().await {
                let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
                tracing::warn!(source, %consumer, %error, "a source does not say how it stands");
            }
        }
    }

    async fn ask_facts(&self) -> semel_core::Result<()> {
        match answered(self.feed.source.facts()).await {
            Ok(facts) => self.weigh(&facts),
            // A broker that refuses to say it will refuse for ever: the consumer is read, and operators hear of it.
            Err(error) if !error.is_retryable() => {
                let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
                tracing::error!(source, %consumer, %error, "a source does not say how long it keeps messages; compare that by hand");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Remembers what the broker said, and whether it can be read.
    fn weigh(&self, facts: &Facts) {
        let policy = self.receiver.consumer();
        let keep = policy.plan.retention.keep();
        let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
        if self.status.learned(facts.clone()) {
            for warning in facts.advice(keep) {
                tracing::warn!(source, %consumer, warning);
            }
        }
        let why = facts.refusal(keep, policy.ack == Ack::AfterEffect);
        self.refusal.send_if_modified(|known| {
            let is_new = *known != why;
            match &why {
                Some(why) if is_new => {
                    tracing::error!(source, %consumer, why, "a source is not read")
                }
                None if is_new => {
                    tracing::info!(source, %consumer, "a source is safe to read again")
                }
                Some(_) | None => {}
            }
            *known = why;
            is_new
        });
    }

    /// The next event. While too much waits already, or the source must not be read, no deliveries are asked for, and the source keeps what it
    /// has.
    async fn next(&self) -> Event {
        loop {
            let want = self.want();
            let next = self.insist("a source cannot be read", SourceState::Away, || {
                self.feed.source.next(want)
            });
            tokio::select! {
                biased;
                event = next => return event,
                // The call is dropped, which loses nothing, and made again with what is wanted now.
                () = self.wants_more(), if want == Want::NOTHING => {}
                () = self.must_stop(), if want != Want::NOTHING => {}
            }
        }
    }

    /// How much may be asked for now; operators see why it is nothing.
    fn want(&self) -> Want {
        let backlog = &self.active.backlog;
        let room = self.open.room();
        let refusal = self.refusal.borrow().clone();
        let state = match refusal {
            Some(why) => SourceState::Refused(why),
            None if self.held.is_full() => {
                SourceState::StoreAway("too many deliveries wait that cannot be stored".to_owned())
            }
            None if backlog.is_full() => SourceState::BacklogFull,
            None => SourceState::Reading,
        };
        let may_read = state == SourceState::Reading && room > 0;
        if self.status.set(state) && backlog.is_full() {
            let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
            tracing::warn!(source, %consumer, "the backlog is full; the source waits until some of it is done");
        }
        match may_read {
            false => Want::NOTHING,
            true => Want {
                count: room.min(BATCH).min(backlog.room()),
                bytes: BYTES,
            },
        }
    }

    async fn wants_more(&self) {
        // The sender is here, so this cannot fail.
        let _ = self.refusal.subscribe().wait_for(Option::is_none).await;
        self.active.backlog.has_room().await;
        self.open.has_room().await;
        self.held.has_room().await;
    }

    /// Waits until the broker says something for which it must not be read.
    async fn must_stop(&self) {
        let _ = self.refusal.subscribe().wait_for(Option::is_some).await;
    }

    /// Stores a batch, and answers what can be answered; whether this process is still the one that reads.
    async fn take_in(&self, batch: Batch, keep: &mpsc::UnboundedSender<Kept>) -> bool {
        Status::count(&self.status.delivered, batch.deliveries.len());
        let mut arrivals = self.arrivals(batch.deliveries);
        let positions = self.progress(batch.positions);
        if arrivals.is_empty() && positions.is_empty() {
            return true;
        }
        match self.store(&mut arrivals, &positions).await {
            Ok(()) => {
                self.deal_with(arrivals, keep).await;
                true
            }
            Err(error) => {
                let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
                tracing::warn!(source, %consumer, %error, "another process reads this source now; this one stops reading it");
                false
            }
        }
    }

    /// The messages of the deliveries, each with its delivery. A delivery may hold several; one that is none is parked as unreadable.
    fn arrivals(&self, deliveries: Vec<Delivery>) -> Vec<Arrival> {
        let after_effect = self.receiver.consumer().ack == Ack::AfterEffect;
        let finals = &self.active.shared.finals;
        let mut arrivals = Vec::new();
        for Delivery {
            mut raw,
            handle,
            partition,
        } in deliveries
        {
            if let Some(trail) = &self.trail
                && trail.follow(&partition, &mut raw)
            {
                self.active.moves.happened();
            }
            let open = self.open.add(handle, partition);
            let found = self.feed.rule.messages(self.receiver.consumer(), &raw);
            for message in found {
                if let Some(why) = message.unreadable() {
                    let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
                    Status::count(&self.status.unreadable, 1);
                    tracing::warn!(source, %consumer, why, "a delivery is no message and is parked as unreadable");
                }
                arrivals.push(Arrival {
                    open,
                    // Before it is stored, because it may be dealt with before that returns.
                    waiter: after_effect.then(|| finals.waiter(message.identity())),
                    message,
                    receipt: None,
                });
            }
        }
        arrivals
    }

    /// Partitions are lost. Everything that was delivered of them before was taken in by now, because events are handled one after another.
    fn lose(&self, gone: Gone) {
        let lost = self.open.lose(&gone.partitions);
        self.forget_lost();
        if let Some(trail) = &self.trail {
            trail.lose(&gone.partitions);
            self.active.moves.happened();
        }
        let (source, partitions) = (self.feed.source.name(), gone.partitions.len());
        tracing::info!(
            source,
            partitions,
            lost,
            "partitions were lost; what was open comes again"
        );
        if let Some(flushed) = gone.flushed {
            // A source that no longer waits goes on by itself.
            let _ = flushed.send(());
        }
    }

    /// Tries until it succeeds; the caller stops it by dropping it.
    async fn insist<'a, T>(
        &self,
        what: &'static str,
        state: impl Fn(String) -> SourceState,
        act: impl Fn() -> Answer<'a, T>,
    ) -> T {
        let mut wait = PAUSE;
        let mut has_failed = false;
        loop {
            match act().await {
                Ok(done) => {
                    if has_failed {
                        self.status.set(SourceState::Reading);
                    }
                    return done;
                }
                Err(error) => self.failed(what, &state, &error, &mut wait),
            }
            has_failed = true;
            sleep(wait).await;
            wait = pause::longer(wait);
        }
    }

    fn failed(
        &self,
        what: &'static str,
        state: &impl Fn(String) -> SourceState,
        error: &Error,
        wait: &mut Duration,
    ) {
        let (source, consumer) = (self.feed.source.name(), &self.feed.consumer);
        self.status.set(state(error.to_string()));
        match error.is_retryable() {
            true => tracing::warn!(source, %consumer, %error, "{what}"),
            false => {
                *wait = LONG_PAUSE;
                tracing::error!(source, %consumer, %error, "{what}");
            }
        }
    }

    /// Two consumers of one source have two positions.
    fn position_name(&self) -> String {
        format!("{} {}", self.feed.consumer, self.feed.source.name())
    }
}
