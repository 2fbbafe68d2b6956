//! A server of its own that is killed and started again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::intents::{Outlet, Sent};
use semel_inbox::source::{Settle, Settled};
use semel_nats::NatsOutlet;
use semel_testkit::server::Server;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{batch, ids, nothing_for, outgoing, settle, take};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_and_started_again_is_read_and_written_on() {
    let server = tokio::task::spawn_blocking(|| Server::start("nats", &[]))
        .await
        .unwrap();
    let world = World::at(&server.url(), |_| {}).await;
    world.publish(&["a", "b"]).await;
    let source = world.open("ack_wait=2s&timeout=2s").await;
    let outlet = format!("nats://{}/{}?timeout=2s", world.addr, world.subject("out"));
    let outlet = NatsOutlet::from_url(&outlet).unwrap();
    let first = take(&source, 2).await;
    assert_eq!(ids(&first), ["a", "b"]);
    let item = vec![(first[0].handle.clone(), Settle::Ack)];
    assert_eq!(source.settle(item).await.unwrap(), [Settled::Done]);
    assert!(matches!(
        outlet.send(vec![outgoing("c")]).await[0],
        Sent::Done(_)
    ));
    let server = tokio::task::spawn_blocking(move || {
        server.kill();
        server
    });
    let server = server.await.unwrap();
    let sent = outlet.send(vec![outgoing("d")]).await;
    assert!(
        !matches!(sent[0], Sent::Done(_) | Sent::Refused(_)),
        "{sent:?}"
    );
    let server = tokio::task::spawn_blocking(move || {
        server.restart();
        server
    });
    let server = server.await.unwrap();
    let mut sent = outlet.send(vec![outgoing("d")]).await;
    while !matches!(sent[0], Sent::Done(_)) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        sent = outlet.send(vec![outgoing("d")]).await;
    }
    // The server writes acknowledgements down a moment later than it confirms them, so that "a" may come again after such an end.
    let mut seen = BTreeSet::new();
    while !["b", "c", "d"].iter().all(|id| seen.contains(*id)) {
        let found = batch(&source, MUCH).await;
        seen.extend(ids(&found));
        let items = found.iter().map(|d| (d.handle.clone(), Settle::Ack));
        source.settle(items.collect()).await.unwrap();
    }
    tokio::task::spawn_blocking(move || drop(server))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stood_still_is_read_on_and_nothing_is_lost() {
    let server = tokio::task::spawn_blocking(|| Server::start("nats", &[]));
    let server = Arc::new(server.await.unwrap());
    let world = World::at(&server.url(), |_| {}).await;
    world.publish(&["a", "b"]).await;
    let source = world.open("ack_wait=3s&timeout=1s").await;
    let first = take(&source, 2).await;
    let paused = server.clone();
    tokio::task::spawn_blocking(move || paused.pause())
        .await
        .unwrap();
    assert_eq!(
        settle(&source, &first[..1], Settle::Ack).await,
        [Settled::Later]
    );
    nothing_for(&source, Duration::from_secs(1)).await;
    let paused = server.clone();
    tokio::task::spawn_blocking(move || paused.resume())
        .await
        .unwrap();
    world.publish(&["c"]).await;
    let mut seen = BTreeSet::new();
    while !["b", "c"].iter().all(|id| seen.contains(*id)) {
        let found = take(&source, 1).await;
        seen.extend(ids(&found));
        settle(&source, &found, Settle::Ack).await;
    }
    drop(world);
    tokio::task::spawn_blocking(move || drop(server))
        .await
        .unwrap();
}
