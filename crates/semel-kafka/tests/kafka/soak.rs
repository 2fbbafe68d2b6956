//! Engines that are killed again and again, one of two members of a group, while messages and their duplicates come in.

use std::sync::Arc;

use semel_inbox::Source;
use semel_kafka::KafkaSource;
use semel_testkit::sources::soak::{Soak, Topic};

use crate::conformance::{Kafka, inbox};

/// The group has the name of the topic: no other test joins it.
fn source(url: &str) -> Arc<dyn Source> {
    let topic = url
        .rsplit('/')
        .next()
        .and_then(|rest| rest.split('?').next());
    Arc::new(KafkaSource::from_url(url, topic.unwrap()).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn effects_equal_distinct_messages_though_engines_are_killed() {
    let soak = Soak {
        broker: "Kafka",
        test: "soak::effects_equal_distinct_messages_though_engines_are_killed",
        source,
        inbox,
    };
    soak.run(async || {
        let kafka = Kafka::fresh().await;
        // The engine that is killed is a static member: it gets its partitions back without its session having to end first.
        let members = ["&instance=killed", ""].map(|options| kafka.url(options));
        Topic {
            broker: Box::new(kafka),
            members: members.into(),
        }
    })
    .await;
}
