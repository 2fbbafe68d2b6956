//! A broker of its own that is killed and started again.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use semel_amqp::AmqpOutlet;
use semel_inbox::Source;
use semel_inbox::intents::{Outlet, Sent};
use semel_inbox::source::{Delivery, Event, Settle, Settled};
use semel_testkit::server::Server;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{batch, event, ids, nothing_for, outgoing, settle, take};

use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_killed_and_started_again_is_read_and_written_on() {
    let server =
        tokio::task::spawn_blocking(|| Server::start("rabbitmq", &["consumer_timeout=2000"]))
            .await
            .unwrap();
    let world = World::at(&server.url(), &[]).await;
    world.publish(&["a"]).await;
    let source = world.open("timeout=5s").await;
    let outlet = AmqpOutlet::from_url(&world.url("timeout=5s")).unwrap();
    let first = batch(&source, MUCH).await;
    assert_eq!(ids(&first), ["a"]);
    assert!(matches!(
        outlet.send(vec![outgoing("b")]).await[0],
        Sent::Done(_)
    ));
    let server = tokio::task::spawn_blocking(move || {
        server.kill();
        // From its next start on it looks at its timeouts every half second instead of every minute.
        let file = server.home().join("advanced.config");
        std::fs::write(file, "[{rabbit, [{channel_tick_interval, 500}]}].\n").unwrap();
        server
    });
    let server = server.await.unwrap();
    let sent = outlet.send(vec![outgoing("c")]).await;
    assert!(
        !matches!(sent[0], Sent::Done(_) | Sent::Refused(_)),
        "{sent:?}"
    );
    let lost = event(&source, semel_inbox::source::Want::NOTHING).await;
    assert!(matches!(lost, Event::Gone(_)), "{lost:?}");
    let handle = first[0].handle.clone();
    assert_eq!(
        source.settle(vec![(handle, Settle::Ack)]).await.unwrap(),
        [Settled::Gone]
    );
    let server = tokio::task::spawn_blocking(move || {
        server.restart();
        server
    });
    let server = server.await.unwrap();
    let world = World::again(&server.url(), &world.queue).await;
    let mut sent = outlet.send(vec![outgoing("c")]).await;
    while !matches!(sent[0], Sent::Done(_)) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        sent = outlet.send(vec![outgoing("c")]).await;
    }
    let mut seen = BTreeSet::new();
    while !["a", "b", "c"].iter().all(|id| seen.contains(*id)) {
        // A machine that stands still loses the channel by the short timeout, and what is lost comes again.
        let found = take(&source, 1).await;
        seen.extend(ids(&found));
        settle(&source, &found, Settle::Ack).await;
    }
    // The channel is closed by the broker, and the connection lives.
    world.publish(&["slow"]).await;
    let slow = take_named(&source, "slow").await;
    let lost = event(&source, MUCH).await;
    let Event::Gone(gone) = lost else {
        panic!("the loss expected, found {lost:?}");
    };
    assert_eq!(gone.partitions, std::slice::from_ref(&slow.partition));
    let handle = vec![(slow.handle, Settle::Ack)];
    assert_eq!(source.settle(handle).await.unwrap(), [Settled::Gone]);
    let mut settled = Settled::Gone;
    while settled != Settled::Done {
        let again = take_named(&source, "slow").await;
        settled = source
            .settle(vec![(again.handle, Settle::Ack)])
            .await
            .unwrap()[0];
    }
    tokio::task::spawn_blocking(move || drop(server))
        .await
        .unwrap();
}

/// The next delivery of a message; others, whose acknowledgement was lost, are acknowledged again.
async fn take_named(source: &dyn Source, id: &str) -> Delivery {
    loop {
        let mut found = take(source, 1).await;
        if ids(&found) == [id] {
            return found.remove(0);
        }
        settle(source, &found, Settle::Ack).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_stood_still_is_read_on_and_nothing_is_lost() {
    let server = tokio::task::spawn_blocking(|| Server::start("rabbitmq", &[]));
    let server = Arc::new(server.await.unwrap());
    let world = World::at(&server.url(), &[]).await;
    world.publish(&["a", "b"]).await;
    let source = world.open("timeout=2s").await;
    let first = take(&source, 2).await;
    let paused = server.clone();
    tokio::task::spawn_blocking(move || paused.pause())
        .await
        .unwrap();
    // AMQP does not confirm it: it is on its way.
    let settled = settle(&source, &first[..1], Settle::Ack).await;
    assert_eq!(settled, [Settled::Done]);
    nothing_for(&source, Duration::from_secs(3)).await;
    assert!(
        source
            .facts()
            .await
            .is_err_and(|error| error.is_retryable())
    );
    let paused = server.clone();
    tokio::task::spawn_blocking(move || paused.resume())
        .await
        .unwrap();
    world.publish(&["c"]).await;
    let mut seen = BTreeSet::new();
    if settle(&source, &first[1..], Settle::Ack).await == [Settled::Done] {
        seen.insert("b".to_owned());
    }
    while !["b", "c"].iter().all(|id| seen.contains(*id)) {
        let found = take(&source, 1).await;
        seen.extend(ids(&found));
        settle(&source, &found, Settle::Ack).await;
    }
    source.close().await.unwrap();
    let left = world.open("").await;
    assert_eq!(left.facts().await.unwrap().lag, Some(0));
    drop((world, left));
    tokio::task::spawn_blocking(move || drop(server))
        .await
        .unwrap();
}
