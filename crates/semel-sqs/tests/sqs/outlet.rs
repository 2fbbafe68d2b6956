//! What is sent.

use bytes::Bytes;
use semel_inbox::intents::{Outgoing, Outlet, Sent};
use semel_inbox::source::{HeaderField, Settle};
use semel_sqs::SqsOutlet;
use semel_testkit::sources::taking::{settle, take};

use crate::common::{Queue, message};

fn field(name: &str, value: Option<&'static [u8]>) -> HeaderField {
    (name.to_owned(), value.map(Bytes::from_static))
}

#[tokio::test]
async fn a_message_is_read_as_it_was_sent() {
    let queue = Queue::new().await;
    let headers = [
        vec![field("a", Some(b"1")), field("b", Some(b"\xff\x00"))],
        vec![
            field("a", Some(b"1")),
            field("a", None),
            field("a", Some(b"")),
        ],
        (0..12)
            .map(|number| field(&format!("h{number}"), Some(b"x")))
            .collect(),
    ];
    let payloads: [Option<&'static [u8]>; 4] =
        [None, Some(b""), Some(b"\x00\xff"), Some("tëxt".as_bytes())];
    let source = queue.source("").await;
    for headers in headers {
        for payload in payloads {
            let sent = Outgoing {
                payload: payload.map(Bytes::from_static),
                ..message(1, None, headers.clone())
            };
            let sent = queue.outlet().send(vec![sent]).await;
            assert!(matches!(sent[..], [Sent::Done(_)]), "{sent:?}");
            let delivery = take(&source, 1).await.remove(0);
            settle(&source, std::slice::from_ref(&delivery), Settle::Ack).await;
            let mut found = delivery.raw.headers;
            let id = found
                .iter()
                .position(|(name, _)| name == "message-id")
                .unwrap();
            assert_eq!(found.remove(id), field("message-id", Some(b"m-1")));
            assert_eq!(found, headers);
            assert_eq!(delivery.raw.payload.as_deref(), payload);
        }
    }
    queue.delete().await;
}

#[tokio::test]
async fn large_messages_go_in_several_calls_and_too_large_ones_are_refused() {
    let queue = Queue::new().await;
    let large = |number, size| Outgoing {
        payload: Some(Bytes::from(vec![b'x'; size])),
        ..message(number, None, Vec::new())
    };
    let messages = vec![
        large(0, 100_000),
        large(1, 100_000),
        large(2, 100_000),
        large(3, 2_000_000),
        large(4, 10),
    ];
    let sent = queue.outlet().send(messages).await;
    let done: Vec<_> = sent
        .iter()
        .map(|sent| matches!(sent, Sent::Done(_)))
        .collect();
    assert_eq!(done, [true, true, true, false, true], "{sent:?}");
    assert!(matches!(sent[3], Sent::Refused(_)), "{:?}", sent[3]);
    queue.delete().await;
}

#[tokio::test]
async fn what_cannot_reach_the_service_was_not_sent() {
    let queue = Queue::fifo().await;
    let away = SqsOutlet::from_url(&queue.url_at("http://127.0.0.1:1", "")).unwrap();
    let sent = away
        .send(vec![
            message(0, None, Vec::new()),
            message(1, None, Vec::new()),
        ])
        .await;
    assert!(
        matches!(sent[..], [Sent::NotSent(_), Sent::NotSent(_)]),
        "{sent:?}"
    );
    queue.delete().await;
    let sent = queue
        .outlet()
        .send(vec![message(0, None, Vec::new())])
        .await;
    assert!(matches!(sent[..], [Sent::NotSent(_)]), "{sent:?}");
}
