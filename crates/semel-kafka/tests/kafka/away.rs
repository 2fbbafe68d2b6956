//! A broker of its own behind a proxy: connections are cut, and the broker is killed and started again.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use semel_inbox::Source;
use semel_inbox::intents::{Outlet, Sent};
use semel_inbox::source::{Event, Settle};
use semel_kafka::{KafkaOutlet, KafkaSource};
use semel_testkit::proxy::Proxy;
use semel_testkit::server::Server;
use semel_testkit::sources::taking::outgoing;
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::support::{MUCH, Topic, id, until};

type Seen = Arc<Mutex<BTreeSet<String>>>;

/// Reads and acknowledges as the pump does, for ever.
async fn read(source: Arc<KafkaSource>, seen: Seen) {
    loop {
        match source.next(MUCH).await {
            Ok(Event::Batch(batch)) => {
                seen.lock().unwrap().extend(batch.deliveries.iter().map(id));
                let items = batch.deliveries.iter();
                let items = items.map(|d| (d.handle.clone(), Settle::Ack)).collect();
                source.settle(items).await.unwrap();
            }
            Ok(Event::Gone(gone)) => drop(gone.flushed.map(|flushed| flushed.send(()))),
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert!(error.is_retryable(), "{error}");
                sleep(Duration::from_millis(100)).await;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn cut_connections_and_a_killed_broker_lose_nothing() {
    let proxy = Proxy::start(SocketAddr::from(([127, 0, 0, 1], 1))).await;
    let addr = proxy.addr().to_string();
    let listener = format!("advertised.listeners=PLAINTEXT://{addr}");
    let server = spawn_blocking(move || Server::start("kafka", &[&listener]));
    let server = Arc::new(server.await.unwrap());
    proxy.lead_to(server.url().parse().unwrap());
    let topic = Topic::at(addr.clone(), 2, &[]).await;
    let outlet =
        KafkaOutlet::from_url(&format!("kafka://{addr}/{}?timeout=3s", topic.name)).unwrap();
    let (source, seen) = (Arc::new(topic.source("")), Seen::default());
    source.open(Vec::new()).await.unwrap();
    let reading = tokio::spawn(read(source.clone(), seen.clone()));
    for turn in 0..6 {
        topic.publish_ids(turn * 50..turn * 50 + 50);
        match turn % 2 {
            0 => proxy.cut_after(200),
            _ => proxy.cut_all(),
        }
        sleep(Duration::from_millis(300)).await;
    }
    until("all come", || seen.lock().unwrap().len() == 300).await;
    assert!(proxy.counts().cut > 0, "something was cut");
    let sent = outlet.send(vec![outgoing("o-1")]).await;
    assert!(matches!(sent[0], Sent::Done(_)), "{sent:?}");

    let killed = server.clone();
    spawn_blocking(move || killed.kill()).await.unwrap();
    let sent = outlet.send(vec![outgoing("o-2")]).await;
    assert!(
        matches!(sent[0], Sent::NotSent(_) | Sent::Unknown(_)),
        "{sent:?}"
    );
    let restarted = server.clone();
    spawn_blocking(move || restarted.restart()).await.unwrap();
    while !matches!(outlet.send(vec![outgoing("o-3")]).await[0], Sent::Done(_)) {
        sleep(Duration::from_millis(200)).await;
    }
    topic.publish_ids(300..400);
    until("all come after the restart", || {
        let seen = seen.lock().unwrap();
        seen.contains("o-1") && seen.contains("o-3") && seen.range("m-".to_owned()..).count() >= 400
    })
    .await;
    reading.abort();
    source.close().await.unwrap();
    let committed: i64 = topic.committed().into_iter().flatten().sum();
    assert!(committed >= 402, "{committed}");
    drop((source, topic, outlet));
    spawn_blocking(move || drop(server)).await.unwrap();
}
