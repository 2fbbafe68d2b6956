//! What the broker says about its topics.

use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::source::{Retained, Settle};

use crate::support::Topic;

#[tokio::test]
async fn retention_and_compaction_are_read_from_the_broker() {
    const DAY_MS: &str = "86400000";
    let day = Retained::For(Duration::from_secs(24 * 60 * 60));
    for (settings, retained, is_compacted) in [
        (&[("retention.ms", DAY_MS)][..], day, false),
        (&[("retention.ms", "-1")], Retained::Forever, false),
        (&[("cleanup.policy", "compact")], Retained::Forever, true),
        (
            &[
                ("cleanup.policy", "compact,delete"),
                ("retention.ms", DAY_MS),
            ],
            day,
            true,
        ),
    ] {
        let topic = Topic::with(1, settings).await;
        let facts = topic.source("").facts().await.unwrap();
        assert_eq!(facts.retained, Some(retained), "{settings:?}");
        let warned = facts
            .warnings
            .iter()
            .any(|warning| warning.contains("compacted"));
        assert_eq!(warned, is_compacted, "{settings:?}: {:?}", facts.warnings);
        assert_eq!((facts.lag, facts.held), (Some(0), Some(0)));
    }
}

#[tokio::test]
async fn the_lag_counts_what_the_group_has_not_committed() {
    let topic = Topic::new(2).await;
    topic.publish_ids(0..10);
    let reader = topic.reader("").await;
    let lag = async || reader.source.facts().await.unwrap().lag;
    assert_eq!(lag().await, Some(10));
    let found = reader.take(10).await;
    reader.settle(&found[..4], Settle::Ack).await;
    let until = tokio::time::Instant::now() + Duration::from_secs(20);
    while lag().await != Some(6) {
        assert!(tokio::time::Instant::now() < until, "{:?}", lag().await);
    }
    reader.close().await;
}
