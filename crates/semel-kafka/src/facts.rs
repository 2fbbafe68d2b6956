//! What the broker says about the topics of a source: how long messages stay, whether they are compacted, and how many wait.
//!
//! It is asked by clients of their own that are no members of the group, so that reading is never held up.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::admin::{
    AdminClient, AdminOptions, ConfigResource, OwnedResourceSpecifier, ResourceSpecifier,
};
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode as Code};
use rdkafka::{Offset, TopicPartitionList};
use semel_core::{Error, Kind, Result};
use semel_inbox::source::{Facts, Retained};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::error;
use crate::log::Named;
use crate::source::{From, Options};

/// How long one question may take.
const ASK: Duration = Duration::from_secs(10);
/// How long all questions about the lag may take together.
const LAG_MAX: Duration = Duration::from_secs(5);
/// The most partitions whose ends are asked for.
const PARTITIONS_MAX: usize = 1_000;
const DOING: &str = "the topics cannot be looked at";

/// Asks the broker. Its clients connect with the first question.
pub(crate) struct Inspector {
    options: Options,
    clients: Mutex<Option<Arc<Clients>>>,
}

struct Clients {
    admin: AdminClient<Named>,
    group: BaseConsumer<Named>,
}

impl Inspector {
    pub(crate) fn new(options: Options) -> Self {
        Self {
            options,
            clients: Mutex::default(),
        }
    }

    pub(crate) async fn facts(&self) -> Result<Facts> {
        let clients = self.clients()?;
        let mut facts = Facts::default();
        self.read_configs(&clients, &mut facts).await?;
        let partitions = self.partitions(clients.clone()).await?;
        facts.lag = self.lag(clients, partitions).await;
        // What members have and have not committed is in the lag.
        facts.held = Some(0);
        Ok(facts)
    }

    /// How long the topics keep messages, if the broker tells.
    pub(crate) async fn retained(&self) -> Result<Option<Retained>> {
        let clients = self.clients()?;
        let mut facts = Facts::default();
        self.read_configs(&clients, &mut facts).await?;
        Ok(facts.retained)
    }

    fn clients(&self) -> Result<Arc<Clients>> {
        let mut slot = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(clients) = &*slot {
            return Ok(clients.clone());
        }
        let name = || Named(format!("kafka:{}", self.options.address.topics.join(",")));
        let admin = AdminClient::from_config_and_context(&self.options.address.config(), name());
        let group = BaseConsumer::from_config_and_context(&self.options.bystander(), name());
        let clients = Arc::new(Clients {
            admin: admin.map_err(|error| error::map(DOING, error))?,
            group: group.map_err(|error| error::map(DOING, error))?,
        });
        *slot = Some(clients.clone());
        Ok(clients)
    }

    async fn read_configs(&self, clients: &Clients, facts: &mut Facts) -> Result<()> {
        let topics = self.options.address.topics.iter();
        let topics: Vec<_> = topics.map(|t| ResourceSpecifier::Topic(t)).collect();
        let options = AdminOptions::new().request_timeout(Some(ASK));
        let described = clients.admin.describe_configs(&topics, &options).await;
        let described = described.map_err(|error| error::map(DOING, error))?;
        for (topic, config) in self.options.address.topics.iter().zip(described) {
            match config {
                // The binding keeps the reason to itself.
                Ok(config) if config.entries.is_empty() => facts.warnings.push(format!(
                    "how long the topic {topic:?} keeps its messages is not known: the broker does not tell us its configuration"
                )),
                Ok(config) => match &config.specifier {
                    OwnedResourceSpecifier::Topic(topic) => add(facts, topic, &config),
                    _ => add(facts, topic, &config),
                },
                Err(why) => facts.warnings.push(format!(
                    "how long the topic {topic:?} keeps its messages is not known: {why}"
                )),
            }
        }
        Ok(())
    }

    /// All partitions; a topic that is not there is an error.
    async fn partitions(&self, clients: Arc<Clients>) -> Result<TopicPartitionList> {
        let topics = self.options.address.topics.clone();
        // librdkafka asks by calls that block.
        let asked = spawn_blocking(move || partitions(&clients.group, &topics));
        match asked.await {
            Ok(found) => found,
            Err(error) => Err(Error::new(Kind::Internal, DOING).caused_by(error)),
        }
    }

    /// The lag, as far as the broker says it in time: a partition without a leader must not keep the others from being read.
    async fn lag(&self, clients: Arc<Clients>, partitions: TopicPartitionList) -> Option<u64> {
        if partitions.count() > PARTITIONS_MAX {
            return None;
        }
        let from = self.options.from;
        let asked = spawn_blocking(move || lag(&clients.group, partitions, from));
        match timeout(LAG_MAX, asked).await {
            Ok(Ok(Ok(lag))) => Some(lag),
            Ok(Ok(Err(error))) => {
                tracing::debug!(%error, "the lag of a group is not known");
                None
            }
            Ok(Err(_)) | Err(_) => None,
        }
    }
}

/// What the configuration of one topic says. Of several topics the longest time counts.
fn add(facts: &mut Facts, topic: &str, config: &ConfigResource) {
    let value = |name: &str| config.get(name).and_then(|entry| entry.value.as_deref());
    let policy = value("cleanup.policy").unwrap_or_default();
    let is_compacted = policy.split(',').any(|part| part.trim() == "compact");
    let is_deleted = policy.split(',').any(|part| part.trim() == "delete");
    let ms = value("retention.ms").and_then(|text| text.parse::<i64>().ok());
    let retained = match (is_deleted, ms) {
        (true, Some(ms)) => u64::try_from(ms).map_or(Retained::Forever, |ms| {
            Retained::For(Duration::from_millis(ms))
        }),
        (true, None) => return,
        (false, _) => Retained::Forever,
    };
    facts.retained = Some(match (facts.retained, retained) {
        (Some(Retained::For(one)), Retained::For(other)) => Retained::For(one.max(other)),
        (None, retained) => retained,
        _ => Retained::Forever,
    });
    if is_compacted {
        facts.warnings.push(format!(
            "the topic {topic:?} is compacted: older messages of a key vanish once a newer one exists, so a slow reader does not see all of them"
        ));
    }
}

fn partitions(group: &BaseConsumer<Named>, topics: &[String]) -> Result<TopicPartitionList> {
    let mut list = TopicPartitionList::new();
    for topic in topics {
        let metadata = group.fetch_metadata(Some(topic), ASK);
        let metadata = metadata.map_err(|error| error::map(DOING, error))?;
        let found = metadata.topics().iter();
        let mut errors = found.clone().filter_map(|topic| topic.error());
        if errors.any(|error| Code::from(error) == Code::UnknownTopicOrPartition) {
            return Err(error::missing(topic));
        }
        for partition in found.flat_map(|topic| topic.partitions()) {
            list.add_partition(topic, partition.id());
        }
    }
    Ok(list)
}

/// How many messages lie after what the group has committed.
fn lag(group: &BaseConsumer<Named>, all: TopicPartitionList, from: From) -> KafkaResult<u64> {
    let [firsts, ends] = [Offset::Beginning, Offset::End].map(|place| {
        let mut asked = all.clone();
        // A time of "the beginning" or "the end" asks for that, of all partitions of a broker at once.
        asked.set_all_offsets(place)?;
        offsets(&group.offsets_for_times(asked, LAG_MAX)?)
    });
    let (firsts, ends) = (firsts?, ends?);
    let mut lag = 0;
    for element in group.committed_offsets(all, LAG_MAX)?.elements() {
        let at = (element.topic().to_owned(), element.partition());
        let unknown = || KafkaError::OffsetFetch(Code::LeaderNotAvailable);
        let first = *firsts.get(&at).ok_or_else(unknown)?;
        let end = *ends.get(&at).ok_or_else(unknown)?;
        let position = match (element.offset(), from) {
            (Offset::Offset(position), _) => position.max(first),
            (_, From::Earliest) => first,
            (_, From::Latest) => end,
        };
        lag += u64::try_from(end - position).unwrap_or(0);
    }
    Ok(lag)
}

/// The offsets that a broker said; a partition of which it did not is an error.
fn offsets(list: &TopicPartitionList) -> KafkaResult<HashMap<(String, i32), i64>> {
    let mut offsets = HashMap::new();
    for element in list.elements() {
        element.error()?;
        if let Offset::Offset(offset) = element.offset() {
            offsets.insert((element.topic().to_owned(), element.partition()), offset);
        }
    }
    Ok(offsets)
}

#[cfg(test)]
mod tests {
    use rdkafka::mocking::MockCluster;

    use super::*;

    #[tokio::test(flavor = "multi_thread")]
    async fn a_partition_without_a_leader_leaves_the_lag_unknown_and_fails_nothing() {
        let cluster = MockCluster::new(1).unwrap();
        cluster.create_topic("t", 2, 1).unwrap();
        let url = format!("kafka://{}/t", cluster.bootstrap_servers());
        let inspector = Inspector::new(Options::parse(&url, "c").unwrap());
        let clients = inspector.clients().unwrap();
        let all = inspector.partitions(clients.clone()).await.unwrap();
        assert_eq!(all.count(), 2);
        assert_eq!(inspector.lag(clients.clone(), all.clone()).await, Some(0));
        cluster.partition_leader("t", 1, None).unwrap();
        assert_eq!(inspector.lag(clients.clone(), all).await, None);
        assert!(inspector.partitions(clients).await.is_ok());
    }
}
