//! Channels that the broker closes, queues that are deleted, connections that break.

use std::collections::BTreeSet;
use std::time::Duration;

use semel_amqp::AmqpSource;
use semel_core::Kind;
use semel_inbox::Source;
use semel_inbox::source::{Event, Partition, Settle, Settled, Want};
use semel_testkit::proxy::Proxy;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{batch, event, ids, settle, take};
use tokio::time::{sleep, timeout};

use crate::world::World;

#[tokio::test]
async fn a_connection_cut_in_a_batch_loses_the_channel_and_no_message() {
    let world = World::new().await;
    let names: Vec<String> = (0..200).map(|n| format!("m-{n:03}")).collect();
    world
        .publish(&names.iter().map(String::as_str).collect::<Vec<_>>())
        .await;
    let proxy = Proxy::start(world.socket()).await;
    let source =
        AmqpSource::from_url(&world.url_through(proxy.addr(), "timeout=2s"), "reader").unwrap();
    source.open(Vec::new()).await.unwrap();
    let first = take(&source, 10).await;
    assert_eq!(first[0].partition, Partition::new("channel 1"));
    proxy.cut_all();
    let lost = event(&source, Want::NOTHING).await;
    let Event::Gone(gone) = lost else {
        panic!("the loss expected, found {lost:?}");
    };
    assert_eq!(gone.partitions, [Partition::new("channel 1")]);
    assert_eq!(
        settle(&source, &first, Settle::Ack).await,
        [Settled::Gone; 10]
    );
    assert_eq!(
        settle(&source, &first, Settle::Extend).await,
        [Settled::Gone; 10]
    );
    let mut seen = BTreeSet::new();
    while seen.len() < names.len() {
        let found = batch(&source, MUCH).await;
        assert_eq!(found[0].partition, Partition::new("channel 2"));
        seen.extend(ids(&found));
        let all = found.len();
        assert_eq!(
            settle(&source, &found, Settle::Ack).await,
            vec![Settled::Done; all]
        );
    }
    assert_eq!(source.facts().await.unwrap().lag, Some(0));
    world.end().await;
}

#[tokio::test]
async fn a_queue_that_is_deleted_is_an_error_until_it_is_back() {
    let world = World::new().await;
    world.publish(&["a", "b"]).await;
    let source = world.open("").await;
    let first = take(&source, 2).await;
    // Deleting a queue cancels its consumer; what was delivered is worthless.
    world.delete().await;
    let lost = event(&source, Want::NOTHING).await;
    assert!(matches!(lost, Event::Gone(_)), "{lost:?}");
    assert_eq!(
        settle(&source, &first, Settle::Ack).await,
        [Settled::Gone; 2]
    );
    let error = source.next(MUCH).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid);
    world.create().await;
    world.publish(&["c"]).await;
    let again = batch(&source, MUCH).await;
    assert_eq!(ids(&again), ["c"]);
    assert_eq!(again[0].partition, Partition::new("channel 2"));
    assert_eq!(settle(&source, &again, Settle::Ack).await, [Settled::Done]);
    world.end().await;
}

#[tokio::test]
async fn a_loss_is_said_to_a_reader_that_wants_nothing_and_it_reads_on() {
    let world = World::new().await;
    world.publish(&["a", "b"]).await;
    let proxy = Proxy::start(world.socket()).await;
    let source = AmqpSource::from_url(&world.url_through(proxy.addr(), ""), "reader").unwrap();
    let first = take(&source, 1).await;
    let cut = async {
        sleep(Duration::from_millis(200)).await;
        proxy.cut_all();
    };
    let (lost, ()) = tokio::join!(event(&source, Want::NOTHING), cut);
    assert!(matches!(lost, Event::Gone(_)), "{lost:?}");
    assert!(
        timeout(Duration::from_millis(500), source.next(Want::NOTHING))
            .await
            .is_err()
    );
    let again = take(&source, 2).await;
    assert_eq!(ids(&again), ["a", "b"]);
    assert_eq!(settle(&source, &first, Settle::Ack).await, [Settled::Gone]);
    assert_eq!(
        settle(&source, &again, Settle::Ack).await,
        [Settled::Done; 2]
    );
    // The second answer of a delivery never reaches the broker, which would close the channel.
    assert_eq!(
        settle(&source, &again, Settle::Ack).await,
        [Settled::Gone; 2]
    );
    world.publish(&["c"]).await;
    let more = batch(&source, MUCH).await;
    assert_eq!(more[0].partition, again[0].partition);
    world.end().await;
}

#[tokio::test]
async fn a_broker_that_does_not_answer_is_asked_once_and_read_when_it_does() {
    let world = World::new().await;
    world.publish(&["a"]).await;
    let proxy = Proxy::start(world.socket()).await;
    proxy.stall();
    let url = world.url_through(proxy.addr(), "timeout=100ms");
    let source = AmqpSource::from_url(&url, "reader").unwrap();
    for _ in 0..5 {
        let error = source.open(Vec::new()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Unavailable);
    }
    assert_eq!(proxy.counts().connections, 1, "each has a thread");
    proxy.resume();
    assert_eq!(ids(&take(&source, 1).await), ["a"]);
    world.end().await;
}

#[tokio::test]
async fn a_loss_before_anything_was_handed_out_is_a_passing_error() {
    let world = World::new().await;
    let proxy = Proxy::start(world.socket()).await;
    let source = AmqpSource::from_url(&world.url_through(proxy.addr(), ""), "reader").unwrap();
    let waits = timeout(Duration::from_millis(500), source.next(MUCH)).await;
    assert!(waits.is_err(), "{waits:?}");
    proxy.cut_all();
    let error = source.next(MUCH).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable);
    world.publish(&["a"]).await;
    assert_eq!(ids(&take(&source, 1).await), ["a"]);
    world.end().await;
}
