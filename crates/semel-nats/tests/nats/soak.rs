//! An engine that is killed again and again while messages and their duplicates come in.

use std::sync::Arc;

use semel_nats::NatsSource;
use semel_testkit::sources::soak::{Soak, Topic};

use crate::conformance::{Nats, inbox};

#[tokio::test(flavor = "multi_thread")]
async fn effects_equal_distinct_messages_though_engines_are_killed() {
    let soak = Soak {
        broker: "NATS JetStream",
        test: "soak::effects_equal_distinct_messages_though_engines_are_killed",
        source: |url| Arc::new(NatsSource::from_url(url, "soak").unwrap()),
        inbox,
    };
    soak.run(async || {
        let nats = Nats::fresh().await;
        Topic {
            members: vec![nats.url(); 2],
            broker: Box::new(nats),
        }
    })
    .await;
}
