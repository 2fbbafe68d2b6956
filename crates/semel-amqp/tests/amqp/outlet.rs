//! Publishing.

use std::time::Duration;

use bytes::Bytes;
use lapin::ExchangeKind;
use lapin::options::{ExchangeDeclareOptions, ExchangeDeleteOptions, QueueBindOptions};
use lapin::types::{AMQPValue, FieldTable};
use semel_amqp::AmqpOutlet;
use semel_inbox::Source;
use semel_inbox::intents::{Outgoing, Outlet, Sent};
use semel_testkit::proxy::Proxy;
use semel_testkit::server::Server;
use semel_testkit::sources::taking::{ids, take};

use crate::world::World;

fn outgoing(id: &str, key: Option<&str>) -> Outgoing {
    Outgoing {
        id: id.to_owned(),
        key: key.map(|key| Bytes::from(key.to_owned())),
        kind: Some("made".to_owned()),
        headers: vec![
            ("x-a".to_owned(), Some("1".into())),
            ("x-null".to_owned(), None),
        ],
        payload: Some(Bytes::from(id.to_owned())),
    }
}

fn outlet(world: &World) -> AmqpOutlet {
    AmqpOutlet::from_url(&world.url("")).unwrap()
}

#[tokio::test]
async fn messages_are_stored_with_id_and_headers_in_the_order_of_their_key() {
    let world = World::new().await;
    let outlet = outlet(&world);
    let messages = (0..300).map(|n| outgoing(&format!("m-{n:03}"), Some(["a", "b", "c"][n % 3])));
    let sent = outlet.send(messages.collect()).await;
    assert!(
        sent.iter().all(|sent| matches!(sent, Sent::Done(_))),
        "{sent:?}"
    );
    let unkeyed = (0..600).map(|n| outgoing(&format!("u-{n:03}"), None));
    let sent = outlet.send(unkeyed.collect()).await;
    assert!(sent.len() == 600 && sent.iter().all(|sent| matches!(sent, Sent::Done(_))));
    let source = world.open("").await;
    let found = take(&source, 900).await;
    let order = ids(&found);
    for key in 0..3 {
        let own = order.iter().filter(|id| id.starts_with("m-"));
        let own = own
            .map(|id| id[2..].parse::<usize>().unwrap())
            .filter(|n| n % 3 == key);
        assert!(own.is_sorted());
    }
    let raw = &found[0].raw;
    assert_eq!(raw.kind.as_deref(), Some("made"));
    for expected in [
        ("x-a", Some(Bytes::from_static(b"1"))),
        ("x-null", None),
        ("delivery-mode", Some(Bytes::from_static(b"2"))),
    ] {
        assert!(
            raw.headers.contains(&(expected.0.to_owned(), expected.1)),
            "{:?}",
            raw.headers
        );
    }
    world.end().await;
}

#[tokio::test]
async fn what_no_queue_is_bound_for_is_refused_and_nothing_else() {
    let world = World::new().await;
    let exchange = format!("x-{}", world.queue);
    let options = ExchangeDeclareOptions::default();
    let declared = world.channel.exchange_declare(
        exchange.as_str().into(),
        ExchangeKind::Direct,
        options,
        FieldTable::default(),
    );
    declared.await.unwrap();
    let base = world.url("").split('?').next().unwrap().to_owned();
    let url = format!("{base}?exchange={exchange}&routing_key=k");
    let outlet = AmqpOutlet::from_url(&url).unwrap();
    let messages = || {
        (0..50)
            .map(|n| outgoing(&format!("m-{n}"), None))
            .collect::<Vec<_>>()
    };
    let sent = outlet.send(messages()).await;
    assert!(
        sent.iter()
            .all(|sent| matches!(sent, Sent::Refused(why) if why.contains("NO_ROUTE"))),
        "{sent:?}"
    );
    let (queue, exchange_name) = (world.queue.as_str().into(), exchange.as_str().into());
    let bound = world.channel.queue_bind(
        queue,
        exchange_name,
        "k".into(),
        QueueBindOptions::default(),
        FieldTable::default(),
    );
    bound.await.unwrap();
    let sent = outlet.send(messages()).await;
    assert!(
        sent.iter().all(|sent| matches!(sent, Sent::Done(_))),
        "{sent:?}"
    );
    world
        .channel
        .exchange_delete(exchange.as_str().into(), ExchangeDeleteOptions::default())
        .await
        .unwrap();
    // A channel that is kept meets a missing exchange with messages on their way; the next one sees it before.
    let sent = outlet.send(messages()).await;
    assert!(
        sent.iter()
            .all(|sent| matches!(sent, Sent::Unknown(_) | Sent::NotSent(_))),
        "{sent:?}"
    );
    let sent = outlet.send(messages()).await;
    assert!(
        sent.iter().all(|sent| matches!(sent, Sent::NotSent(_))),
        "{sent:?}"
    );
    world.end().await;
}

#[tokio::test]
async fn a_queue_that_is_full_has_not_got_it_and_the_rest_of_the_key_waits() {
    let world = World::with(&[
        ("x-max-length", AMQPValue::LongInt(1)),
        ("x-overflow", AMQPValue::LongString("reject-publish".into())),
    ])
    .await;
    let outlet = outlet(&world);
    let sent = outlet
        .send(["a", "b", "c"].map(|id| outgoing(id, Some("k"))).to_vec())
        .await;
    assert!(matches!(sent[0], Sent::Done(_)), "{sent:?}");
    // The limit is looked at a moment after a message was taken in, so the second one may pass.
    assert!(matches!(sent[2], Sent::NotSent(_)), "{sent:?}");
    world.end().await;
}

#[tokio::test]
async fn a_confirmation_that_is_lost_leaves_the_outcome_unknown() {
    let world = World::new().await;
    let proxy = Proxy::start(world.socket()).await;
    let outlet = AmqpOutlet::from_url(&world.url_through(proxy.addr(), "timeout=2s")).unwrap();
    assert!(matches!(
        outlet.send(vec![outgoing("warm", None)]).await[0],
        Sent::Done(_)
    ));
    proxy.cut_after(0);
    let sent = outlet.send(vec![outgoing("a", None)]).await;
    assert!(matches!(sent[0], Sent::Unknown(_)), "{sent:?}");
    let mut again = outlet.send(vec![outgoing("a", None)]).await;
    while matches!(again[0], Sent::NotSent(_)) {
        tokio::time::sleep(Duration::from_millis(50)).await;
        again = outlet.send(vec![outgoing("a", None)]).await;
    }
    assert!(matches!(again[0], Sent::Done(_)), "{again:?}");
    let source = world.open("").await;
    assert_eq!(source.facts().await.unwrap().lag, Some(3));
    assert_eq!(ids(&take(&source, 3).await), ["warm", "a", "a"]);
    world.end().await;
}

#[tokio::test]
async fn a_broker_or_queue_that_is_not_there_gets_nothing() {
    let world = World::new().await;
    let missing = world.url("").replace(&world.queue, "missing");
    for url in ["amqp://127.0.0.1:1/?queue=q", &missing] {
        let outlet = AmqpOutlet::from_url(url).unwrap();
        let sent = outlet
            .send(vec![outgoing("a", None), outgoing("b", None)])
            .await;
        assert!(
            sent.iter().all(|sent| matches!(sent, Sent::NotSent(_))),
            "{sent:?}"
        );
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_is_too_large_is_refused_and_its_neighbours_are_sent() {
    let settings = ["max_message_size=100000"];
    let server = tokio::task::spawn_blocking(move || Server::start("rabbitmq", &settings));
    let server = server.await.unwrap();
    let world = World::at(&server.url(), &[]).await;
    let outlet = outlet(&world);
    let warm = outlet.send(vec![outgoing("warm", None)]).await;
    assert!(matches!(warm[0], Sent::Done(_)), "{warm:?}");
    let mut messages: Vec<Outgoing> = (0..20).map(|n| outgoing(&format!("m-{n}"), None)).collect();
    messages[7].payload = Some(Bytes::from(vec![b'x'; 200_000]));
    let sent = outlet.send(messages.clone()).await;
    assert!(
        !sent.iter().any(|sent| matches!(sent, Sent::Refused(_))),
        "it is not known whose fault it is: {sent:?}"
    );
    assert!(matches!(sent[7], Sent::Unknown(_)), "{sent:?}");
    let sent = outlet.send(messages).await;
    for (at, sent) in sent.iter().enumerate() {
        match at {
            7 => assert!(matches!(sent, Sent::Refused(_)), "{sent:?}"),
            _ => assert!(matches!(sent, Sent::Done(_)), "{at}: {sent:?}"),
        }
    }
    drop(world);
    tokio::task::spawn_blocking(move || drop(server))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broker_that_is_short_of_memory_gets_nothing_more_and_keeps_its_connection() {
    let settings = ["vm_memory_high_watermark.absolute=20MB"];
    let server = tokio::task::spawn_blocking(move || Server::start("rabbitmq", &settings));
    let server = server.await.unwrap();
    let world = World::at(&server.url(), &[]).await;
    let proxy = Proxy::start(world.socket()).await;
    let outlet = AmqpOutlet::from_url(&world.url_through(proxy.addr(), "timeout=1s")).unwrap();
    // The broker looks at its memory now and then, and says that it is short when a message comes, which it may take in later.
    let mut sent = outlet.send(vec![outgoing("a", None)]).await;
    while matches!(sent[0], Sent::Done(_)) {
        tokio::time::sleep(Duration::from_millis(100)).await;
        sent = outlet.send(vec![outgoing("a", None)]).await;
    }
    assert!(matches!(sent[0], Sent::Unknown(_)), "{sent:?}");
    for _ in 0..3 {
        let sent = outlet
            .send(vec![outgoing("a", None), outgoing("b", None)])
            .await;
        let is_blocked =
            |sent: &Sent| matches!(sent, Sent::NotSent(why) if why.contains("short of"));
        assert!(sent.iter().all(is_blocked), "{sent:?}");
    }
    assert_eq!(proxy.counts().connections, 1);
    drop(world);
    tokio::task::spawn_blocking(move || drop(server))
        .await
        .unwrap();
}
