//! The outlet, read back by the source.

use bytes::Bytes;
use semel_inbox::intents::{Outgoing, Outlet, Sent};
use semel_inbox::source::Settle;
use semel_kafka::KafkaOutlet;

use crate::support::{Topic, broker, id};

fn outgoing(id: &str, key: Option<&'static str>) -> Outgoing {
    Outgoing {
        id: id.to_owned(),
        key: key.map(|key| Bytes::from_static(key.as_bytes())),
        kind: None,
        headers: Vec::new(),
        payload: Some(Bytes::from(id.to_owned())),
    }
}

fn outlet(topic: &str, options: &str) -> KafkaOutlet {
    KafkaOutlet::from_url(&format!("kafka://{}/{topic}{options}", broker())).unwrap()
}

#[tokio::test]
async fn a_message_is_published_with_its_id_its_key_and_its_headers() {
    let topic = Topic::new(1).await;
    let mut message = outgoing("i-1", Some("k"));
    message.headers = vec![
        (
            "Message-Id".to_owned(),
            Some(Bytes::from_static(b"another")),
        ),
        ("a".to_owned(), Some(Bytes::from_static(b"1"))),
        ("a".to_owned(), None),
    ];
    message.payload = None;
    let sent = outlet(&topic.name, "").send(vec![message]).await;
    assert_eq!(sent, [Sent::Done(format!("{}/0/0", topic.name))]);
    let reader = topic.reader("").await;
    let raw = reader.take(1).await.remove(0).raw;
    assert_eq!((raw.payload, raw.key.as_deref()), (None, Some(&b"k"[..])));
    let own = |name: &str, value| (name.to_owned(), value);
    let one = Some(Bytes::from_static(b"1"));
    let id = Some(Bytes::from_static(b"i-1"));
    assert_eq!(
        raw.headers,
        [own("message-id", id), own("a", one), own("a", None)]
    );
    reader.close().await;
}

#[tokio::test]
async fn messages_of_one_key_are_published_in_their_order() {
    let topic = Topic::new(3).await;
    let outlet = outlet(&topic.name, "");
    let keys = [Some("a"), Some("b"), None, Some("a")];
    let messages = (0..200).map(|n| outgoing(&format!("{n:03}"), keys[n % 4]));
    let sent = outlet.send(messages.collect()).await;
    assert!(sent.iter().all(|sent| matches!(sent, Sent::Done(_))));
    let reader = topic.reader("").await;
    let found = reader.take(200).await;
    for key in ["a", "b"] {
        let own = found
            .iter()
            .filter(|d| d.raw.key.as_deref() == Some(key.as_bytes()));
        assert!(own.map(id).is_sorted(), "{key}");
    }
    reader.settle(&found, Settle::Ack).await;
    reader.close().await;
}

#[tokio::test]
async fn what_is_refused_touches_only_itself_and_what_follows_under_its_key() {
    let topic = Topic::with(1, &[("max.message.bytes", "2000")]).await;
    let outlet = outlet(&topic.name, "");
    let mut large = outgoing("large", Some("a"));
    large.payload = Some(Bytes::from(vec![b'x'; 5_000]));
    let mut huge = outgoing("huge", None);
    huge.payload = Some(Bytes::from(vec![b'x'; 2_000_000]));
    let mut odd = outgoing("odd", None);
    odd.headers = vec![("a\0b".to_owned(), None)];
    let messages = vec![
        outgoing("first", Some("a")),
        large,
        outgoing("after", Some("a")),
        outgoing("other", Some("b")),
        huge,
        odd,
    ];
    let sent = outlet.send(messages).await;
    let kinds: Vec<&str> = sent.iter().map(kind).collect();
    let expected = ["Done", "Refused", "NotSent", "Done", "Refused", "Refused"];
    assert_eq!(kinds, expected, "{sent:?}");
    let again = outlet.send(vec![outgoing("after", Some("a"))]).await;
    assert_eq!(kind(&again[0]), "Done");
}

#[tokio::test]
async fn a_topic_that_is_not_there_and_a_broker_that_is_away_were_not_sent_to() {
    let sent = outlet("there-is-no-such-topic", "")
        .send(vec![outgoing("a", None)])
        .await;
    assert_eq!(
        kind(&sent[0]),
        "NotSent",
        "it may be made any moment: {sent:?}"
    );
    let nowhere = KafkaOutlet::from_url("kafka://127.0.0.1:1/t").unwrap();
    let sent = nowhere
        .send(vec![outgoing("a", None), outgoing("b", Some("k"))])
        .await;
    let kinds: Vec<&str> = sent.iter().map(kind).collect();
    assert_eq!(kinds, ["NotSent", "NotSent"], "{sent:?}");
}

fn kind(sent: &Sent) -> &'static str {
    match sent {
        Sent::Done(_) => "Done",
        Sent::NotSent(_) => "NotSent",
        Sent::Refused(_) => "Refused",
        Sent::Unknown(_) => "Unknown",
        _ => "another",
    }
}
