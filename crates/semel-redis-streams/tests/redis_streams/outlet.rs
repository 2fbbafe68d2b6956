//! What is published.

use bytes::Bytes;
use semel_inbox::intents::{Outgoing, Outlet, Sent};
use semel_redis_streams::RedisStreamsOutlet;
use semel_testkit::sources::taking::take;

use crate::common::Stream;

fn message(number: usize) -> Outgoing {
    Outgoing {
        id: format!("i-{number}"),
        key: Some(Bytes::from_static(b"k\xff")),
        kind: Some("order.paid".to_owned()),
        headers: vec![
            ("a".to_owned(), Some(Bytes::from_static(b"\x00"))),
            ("a".to_owned(), None),
        ],
        payload: Some(Bytes::from(number.to_string())),
    }
}

#[tokio::test]
async fn a_published_message_is_read_as_it_was() {
    let stream = Stream::new().await;
    let outlet = RedisStreamsOutlet::from_url(&stream.url("")).unwrap();
    let sent = outlet.send((0..450).map(message).collect()).await;
    assert_eq!(sent.len(), 450);
    assert!(
        sent.iter()
            .all(|sent| matches!(sent, Sent::Done(place) if place.starts_with(&stream.name)))
    );
    let source = stream.source("").await;
    let all = take(&source, 450).await;
    for (number, delivery) in all.iter().enumerate() {
        let raw = &delivery.raw;
        assert_eq!(raw.payload, Some(Bytes::from(number.to_string())));
        assert_eq!(raw.key, Some(Bytes::from_static(b"k\xff")));
        let names: Vec<_> = raw.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["message-id", "kind", "a", "a"]);
        assert_eq!(raw.headers[0].1, Some(Bytes::from(format!("i-{number}"))));
    }
    stream.delete().await;
}

#[tokio::test]
async fn a_key_that_is_no_stream_is_no_messages_fault() {
    let stream = Stream::new().await;
    stream.ask("SET", &[&stream.name, "x"]).await;
    let outlet = RedisStreamsOutlet::from_url(&stream.url("")).unwrap();
    let sent = outlet.send(vec![message(0), message(1)]).await;
    assert!(
        matches!(sent[..], [Sent::NotSent(_), Sent::NotSent(_)]),
        "{sent:?}"
    );
    stream.delete().await;
}

#[tokio::test]
async fn a_message_with_too_many_headers_is_refused_and_nothing_follows_it() {
    let stream = Stream::new().await;
    let outlet = RedisStreamsOutlet::from_url(&stream.url("")).unwrap();
    let large = Outgoing {
        headers: vec![("h".to_owned(), None); 1001],
        ..message(1)
    };
    let sent = outlet.send(vec![message(0), large, message(2)]).await;
    assert!(
        matches!(
            sent[..],
            [Sent::Done(_), Sent::Refused(_), Sent::NotSent(_)]
        ),
        "{sent:?}"
    );
    stream.delete().await;
}

#[tokio::test]
async fn maxlen_trims_and_a_missing_payload_stays_missing() {
    let stream = Stream::new().await;
    let outlet = RedisStreamsOutlet::from_url(&stream.url("maxlen=100")).unwrap();
    outlet.send((0..1000).map(message).collect()).await;
    let redis::Value::Int(length) = stream.ask("XLEN", &[&stream.name]).await else {
        panic!("no length")
    };
    assert!((100..300).contains(&length), "{length}");
    stream.delete().await;
    let nothing = Outgoing {
        payload: None,
        ..message(0)
    };
    outlet.send(vec![nothing]).await;
    let source = stream.source("").await;
    assert_eq!(take(&source, 1).await[0].raw.payload, None);
    stream.delete().await;
}
