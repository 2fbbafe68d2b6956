//! What a delivery carries, and what the broker says about itself.

use bytes::Bytes;
use lapin::BasicProperties;
use lapin::types::AMQPValue;
use semel_amqp::AmqpSource;
use semel_core::{Kind, Timestamp};
use semel_inbox::Source;
use semel_inbox::source::{Retained, Settle, Settled, Want};
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{batch, ids, settle, take};
use tokio::time::{Duration, timeout};

use crate::world::{World, table};

#[tokio::test]
async fn properties_and_typed_headers_are_kept() {
    let world = World::new().await;
    let headers = table(&[
        ("x-bool", AMQPValue::Boolean(true)),
        ("x-int", AMQPValue::LongInt(-7)),
        ("x-bytes", AMQPValue::LongString(vec![0xff, 0].into())),
        ("x-null", AMQPValue::Void),
        (
            "x-table",
            AMQPValue::FieldTable(table(&[("a", AMQPValue::LongLongInt(1))])),
        ),
        ("cloudEvents:id", AMQPValue::LongString("7".into())),
    ]);
    let properties = BasicProperties::default()
        .with_message_id("m-1".into())
        .with_content_type("text/plain".into())
        .with_correlation_id("c-1".into())
        .with_type("order.created".into())
        .with_app_id("shop".into())
        .with_timestamp(1_700_000_000)
        .with_headers(headers);
    world.publish_as(properties, b"p").await;
    let source = world.open("").await;
    let found = batch(&source, MUCH).await;
    let raw = &found[0].raw;
    assert_eq!(
        (raw.id.as_deref(), raw.kind.as_deref()),
        (Some("m-1"), Some("order.created"))
    );
    assert_eq!(raw.payload.as_deref(), Some(&b"p"[..]));
    assert_eq!(
        raw.published_at,
        Some(Timestamp::from_millis(1_700_000_000_000))
    );
    assert_eq!((raw.deliveries, raw.coordinates.as_ref()), (Some(1), None));
    assert!(!raw.is_percent_encoded, "AMQP has bytes of its own");
    assert_eq!(raw.origin.topic, world.queue);
    for (name, value) in [
        ("message-id", Some(&b"m-1"[..])),
        ("content-type", Some(b"text/plain")),
        ("correlation-id", Some(b"c-1")),
        ("type", Some(b"order.created")),
        ("app-id", Some(b"shop")),
        ("timestamp", Some(b"1700000000")),
        ("x-bool", Some(b"true")),
        ("x-int", Some(b"-7")),
        ("x-bytes", Some(&[0xff, 0])),
        ("x-null", None),
        ("x-table", Some(br#"{"a":1}"#)),
        ("cloudEvents:id", Some(b"7")),
        ("amqp-routing-key", Some(world.queue.as_bytes())),
    ] {
        let expected = (name.to_owned(), value.map(Bytes::copy_from_slice));
        assert!(raw.headers.contains(&expected), "{name}: {:?}", raw.headers);
    }
    assert_eq!(
        settle(&source, &found, Settle::Back(Duration::ZERO)).await,
        [Settled::Done]
    );
    let again = batch(&source, MUCH).await;
    assert_eq!(
        (again[0].raw.id.as_deref(), again[0].raw.deliveries),
        (Some("m-1"), Some(2))
    );
    world.end().await;
}

#[tokio::test]
async fn a_quorum_queue_counts_deliveries_and_a_dead_letter_says_why() {
    let dead = World::new().await;
    let world = World::with(&[
        ("x-queue-type", AMQPValue::LongString("quorum".into())),
        ("x-delivery-limit", AMQPValue::LongInt(2)),
        ("x-dead-letter-exchange", AMQPValue::LongString("".into())),
        (
            "x-dead-letter-routing-key",
            AMQPValue::LongString(dead.queue.as_str().into()),
        ),
    ])
    .await;
    world.publish(&["a"]).await;
    let source = world.open("").await;
    for count in 1..=3 {
        let found = batch(&source, MUCH).await;
        assert_eq!(found[0].raw.deliveries, Some(count));
        settle(&source, &found, Settle::Back(Duration::ZERO)).await;
    }
    let facts = source.facts().await.unwrap();
    assert_eq!(
        (facts.retained, facts.delivery_limit),
        (Some(Retained::UntilAcked), None)
    );
    assert!(
        facts
            .warnings
            .iter()
            .any(|warning| warning.contains("quorum")),
        "{:?}",
        facts.warnings
    );
    let letters = dead.open("").await;
    let letter = batch(&letters, MUCH).await;
    assert_eq!(ids(&letter), ["a"], "the same id");
    let deaths = letter[0]
        .raw
        .headers
        .iter()
        .find(|(name, _)| name == "x-death");
    let deaths = deaths.and_then(|(_, value)| value.clone()).unwrap();
    let deaths: serde_json::Value = serde_json::from_slice(&deaths).unwrap();
    assert_eq!(deaths[0]["queue"], world.queue);
    assert_eq!(deaths[0]["reason"], "delivery_limit");
    world.end().await;
    dead.end().await;
}

#[tokio::test]
async fn no_more_than_the_prefetch_is_open() {
    let world = World::new().await;
    let names: Vec<String> = (0..30).map(|n| format!("m-{n:02}")).collect();
    world
        .publish(&names.iter().map(String::as_str).collect::<Vec<_>>())
        .await;
    let source = world.open("prefetch=10").await;
    let first = take(&source, 10).await;
    let more = timeout(Duration::from_secs(1), source.next(MUCH)).await;
    assert!(more.is_err(), "{more:?}");
    assert_eq!(source.facts().await.unwrap().lag, Some(20));
    // All but the first, so that none of these may be answered together.
    let later = first[1..].iter();
    let later = later.map(|delivery| (delivery.handle.clone(), Settle::Ack));
    assert_eq!(
        source.settle(later.collect()).await.unwrap(),
        [Settled::Done; 9]
    );
    assert_eq!(take(&source, 9).await.len(), 9);
    assert_eq!(
        settle(&source, &first, Settle::Extend).await[..2],
        [Settled::Done, Settled::Gone]
    );
    source.close().await.unwrap();
    let next = world.open("").await;
    let left = take(&next, 21).await;
    assert_eq!(
        left.len(),
        21,
        "the first and all that were not acknowledged"
    );
    world.end().await;
}

#[tokio::test]
async fn what_is_wrong_is_said_as_such() {
    let world = World::new().await;
    let url = world.url("").replace(&world.queue, "missing");
    let source = AmqpSource::from_url(&url, "r").unwrap();
    let error = source.open(Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("missing"), "{error}");
    let error = source.next(MUCH).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    let socket = world.socket();
    let wrong = format!("amqp://guest:s3cret@{socket}/%2f?queue=q");
    let error = AmqpSource::from_url(&wrong, "r")
        .unwrap()
        .open(Vec::new())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    assert!(!error.to_string().contains("s3cret"));
    let nowhere = AmqpSource::from_url("amqp://127.0.0.1:1/?queue=q", "r").unwrap();
    assert_eq!(
        nowhere.open(Vec::new()).await.unwrap_err().kind(),
        Kind::Unavailable
    );
    let nothing = timeout(Duration::from_millis(200), nowhere.next(Want::NOTHING)).await;
    assert!(nothing.is_err());
    world.end().await;
}
