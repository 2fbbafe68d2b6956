//! Consumers and streams that are deleted, connections that break, readers that wait.

use std::time::Duration;

use async_nats::jetstream::stream::RetentionPolicy;
use semel_core::Kind;
use semel_inbox::Source;
use semel_inbox::source::{Event, Settle, Settled, Want};
use semel_nats::NatsSource;
use semel_testkit::proxy::Proxy;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{batch, event, ids, nothing_for, settle, take};
use tokio::time::{sleep, timeout};

use crate::world::World;

#[tokio::test]
async fn a_deleted_consumer_is_lost_with_its_deliveries_and_made_again_where_it_stood() {
    let world = World::new().await;
    world.publish(&["a", "b", "c"]).await;
    let source = world.open("ack_wait=30s").await;
    let first = take(&source, 3).await;
    assert_eq!(ids(&first), ["a", "b", "c"]);
    let item = vec![(first[0].handle.clone(), Settle::Ack)];
    assert_eq!(source.settle(item).await.unwrap(), [Settled::Done]);
    source.facts().await.unwrap();
    let stream = world.context.get_stream(&world.stream).await.unwrap();
    let ended = async {
        sleep(Duration::from_millis(100)).await;
        stream.delete_consumer("reader").await.unwrap();
    };
    let (lost, ()) = tokio::join!(event(&source, MUCH), ended);
    let Event::Gone(gone) = lost else {
        panic!("the loss expected, found {lost:?}");
    };
    assert_eq!(gone.partitions, [first[0].partition.clone()]);
    assert_eq!(
        settle(&source, &first, Settle::Ack).await,
        [Settled::Gone; 3]
    );
    let again = take(&source, 2).await;
    assert_eq!(
        ids(&again),
        ["b", "c"],
        "what was acknowledged does not come again"
    );
    assert_ne!(again[0].partition, first[0].partition);
    assert_eq!(
        settle(&source, &again, Settle::Ack).await,
        [Settled::Done; 2]
    );
    world.end().await;
}

#[tokio::test]
async fn a_deleted_consumer_of_a_work_queue_is_made_again_and_reads_what_is_left() {
    let world = World::with(|config| config.retention = RetentionPolicy::WorkQueue).await;
    world.publish(&["a", "b"]).await;
    let source = world.open("ack_wait=30s").await;
    let first = take(&source, 2).await;
    let item = vec![(first[0].handle.clone(), Settle::Ack)];
    assert_eq!(source.settle(item).await.unwrap(), [Settled::Done]);
    // From now on the source knows up to where all was acknowledged, and would ask for the rest.
    source.facts().await.unwrap();
    let stream = world.context.get_stream(&world.stream).await.unwrap();
    stream.delete_consumer("reader").await.unwrap();
    let again = take(&source, 1).await;
    assert_eq!(ids(&again), ["b"]);
    assert_eq!(settle(&source, &again, Settle::Ack).await, [Settled::Done]);
    world.end().await;
}

#[tokio::test]
async fn a_deleted_stream_is_an_error_until_it_is_back() {
    let world = World::new().await;
    world.publish(&["a"]).await;
    let source = world.open("ack_wait=30s").await;
    let first = batch(&source, MUCH).await;
    let ended = async {
        sleep(Duration::from_millis(100)).await;
        world.delete().await;
    };
    let (lost, ()) = tokio::join!(event(&source, MUCH), ended);
    assert!(matches!(lost, Event::Gone(_)), "{lost:?}");
    let error = source.next(MUCH).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    assert!(error.to_string().contains("does not exist"), "{error}");
    world.create(|_| {}).await;
    world.publish(&["a"]).await;
    let again = batch(&source, MUCH).await;
    assert_eq!(ids(&again), ["a"]);
    let coordinates = |batch: &[semel_inbox::source::Delivery]| batch[0].raw.coordinates.clone();
    assert_ne!(coordinates(&first), coordinates(&again));
    world.end().await;
}

#[tokio::test]
async fn a_loss_is_said_to_a_reader_that_wants_nothing() {
    let world = World::new().await;
    world.publish(&["a"]).await;
    let source = world.open("ack_wait=30s").await;
    let first = batch(&source, Want { count: 1, ..MUCH }).await;
    let stream = world.context.get_stream(&world.stream).await.unwrap();
    stream.delete_consumer("reader").await.unwrap();
    let asked = async {
        sleep(Duration::from_millis(100)).await;
        // It says that the consumer is missing, unless the reader has made it again by now.
        let _ = source.facts().await;
    };
    let (lost, ()) = tokio::join!(event(&source, Want::NOTHING), asked);
    assert!(matches!(lost, Event::Gone(_)), "{lost:?}");
    assert_eq!(
        settle(&source, &first, Settle::Extend).await,
        [Settled::Gone]
    );
    world.end().await;
}

#[tokio::test]
async fn a_connection_cut_in_a_batch_loses_nothing_and_its_acks_are_made_later() {
    let world = World::new().await;
    let names: Vec<String> = (0..200).map(|n| format!("m-{n:03}")).collect();
    world
        .publish(&names.iter().map(String::as_str).collect::<Vec<_>>())
        .await;
    let proxy = Proxy::start(world.socket()).await;
    let url = format!(
        "nats://{}/{}?ack_wait=2s&timeout=1s",
        proxy.addr(),
        world.stream
    );
    let source = NatsSource::from_url(&url, "reader").unwrap();
    source.open(Vec::new()).await.unwrap();
    proxy.cut_after(5_000);
    let mut seen = std::collections::BTreeSet::new();
    while seen.len() < names.len() {
        let found = batch(&source, MUCH).await;
        seen.extend(ids(&found));
        let mut left = found.iter().map(|d| d.handle.clone()).collect::<Vec<_>>();
        while !left.is_empty() {
            let items = left.iter().map(|handle| (handle.clone(), Settle::Ack));
            let settled = source.settle(items.collect()).await.unwrap();
            let zipped = left.into_iter().zip(settled);
            left = zipped
                .filter(|(_, s)| *s == Settled::Later)
                .map(|(h, _)| h)
                .collect();
        }
    }
    assert_eq!(proxy.counts().cut, 1);
    nothing_for(&source, Duration::from_secs(4)).await;
    world.end().await;
}

#[tokio::test]
async fn an_acknowledgement_without_a_confirmation_is_made_later() {
    let world = World::new().await;
    world.publish(&["a"]).await;
    let proxy = Proxy::start(world.socket()).await;
    let url = format!("nats://{}/{}?timeout=500ms", proxy.addr(), world.stream);
    let source = NatsSource::from_url(&url, "reader").unwrap();
    source.open(Vec::new()).await.unwrap();
    let found = batch(&source, MUCH).await;
    proxy.stall();
    assert_eq!(settle(&source, &found, Settle::Ack).await, [Settled::Later]);
    proxy.resume();
    let mut settled = settle(&source, &found, Settle::Ack).await;
    for _ in 0..20 {
        if settled == [Settled::Done] {
            break;
        }
        settled = settle(&source, &found, Settle::Ack).await;
    }
    assert_eq!(settled, [Settled::Done]);
    world.end().await;
}

#[tokio::test]
async fn a_reader_that_wants_nothing_for_long_keeps_what_it_was_sent() {
    let world = World::new().await;
    let source = world.open("ack_wait=1s").await;
    // A request is open at the server when this is dropped, so the messages come here.
    assert!(
        timeout(Duration::from_millis(300), source.next(MUCH))
            .await
            .is_err()
    );
    world.publish(&["a", "b"]).await;
    let nothing = timeout(Duration::from_secs(4), source.next(Want::NOTHING)).await;
    assert!(nothing.is_err(), "{nothing:?}");
    let found = batch(&source, MUCH).await;
    assert_eq!(ids(&found), ["a", "b"]);
    assert_eq!(found[0].raw.deliveries, Some(1));
    assert_eq!(
        settle(&source, &found, Settle::Ack).await,
        [Settled::Done; 2]
    );
    world.end().await;
}
