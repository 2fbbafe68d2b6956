//! What the broker says about the topics of a source: how long messages stay, whether they are compacted, and how many wait.
//!
//! It is asked by clients of their own that are no members of the group, so that reading is never held up.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rdkafka::admin::{
    AdminClient, AdminOptions, ConfigResource, OwnedResourceSpecifier, ResourceSpecifier,
};
use rdkafka::config::FromClientConfigAndContext as _;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::RDKafkaErrorCode as Code;
use rdkafka::{Offset, TopicPartitionList};
use semel_core::{Error, Kind, Result};
use semel_inbox::source::{Facts, Retained};

use crate::error;
use crate::log::Named;
use crate::source::{From, Options};

/// How long one question may take.
const ASK: Duration = Duration::from_secs(10);
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
        facts.lag = self.lag(clients).await?;
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

    async fn lag(&self, clients: Arc<Clients>) -> Result<Option<u64>> {
        let (topics, from) = (self.options.address.topics.clone(), self.options.from);
        // librdkafka asks by calls that block.
        let asked = tokio::task::spawn_blocking(move || lag(&clients.group, &topics, from));
        match asked.await {
            Ok(lag) => lag,
            Err(error) => Err(Error::new(Kind::Internal, DOING).caused_by(error)),
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

/// How many messages lie after what the group has committed.
fn lag(group: &BaseConsumer<Named>, topics: &[String], from: From) -> Result<Option<u64>> {
    let failed = |error| error::map(DOING, error);
    let mut list = TopicPartitionList::new();
    for topic in topics {
        let metadata = group.fetch_metadata(Some(topic), ASK).map_err(failed)?;
        let found = metadata.topics().iter();
        let mut errors = found.clone().filter_map(|topic| topic.error());
        if errors.any(|error| Code::from(error) == Code::UnknownTopicOrPartition) {
            return Err(error::missing(topic));
        }
        for partition in found.flat_map(|topic| topic.partitions()) {
            list.add_partition(topic, partition.id());
        }
    }
    if list.count() > PARTITIONS_MAX {
        return Ok(None);
    }
    let committed = group.committed_offsets(list, ASK).map_err(failed)?;
    let mut lag = 0;
    for element in committed.elements() {
        let ends = group.fetch_watermarks(element.topic(), element.partition(), ASK);
        let (first, end) = ends.map_err(failed)?;
        let position = match (element.offset(), from) {
            (Offset::Offset(position), _) => position.max(first),
            (_, From::Earliest) => first,
            (_, From::Latest) => end,
        };
        lag += u64::try_from(end - position).unwrap_or(0);
    }
    Ok(Some(lag))
}
