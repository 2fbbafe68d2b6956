//! An engine that is killed again and again while messages and their duplicates come in.

use std::sync::Arc;

use semel_amqp::AmqpSource;
use semel_testkit::sources::soak::{Soak, Topic};

use crate::conformance::{Rabbit, inbox};

#[tokio::test(flavor = "multi_thread")]
async fn effects_equal_distinct_messages_though_engines_are_killed() {
    let soak = Soak {
        broker: "RabbitMQ",
        test: "soak::effects_equal_distinct_messages_though_engines_are_killed",
        source: |url| Arc::new(AmqpSource::from_url(url, "soak").unwrap()),
        inbox,
    };
    soak.run(async || {
        let rabbit = Rabbit::fresh().await;
        Topic {
            members: vec![rabbit.url(); 2],
            broker: Box::new(rabbit),
        }
    })
    .await;
}
