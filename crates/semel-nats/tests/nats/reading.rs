//! What a delivery carries, what the server says about itself, and which consumers are refused.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::{AckPolicy, pull};
use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use semel_core::Kind;
use semel_inbox::Source;
use semel_inbox::source::{DeliveryLimit, OPEN_MAX, Retained, Settle, Settled, Want};
use semel_nats::NatsSource;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{batch, ids, settle, take};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use crate::world::World;

#[tokio::test]
async fn a_delivery_has_id_headers_coordinates_count_and_time() {
    let world = World::new().await;
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Msg-Id", "m-1");
    headers.append("x-a", "1");
    headers.append("x-a", "2");
    let subject = world.subject("orders");
    let sent = world
        .context
        .publish_with_headers(subject.clone(), headers, "p".into());
    sent.await.unwrap().await.unwrap();
    let source = world.open("ack_wait=1s").await;
    let first = batch(&source, MUCH).await;
    let raw = &first[0].raw;
    assert_eq!(raw.id.as_deref(), Some("m-1"));
    assert_eq!(raw.payload.as_deref(), Some(&b"p"[..]));
    assert_eq!(
        (raw.origin.topic.as_str(), raw.origin.offset),
        (subject.as_str(), Some(1))
    );
    assert_eq!(raw.deliveries, Some(1));
    assert!(raw.is_percent_encoded, "as in HTTP");
    assert!(
        raw.published_at
            .is_some_and(|at| at.as_millis() > 1_700_000_000_000)
    );
    let own = raw.headers.iter().filter(|(name, _)| name == "x-a");
    let own: Vec<_> = own.map(|(_, value)| value.clone().unwrap()).collect();
    assert_eq!(own, [Bytes::from_static(b"1"), Bytes::from_static(b"2")]);
    let coordinates = raw.coordinates.clone().unwrap();
    assert!(coordinates.starts_with(&format!("{}@", world.stream)) && coordinates.ends_with("/1"));
    let again = batch(&source, MUCH).await;
    let raw = &again[0].raw;
    assert_eq!(
        (raw.deliveries, raw.coordinates.as_ref()),
        (Some(2), Some(&coordinates))
    );
    // The late acknowledgement of the first delivery is accepted by the server: the record decides, not the ack.
    assert_eq!(settle(&source, &first, Settle::Ack).await, [Settled::Done]);
    assert_eq!(
        settle(&source, &first, Settle::Extend).await,
        [Settled::Gone]
    );
    world.end().await;
}

#[tokio::test]
async fn a_message_with_a_status_line_of_its_own_is_a_message() {
    let world = World::new().await;
    // The client library cannot send one.
    let mut raw = TcpStream::connect(&world.addr).await.unwrap();
    let (subject, headers) = (world.subject("a"), "NATS/1.0 409 Consumer Deleted\r\n\r\n");
    let length = headers.len();
    let sent = format!(
        "CONNECT {{\"verbose\":false,\"headers\":true}}\r\nHPUB {subject} {length} {}\r\n{headers}p\r\nPING\r\n",
        length + 1
    );
    raw.write_all(sent.as_bytes()).await.unwrap();
    world.publish(&["b"]).await;
    let source = world.open("").await;
    let found = take(&source, 2).await;
    let mut payloads: Vec<_> = found
        .iter()
        .map(|d| d.raw.payload.clone().unwrap())
        .collect();
    payloads.sort();
    assert_eq!(payloads, [&b"b"[..], b"p"]);
    assert_eq!(
        settle(&source, &found, Settle::Ack).await,
        [Settled::Done; 2]
    );
    world.end().await;
}

#[tokio::test]
async fn a_message_larger_than_a_request_comes_alone() {
    let world = World::new().await;
    for _ in 0..3 {
        let payload = Bytes::from(vec![b'x'; 1024 * 1024 - 2048]);
        let sent = world.context.publish(world.subject("large"), payload);
        sent.await.unwrap().await.unwrap();
    }
    let source = world.open("").await;
    let want = Want {
        count: 10,
        bytes: 10,
    };
    for _ in 0..3 {
        assert_eq!(batch(&source, want).await.len(), 1);
    }
    world.end().await;
}

#[tokio::test]
async fn what_is_given_back_with_a_delay_waits_for_it() {
    let world = World::new().await;
    world.publish(&["a"]).await;
    let source = world.open("ack_wait=30s").await;
    let first = batch(&source, MUCH).await;
    let began = tokio::time::Instant::now();
    let back = Settle::Back(Duration::from_millis(1500));
    assert_eq!(settle(&source, &first, back).await, [Settled::Done]);
    let again = batch(&source, MUCH).await;
    assert_eq!(ids(&again), ["a"]);
    assert!(began.elapsed() >= Duration::from_millis(1400));
    world.end().await;
}

#[tokio::test]
async fn only_the_subject_that_was_asked_for_is_read() {
    let world = World::new().await;
    for name in ["b", "a", "b"] {
        let sent = world
            .context
            .publish(world.subject(name), name.to_owned().into());
        sent.await.unwrap().await.unwrap();
    }
    let source = world.open(&format!("subject={}", world.subject("a"))).await;
    let found = batch(&source, MUCH).await;
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].raw.origin.offset, Some(2));
    let other = world.source("");
    let error = other.open(Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("filter"), "{error}");
    world.end().await;
}

#[tokio::test]
async fn facts_are_what_the_server_says() {
    let age = Duration::from_secs(3600);
    let world = World::with(|config| {
        config.max_age = age;
        config.max_messages = 1000;
    })
    .await;
    let stream = world.context.get_stream(&world.stream).await.unwrap();
    let config = pull::Config {
        durable_name: Some("limited".to_owned()),
        ack_policy: AckPolicy::Explicit,
        ack_wait: Duration::from_secs(7),
        max_deliver: 3,
        ..pull::Config::default()
    };
    stream.create_consumer(config).await.unwrap();
    world.publish(&["a", "b", "c"]).await;
    let source = world.open("durable=limited").await;
    assert_eq!(
        source.lease().unwrap().term,
        Duration::from_secs(7),
        "the server's own"
    );
    let facts = source.facts().await.unwrap();
    assert_eq!(facts.retained, Some(Retained::For(age)));
    assert_eq!(facts.lag, Some(3));
    let limit = DeliveryLimit {
        count: 3,
        dead_letters: None,
    };
    assert_eq!(facts.delivery_limit, Some(limit));
    assert!(
        facts
            .warnings
            .iter()
            .any(|warning| warning.contains("max_msgs"))
    );
    assert!(facts.refusal(age * 2, true).is_some());
    world.end().await;
}

#[tokio::test]
async fn a_consumer_that_is_made_lets_as_many_be_open_as_the_engine_and_says_how_many_are() {
    let world = World::new().await;
    world.publish(&["a", "b", "c"]).await;
    let source = world.open("").await;
    let stream = world.context.get_stream(&world.stream).await.unwrap();
    let info = stream.consumer_info("reader").await.unwrap();
    assert_eq!(usize::try_from(info.config.max_ack_pending), Ok(OPEN_MAX));
    assert_eq!(info.config.max_deliver, -1);
    let found = take(&source, 2).await;
    let facts = source.facts().await.unwrap();
    let held = facts.held.unwrap();
    assert!((2..=3).contains(&held), "{facts:?}");
    assert_eq!(facts.lag, Some(3 - held));
    settle(&source, &found, Settle::Ack).await;
    assert_eq!(source.facts().await.unwrap().held, Some(held - 2));
    world.end().await;
}

#[tokio::test]
async fn a_consumer_that_would_lose_messages_is_refused() {
    let world = World::new().await;
    let stream = world.context.get_stream(&world.stream).await.unwrap();
    let config = pull::Config {
        durable_name: Some("all".to_owned()),
        ack_policy: AckPolicy::All,
        ..pull::Config::default()
    };
    stream.create_consumer(config).await.unwrap();
    for (options, expected) in [
        ("durable=all", "ack policy"),
        ("durable=missing&create=false", "create=false"),
    ] {
        let error = world.source(options).open(Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid);
        assert!(error.to_string().contains(expected), "{error}");
    }
    let url = format!("nats://{}/MISSING", world.addr);
    let error = NatsSource::from_url(&url, "r")
        .unwrap()
        .open(Vec::new())
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("does not exist"), "{error}");
    let error = NatsSource::from_url("nats://127.0.0.1:1/S", "r").unwrap();
    let error = error.open(Vec::new()).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable);
    world.end().await;
}

#[tokio::test]
async fn requests_that_are_met_are_no_reason_to_doubt_the_consumer() {
    let world = World::new().await;
    let client = async_nats::connect(&world.addr).await.unwrap();
    let questions = format!("$JS.API.CONSUMER.*.{}.>", world.stream);
    let mut questions = client.subscribe(questions).await.unwrap();
    client.flush().await.unwrap();
    let published: Vec<String> = (0..60).map(|n| format!("m-{n:02}")).collect();
    let all: Vec<&str> = published.iter().map(String::as_str).collect();
    world.publish(&all).await;
    let source = world.open("").await;
    let mut found = Vec::new();
    while found.len() < published.len() {
        let few = Want { count: 5, ..MUCH };
        let some = batch(&source, few).await;
        settle(&source, &some, Settle::Ack).await;
        found.extend(some);
    }
    assert_eq!(ids(&found), published);
    source.close().await.unwrap();
    client.flush().await.unwrap();
    let mut asked = Vec::new();
    while let Some(Some(question)) = questions.next().now_or_never() {
        asked.push(question.subject);
    }
    // Twelve requests were met; it is looked for and made once.
    assert!((1..=6).contains(&asked.len()), "{asked:?}");
    world.end().await;
}
