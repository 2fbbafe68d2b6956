//! Publishing.

use std::time::Duration;

use bytes::Bytes;
use semel_inbox::Source;
use semel_inbox::intents::{Outgoing, Outlet, Sent};
use semel_nats::NatsOutlet;
use semel_testkit::proxy::Proxy;
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{batch, ids, take};

use crate::world::World;

fn outgoing(id: &str, key: Option<&str>) -> Outgoing {
    Outgoing {
        id: id.to_owned(),
        key: key.map(|key| Bytes::from(key.to_owned())),
        kind: Some("made".to_owned()),
        headers: vec![
            ("x-a".to_owned(), Some("1".into())),
            ("x-a".to_owned(), Some("2".into())),
        ],
        payload: Some(Bytes::from(id.to_owned())),
    }
}

fn outlet(world: &World, options: &str) -> NatsOutlet {
    let url = format!("nats://{}/{}?{options}", world.addr, world.subject("out"));
    NatsOutlet::from_url(&url).unwrap()
}

#[tokio::test]
async fn messages_are_stored_once_with_their_id_and_headers_in_the_order_of_their_key() {
    let world = World::new().await;
    let outlet = outlet(&world, "");
    let messages: Vec<Outgoing> = (0..300)
        .map(|n| outgoing(&format!("m-{n:03}"), Some(["a", "b", "c"][n % 3])))
        .collect();
    let sent = outlet.send(messages.clone()).await;
    assert!(
        sent.iter().all(|sent| matches!(sent, Sent::Done(_))),
        "{sent:?}"
    );
    let again = outlet.send(messages).await;
    assert_eq!(
        sent, again,
        "duplicates are answered with the place of the first"
    );
    let source = world.open("").await;
    let mut found = Vec::new();
    while found.len() < 300 {
        found.extend(batch(&source, MUCH).await);
    }
    for key in 0..3 {
        let numbers = found.iter().map(|d| d.raw.id.clone().unwrap());
        let numbers = numbers.map(|id| id[2..].parse::<usize>().unwrap());
        assert!(numbers.filter(|n| n % 3 == key).is_sorted());
    }
    let raw = &found[0].raw;
    let named = |name: &str| {
        let own = raw.headers.iter().filter(|(known, _)| known == name);
        own.map(|(_, value)| value.clone().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(named("message-id"), [Bytes::from(raw.id.clone().unwrap())]);
    assert_eq!(named("kind"), [Bytes::from_static(b"made")]);
    assert_eq!(named("x-a"), [&b"1"[..], b"2"].map(Bytes::from_static));
    world.end().await;
}

#[tokio::test]
async fn what_no_stream_takes_in_is_not_sent_and_what_is_too_large_is_refused() {
    let world = World::with(|config| config.max_message_size = 1000).await;
    let url = format!("nats://{}/no.stream.{}", world.addr, world.stream);
    let nowhere = NatsOutlet::from_url(&url).unwrap();
    let sent = nowhere.send(vec![outgoing("a", None)]).await;
    assert!(
        matches!(&sent[0], Sent::NotSent(why) if why.contains("no stream")),
        "{sent:?}"
    );
    let outlet = outlet(&world, "");
    let mut large = outgoing("large", Some("k"));
    large.payload = Some(Bytes::from(vec![b'x'; 2000]));
    let mut huge = outgoing("huge", None);
    huge.payload = Some(Bytes::from(vec![b'x'; 9 * 1024 * 1024]));
    let sent = outlet
        .send(vec![
            large,
            outgoing("after", Some("k")),
            huge,
            outgoing("other", None),
        ])
        .await;
    assert!(matches!(sent[0], Sent::Refused(_)), "{sent:?}");
    assert!(
        matches!(sent[1], Sent::NotSent(_)),
        "none after one of its key that failed: {sent:?}"
    );
    assert!(matches!(sent[2], Sent::Refused(_)), "{sent:?}");
    assert!(matches!(sent[3], Sent::Done(_)), "{sent:?}");
    let source = world.open("").await;
    assert_eq!(ids(&batch(&source, MUCH).await), ["other"]);
    world.end().await;
}

#[tokio::test]
async fn an_answer_that_is_lost_leaves_the_outcome_unknown_and_a_second_try_stores_nothing_more() {
    let world = World::new().await;
    let proxy = Proxy::start(world.socket()).await;
    let url = format!(
        "nats://{}/{}?timeout=1s",
        proxy.addr(),
        world.subject("out")
    );
    let outlet = NatsOutlet::from_url(&url).unwrap();
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
    assert_eq!(ids(&take(&source, 2).await), ["warm", "a"]);
    assert_eq!(source.facts().await.unwrap().lag, Some(0));
    world.end().await;
}

#[tokio::test]
async fn a_server_that_is_not_there_gets_nothing() {
    let outlet = NatsOutlet::from_url("nats://127.0.0.1:1/a.b").unwrap();
    let sent = outlet
        .send(vec![outgoing("a", None), outgoing("b", None)])
        .await;
    assert!(
        sent.iter().all(|sent| matches!(sent, Sent::NotSent(_))),
        "{sent:?}"
    );
}
