//! A broker of its own that is killed and started again.

use std::time::Duration;

use semel_amqp::AmqpOutlet;
use semel_inbox::Source;
use semel_inbox::intents::{Outlet, Sent};
use semel_inbox::source::{Event, Settle, Settled};
use semel_testkit::server::Server;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{batch, event, ids, outgoing, settle};

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
    let mut seen = std::collections::BTreeSet::new();
    while !["a", "b", "c"].iter().all(|id| seen.contains(*id)) {
        let found = batch(&source, MUCH).await;
        seen.extend(ids(&found));
        let items = found.iter().map(|d| (d.handle.clone(), Settle::Ack));
        source.settle(items.collect()).await.unwrap();
    }
    // The channel is closed by the broker, and the connection lives.
    world.publish(&["slow"]).await;
    let slow = batch(&source, MUCH).await;
    let lost = event(&source, MUCH).await;
    let Event::Gone(gone) = lost else {
        panic!("the loss expected, found {lost:?}");
    };
    assert_eq!(gone.partitions, [slow[0].partition.clone()]);
    assert_eq!(settle(&source, &slow, Settle::Ack).await, [Settled::Gone]);
    let again = batch(&source, MUCH).await;
    assert_eq!(ids(&again), ["slow"]);
    assert_eq!(settle(&source, &again, Settle::Ack).await, [Settled::Done]);
    tokio::task::spawn_blocking(move || drop(server))
        .await
        .unwrap();
}
