//! One reader: what it gets, what it commits, and how it ends.

use std::collections::BTreeSet;
use std::time::Duration;

use semel_core::Kind;
use semel_inbox::Source;
use semel_inbox::source::{Event, Settle, Want};
use semel_kafka::KafkaSource;
use tokio::time::{Instant, sleep};

use crate::support::{ASK, MUCH, Message, Topic, broker, id, ids, until, until_within};

#[tokio::test]
async fn a_message_says_where_it_came_from_and_when_it_was_published() {
    let topic = Topic::new(2).await;
    topic.publish(&[Message {
        partition: Some(1),
        key: Some(vec![0xff]),
        ..Message::default()
    }]);
    let reader = topic.reader("").await;
    let raw = reader.take(1).await.remove(0).raw;
    assert_eq!(raw.origin.topic, topic.name);
    assert_eq!(
        (raw.origin.partition, raw.origin.offset),
        (Some(1), Some(0))
    );
    assert_eq!((raw.payload, raw.key.as_deref()), (None, Some(&[0xff][..])));
    let coordinates = raw.coordinates.unwrap();
    let id = coordinates.strip_suffix("/1/0").unwrap();
    assert_eq!(id.len(), 22, "an id of Kafka: {coordinates}");
    let now = i64::try_from(std::time::UNIX_EPOCH.elapsed().unwrap().as_millis()).unwrap();
    let published = raw.published_at.unwrap().as_millis();
    assert!((now - 60_000..=now).contains(&published), "{published}");
    reader.close().await;
}

#[tokio::test]
async fn commits_follow_acknowledgements_and_never_pass_a_hole() {
    let topic = Topic::new(1).await;
    topic.publish_ids(0..10);
    let reader = topic.reader("").await;
    let found = reader.take(10).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(topic.committed(), [None], "nothing is committed by itself");
    reader.settle(&found[..3], Settle::Ack).await;
    reader.settle(&found[4..], Settle::Ack).await;
    until("what is done is committed", || {
        topic.committed() == [Some(3)]
    })
    .await;
    reader.settle(&found[3..4], Settle::Ack).await;
    reader.close().await;
    assert_eq!(topic.committed(), [Some(10)], "closing commits at once");
}

/// The buffer is full and partitions are paused for longer than a member may go without polling.
#[tokio::test]
async fn a_member_that_is_not_asked_stays_in_the_group_and_loses_nothing() {
    let topic = Topic::new(3).await;
    let published = topic.publish_ids(0..5_000);
    let reader = topic.reader("&poll=6s").await;
    let first = reader.take(1).await;
    sleep(Duration::from_secs(14)).await;
    let mut all = ids(&first);
    reader.settle(&first, Settle::Ack).await;
    while all.len() < published.len() {
        let Some(Event::Batch(batch)) = reader.event(MUCH, ASK).await else {
            panic!("partitions were lost");
        };
        all.extend(ids(&batch.deliveries));
        reader.settle(&batch.deliveries, Settle::Ack).await;
    }
    all.sort_unstable();
    assert_eq!(all, published, "each once");
    reader.close().await;
    assert_eq!(topic.committed(), [Some(1_667), Some(1_667), Some(1_666)]);
}

#[tokio::test]
async fn what_is_given_back_comes_after_its_pause_and_only_its_last_handle_counts() {
    let topic = Topic::new(1).await;
    topic.publish_ids(0..3);
    let reader = topic.reader("").await;
    let found = reader.take(3).await;
    let pause = Duration::from_millis(700);
    let began = Instant::now();
    reader.settle(&found[1..2], Settle::Back(pause)).await;
    reader.settle(&found[2..], Settle::Ack).await;
    let again = reader.take(1).await;
    assert!(began.elapsed() >= pause);
    assert_eq!(id(&again[0]), id(&found[1]));
    assert_eq!(again[0].raw.coordinates, found[1].raw.coordinates);
    let late = reader.settle(&found[1..2], Settle::Ack).await;
    assert_eq!(late, [semel_inbox::source::Settled::Gone]);
    reader.settle(&found[..1], Settle::Ack).await;
    until("the hole is kept", || topic.committed() == [Some(1)]).await;
    reader.settle(&again, Settle::Ack).await;
    reader.close().await;
    assert_eq!(topic.committed(), [Some(3)]);
}

#[tokio::test]
async fn a_topic_that_is_not_there_is_refused_and_not_created() {
    let url = format!("kafka://{}/there-is-no-such-topic", broker());
    let source = KafkaSource::from_url(&url, "c").unwrap();
    for _ in 0..2 {
        let error = source.open(Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        let said = error.to_string();
        assert!(
            said.contains("does not exist") && said.contains("there-is-no-such-topic"),
            "{said}"
        );
    }
    assert_eq!(
        source.next(Want::NOTHING).await.unwrap_err().kind(),
        Kind::Invalid
    );
}

#[tokio::test]
async fn a_topic_that_is_made_anew_while_it_is_read_has_other_coordinates() {
    let topic = Topic::new(1).await;
    topic.publish_ids(0..5);
    let reader = topic.reader("").await;
    let before = reader.take(5).await;
    reader.settle(&before, Settle::Ack).await;
    topic.recreate().await;
    topic.publish_ids(0..3);
    let mut after = Vec::new();
    let until = Instant::now() + Duration::from_secs(90);
    while after.len() < 3 {
        assert!(Instant::now() < until, "3 expected, found {}", after.len());
        match tokio::time::timeout(ASK, reader.source.next(MUCH)).await {
            Ok(Ok(Event::Batch(batch))) => after.extend(batch.deliveries),
            // Meanwhile the topic is not there.
            Ok(Err(_)) => sleep(Duration::from_millis(200)).await,
            _ => {}
        }
    }
    let coordinates = |all: &[semel_inbox::source::Delivery]| -> BTreeSet<String> {
        let all = all.iter();
        all.filter_map(|d| d.raw.coordinates.clone()).collect()
    };
    assert!(coordinates(&before).is_disjoint(&coordinates(&after)));
    reader.settle(&after, Settle::Ack).await;
    reader.close().await;
    assert_eq!(topic.committed(), [Some(3)]);
}

#[tokio::test]
async fn a_group_that_begins_at_the_end_keeps_its_place() {
    let topic = Topic::new(1).await;
    topic.publish_ids(0..5);
    let reader = topic.reader("&from=latest").await;
    // The end is known once the partition is there.
    let mut number = 5;
    let found = loop {
        topic.publish_ids(number..number + 1);
        number += 1;
        if let Some(Event::Batch(batch)) = reader.event(MUCH, Duration::from_millis(300)).await {
            break batch.deliveries;
        }
    };
    assert!(*id(&found[0]) >= *"m-000005");
    until("the place is kept", || topic.committed()[0] >= Some(5)).await;
    drop(reader);
    let reader = topic.reader("&from=latest").await;
    let again = reader.take(1).await;
    assert_eq!(
        id(&again[0]),
        id(&found[0]),
        "what was not acknowledged comes again"
    );
    reader.close().await;
}

/// What is published while no member is there is not before the group's first message, but after its beginning.
#[tokio::test]
async fn a_group_that_begins_at_the_end_has_its_place_before_its_first_message() {
    let topic = Topic::new(2).await;
    topic.publish_ids(0..6);
    let reader = topic.reader("&from=latest").await;
    let is_kept = || topic.committed() == [Some(3), Some(3)];
    until_within(Duration::from_secs(20), "the place is kept", is_kept).await;
    reader.close().await;
    let published = topic.publish_ids(6..10);
    let reader = topic.reader("&from=latest").await;
    let found = reader.take(4).await;
    assert_eq!(ids(&found), published);
    reader.close().await;
}

#[tokio::test]
async fn dropping_a_source_does_not_block() {
    let topic = Topic::new(1).await;
    let open = topic.reader("").await;
    let nowhere = KafkaSource::from_url("kafka://127.0.0.1:1/t", "c").unwrap();
    let opening = tokio::time::timeout(Duration::from_millis(300), nowhere.open(Vec::new())).await;
    assert!(opening.is_err(), "it waits for a broker");
    let began = Instant::now();
    drop((open, nowhere));
    assert!(began.elapsed() < Duration::from_millis(200));
}

#[tokio::test]
async fn a_broker_that_is_away_is_an_error_that_passes() {
    let nowhere = KafkaSource::from_url("kafka://127.0.0.1:1/t", "c").unwrap();
    let error = nowhere.open(Vec::new()).await.unwrap_err();
    assert!(error.is_retryable(), "{error}");
}
