//! Where a group begins that has no offset and does not want what was published before.
//!
//! Its place is committed as soon as it has a partition. Without that, a member that goes before its first message would take its place with
//! it, and the next one would skip what was published meanwhile.

use std::time::Duration;

use rdkafka::consumer::{BaseConsumer, CommitMode, Consumer as _};
use rdkafka::error::KafkaResult;
use rdkafka::{Offset, TopicPartitionList};

use super::context::Context;
use super::state::At;

/// How long the broker may take to answer; the group waits meanwhile.
const ASK: Duration = Duration::from_secs(5);

impl Context {
    /// Commits the present end of partitions of which the group has no offset. What cannot be committed now is so with the next commit.
    pub(super) fn begin_at_the_end(&self, consumer: &BaseConsumer<Self>, all: &[At]) {
        let ends = match self.ends(consumer, all) {
            Ok(ends) if ends.count() == 0 => return,
            Ok(ends) => ends,
            Err(error) => {
                tracing::warn!(source = &*self.name, %error, "the place of a new group is not known; it is kept from its first message on");
                return;
            }
        };
        let committed = consumer.commit(&ends, CommitMode::Sync);
        if let Err(error) = &committed {
            tracing::warn!(source = &*self.name, %error, "the place of a new group is not committed yet");
        }
        let mut state = self.shared.state();
        for end in ends.elements() {
            let at = state.at(end.topic(), end.partition());
            let owned = at.and_then(|at| state.owned(at));
            if let (Some(owned), Offset::Offset(offset)) = (owned, end.offset()) {
                owned.begin_at(offset, committed.is_ok());
            }
        }
    }

    /// The ends of partitions without an offset.
    fn ends(&self, consumer: &BaseConsumer<Self>, all: &[At]) -> KafkaResult<TopicPartitionList> {
        let mut asked = TopicPartitionList::new();
        for (topic, number) in all {
            asked.add_partition(&self.shared.state().topics[*topic].name, *number);
        }
        let mut unknown = TopicPartitionList::new();
        for known in consumer.committed_offsets(asked, ASK)?.elements() {
            if !matches!(known.offset(), Offset::Offset(_)) && known.error().is_ok() {
                // A time of "the end" asks for the end.
                unknown.add_partition_offset(known.topic(), known.partition(), Offset::End)?;
            }
        }
        if unknown.count() == 0 {
            return Ok(unknown);
        }
        let mut ends = TopicPartitionList::new();
        for end in consumer.offsets_for_times(unknown, ASK)?.elements() {
            if let (Offset::Offset(_), Ok(())) = (end.offset(), end.error()) {
                ends.add_partition_offset(end.topic(), end.partition(), end.offset())?;
            }
        }
        Ok(ends)
    }
}
