//! An engine that is killed again and again while messages and their duplicates come in.

use std::sync::Arc;

use semel_sqs::SqsSource;
use semel_testkit::sources::soak::{Soak, Topic};

use crate::conformance::{Sqs, inbox};

#[tokio::test(flavor = "multi_thread")]
async fn effects_equal_distinct_messages_though_engines_are_killed() {
    let soak = Soak {
        broker: "Amazon SQS",
        test: "soak::effects_equal_distinct_messages_though_engines_are_killed",
        source: |url| Arc::new(SqsSource::from_url(url, "soak").unwrap()),
        inbox,
    };
    soak.run(async || {
        let sqs = Sqs::fresh().await;
        Topic {
            members: vec![sqs.url(); 2],
            broker: Box::new(sqs),
        }
    })
    .await;
}
