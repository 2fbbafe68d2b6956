//! What happens when the group is balanced anew.
//!
//! Partitions that go are given up in this order: what was read and not handed out is forgotten; the pump learns that they go, and says when what
//! it has of them is stored; what is done without a hole is committed; only then does the group go on. The wait is bounded, and heartbeats go on
//! meanwhile. Of partitions that were lost already nothing is committed: they may have another owner.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer, ConsumerContext, Rebalance};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::util::Timeout;
use rdkafka::{ClientContext, Offset, TopicPartitionList};
use semel_core::{Error, Kind, Result};
use tokio::runtime::Runtime;
use tokio::time::timeout;

use super::options::From;
use super::publication::Queued;
use super::shared::Shared;
use super::state::At;
use super::transactions::{Ended, Refused, Transactions};
use crate::{error, log};

/// How long the broker may take to say the ids of topics.
const DESCRIBE: Duration = Duration::from_secs(10);

/// What callbacks of the consumer know.
pub(super) struct Context {
    pub(super) name: Arc<str>,
    pub(super) shared: Arc<Shared>,
    pub(super) flush_max: Duration,
    /// Where a group begins that has no offset.
    pub(super) begins: From,
    /// Where what cannot be published goes.
    pub(super) dead_letters: Option<Arc<str>>,
    /// Waits for the pump, with a time limit, in the thread that reads.
    pub(super) clock: Runtime,
    /// Whether partitions are paused, because the buffer is full.
    pub(super) is_paused: AtomicBool,
    /// Commits with what is published because of them, where there is such a thing.
    pub(super) transactions: OnceLock<Transactions>,
    /// Why this member cannot go on: it is not known whether a transaction was committed.
    pub(super) broken: Mutex<Option<Error>>,
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, text: &str) {
        log::line(&self.name, level, facility, text);
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(source = &*self.name, %error, "librdkafka: {reason}");
    }
}

impl ConsumerContext for Context {
    fn pre_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        match rebalance {
            Rebalance::Assign(list) => self.assigned(consumer, &self.places(list)),
            Rebalance::Revoke(list) if consumer.assignment_lost() => self.lost(&self.places(list)),
            Rebalance::Revoke(list) => self.revoked(consumer, &self.places(list)),
            Rebalance::Error(error) => {
                tracing::warn!(source = &*self.name, %error, "the group cannot be balanced");
            }
        }
    }

    fn post_rebalance(&self, consumer: &BaseConsumer<Self>, rebalance: &Rebalance<'_>) {
        let is_paused = self.is_paused.load(Ordering::Relaxed);
        if let Rebalance::Assign(list) = rebalance
            && is_paused
            && let Err(error) = consumer.pause(list)
        {
            tracing::warn!(source = &*self.name, %error, "new partitions cannot be paused");
        }
    }

    fn commit_callback(&self, result: KafkaResult<()>, offsets: &TopicPartitionList) {
        for element in offsets.elements() {
            let failed = result.clone().err().or(element.error().err());
            let (topic, partition) = (element.topic(), element.partition());
            if let Some(error) = &failed {
                tracing::debug!(source = &*self.name, topic, partition, %error, "a commit failed and is made again");
            }
            self.committed(topic, partition, element.offset(), failed.is_none());
        }
    }

    fn main_queue_min_poll_interval(&self) -> Timeout {
        Timeout::After(Duration::from_millis(200))
    }
}

impl Context {
    fn places(&self, list: &TopicPartitionList) -> Vec<At> {
        let state = self.shared.state();
        let elements = list.elements();
        let places = elements.iter();
        places
            .filter_map(|element| state.at(element.topic(), element.partition()))
            .collect()
    }

    fn assigned(&self, consumer: &BaseConsumer<Self>, all: &[At]) {
        if all.is_empty() {
            return;
        }
        if let Err(error) = self.describe(consumer) {
            // What is known of before is used: it is another topic's only if this one was made anew while the broker did not answer.
            tracing::warn!(source = &*self.name, %error, "the ids of topics cannot be read");
        }
        tracing::info!(
            source = &*self.name,
            partitions = all.len(),
            "partitions were assigned"
        );
        self.shared.state().assign(all);
        if self.begins == From::Latest {
            self.begin_at_the_end(consumer, all);
        }
        self.shared.ready.notify_one();
    }

    fn lost(&self, all: &[At]) {
        tracing::warn!(
            source = &*self.name,
            partitions = all.len(),
            "partitions were lost; nothing of them is committed"
        );
        self.shared.state().lose(all);
        self.shared.ready.notify_one();
    }

    fn revoked(&self, consumer: &BaseConsumer<Self>, all: &[At]) {
        let waiting = self.shared.state().start_leaving(all);
        self.shared.ready.notify_one();
        // While the source closes, the pump asks no more.
        if let Some(flushed) = waiting
            && !self.shared.is_stopping()
        {
            let waited = async { timeout(self.flush_max, flushed).await };
            if self.clock.block_on(waited).is_err() {
                let flush_max_ms = self.flush_max.as_millis();
                tracing::warn!(
                    source = &*self.name,
                    flush_max_ms,
                    "partitions go before all of their deliveries are stored; those come again"
                );
            }
        }
        let positions = self.shared.state().leave(all);
        tracing::info!(
            source = &*self.name,
            partitions = all.len(),
            committed = positions.len(),
            "partitions were revoked"
        );
        if let Err(error) = self.commit(consumer, &positions, CommitMode::Sync) {
            tracing::warn!(source = &*self.name, %error, "partitions go without their last commit; deliveries come again");
        }
    }

    /// Commits positions. What fails at once is committed again later; what fails later is so by the callback.
    pub(super) fn commit(
        &self,
        consumer: &BaseConsumer<Self>,
        positions: &[(At, i64)],
        mode: CommitMode,
    ) -> KafkaResult<()> {
        if let Some(transactions) = self.transactions.get() {
            return self.commit_together(consumer, transactions, positions);
        }
        if positions.is_empty() {
            return Ok(());
        }
        let list = self.list(positions)?;
        let committed = consumer.commit(&list, mode);
        if committed.is_err() || matches!(mode, CommitMode::Sync) {
            self.all_committed(&list, committed.is_ok());
        }
        committed
    }

    /// Commits positions together with what is published because of them. Until that succeeds, nothing more is handed out.
    fn commit_together(
        &self,
        consumer: &BaseConsumer<Self>,
        transactions: &Transactions,
        positions: &[(At, i64)],
    ) -> KafkaResult<()> {
        let (mut queued, positions) = self.shared.state().take_publications(positions);
        let list = match self.list(&positions) {
            Ok(list) if list.count() > 0 => list,
            // Without an offset nothing is published: the broker could not tell a member that has lost its partitions.
            other => {
                let is_idle = queued.is_empty();
                let mut state = self.shared.state();
                state.put_back(queued);
                if is_idle && state.blocked.take().is_some() {
                    self.shared.ready.notify_one();
                }
                return other.map(drop);
            }
        };
        let no_member = KafkaError::ConsumerCommit(RDKafkaErrorCode::UnknownMemberId);
        let committed = match consumer.group_metadata() {
            Some(group) => transactions.commit(&queued, &list, &group),
            None => Err(Ended::Aborted(no_member, Vec::new())),
        };
        self.all_committed(&list, committed.is_ok());
        let error = match committed {
            Ok(()) => {
                self.shared.state().blocked = None;
                self.shared.ready.notify_one();
                return Ok(());
            }
            Err(Ended::Aborted(error, refused)) => {
                tracing::warn!(source = &*self.name, %error, "a transaction was aborted; it is made again");
                self.replace(&mut queued, &refused);
                self.shared.state().put_back(queued);
                error
            }
            Err(Ended::Unknown(error)) => {
                let doing = "it is not known whether a transaction was committed";
                let why = Error::new(Kind::Unavailable, format!("{doing}: {error}"));
                *self.broken.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                error
            }
        };
        self.shared.state().blocked = Some(error.to_string());
        Err(error)
    }

    /// What the broker refuses even alone is replaced by a dead letter; what it refused among others is sent alone next.
    fn replace(&self, queued: &mut [Queued], refused: &[Refused]) {
        for Refused { at, code } in refused {
            let Some(one) = queued.get_mut(*at) else {
                continue;
            };
            let dead = self.dead_letters.as_ref().filter(|_| one.is_suspect);
            one.is_suspect = true;
            let instead = dead.and_then(|dead| one.publication.instead(dead, &code.to_string()));
            if let Some(instead) = instead {
                let topic = &*one.publication.topic;
                tracing::error!(source = &*self.name, topic, %code, "a message cannot be published; a dead letter takes its place");
                one.publication = instead;
            }
        }
    }

    /// Why this member cannot go on, if so.
    pub(super) fn take_broken(&self) -> Option<Error> {
        // The slot is replaced whole, so a poisoned lock protects nothing.
        let broken = self.broken.lock();
        broken.unwrap_or_else(PoisonError::into_inner).take()
    }

    fn list(&self, positions: &[(At, i64)]) -> KafkaResult<TopicPartitionList> {
        let mut list = TopicPartitionList::new();
        for ((topic, number), position) in positions {
            let name = self.shared.state().topics[*topic].name.clone();
            list.add_partition_offset(&name, *number, Offset::Offset(*position))?;
        }
        Ok(list)
    }

    fn all_committed(&self, list: &TopicPartitionList, is_done: bool) {
        for element in list.elements() {
            let (topic, partition) = (element.topic(), element.partition());
            self.committed(topic, partition, element.offset(), is_done);
        }
    }

    /// What became of a commit.
    fn committed(&self, topic: &str, number: i32, offset: Offset, is_done: bool) {
        let mut state = self.shared.state();
        let at = state.at(topic, number);
        let Some(owned) = at.and_then(|at| state.owned(at)) else {
            return;
        };
        match (is_done, offset) {
            (true, Offset::Offset(position)) => owned.confirm(position),
            _ => owned.uncommit(),
        }
    }

    /// Asks for the ids of all topics; a topic that is not there is an error.
    pub(super) fn describe(&self, consumer: &BaseConsumer<Self>) -> Result<()> {
        let names: Vec<String> = {
            let state = self.shared.state();
            let topics = state.topics.iter();
            topics.map(|topic| topic.name.clone()).collect()
        };
        let asked: Vec<&str> = names.iter().map(String::as_str).collect();
        let doing = "the topics cannot be described";
        let described = semel_kafka_native::describe(consumer.client(), &asked, DESCRIBE);
        for (name, topic) in described.map_err(|error| error::map(doing, error))? {
            let topic = topic.map_err(|error| match error::code(&error) {
                Some(RDKafkaErrorCode::UnknownTopicOrPartition) => error::missing(&name),
                _ => error::map(&format!("the topic {name:?} cannot be described"), error),
            })?;
            let mut state = self.shared.state();
            let known = state.topics.iter_mut().find(|known| known.name == name);
            if let Some(known) = known {
                known.id = topic.id;
            }
        }
        Ok(())
    }
}
