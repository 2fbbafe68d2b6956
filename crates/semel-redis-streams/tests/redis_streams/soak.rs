//! An engine that is killed again and again while messages and their duplicates come in.

use std::sync::Arc;

use semel_redis_streams::RedisStreamsSource;
use semel_testkit::sources::soak::{Soak, Topic};

use crate::conformance::{RedisStreams, inbox};

#[tokio::test(flavor = "multi_thread")]
async fn effects_equal_distinct_messages_though_engines_are_killed() {
    let soak = Soak {
        broker: "Redis Streams",
        test: "soak::effects_equal_distinct_messages_though_engines_are_killed",
        source: |url| Arc::new(RedisStreamsSource::from_url(url, "soak").unwrap()),
        inbox,
    };
    soak.run(async || {
        let redis = RedisStreams::fresh().await;
        Topic {
            members: vec![redis.url(); 2],
            broker: Box::new(redis),
        }
    })
    .await;
}
