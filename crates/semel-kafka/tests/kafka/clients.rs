//! Messages of other people's clients: confluent-kafka for Python in all codecs, and events of the CloudEvents SDK.

use bytes::Bytes;
use semel_core::inbox::Message;
use semel_inbox::source::Settle;
use semel_inbox::{Consumer, Rule};
use tokio::process::Command;

use crate::support::{Topic, broker};

const PRODUCE: &str = r#"
import sys
from confluent_kafka import Producer
broker, topic = sys.argv[1:]
for codec in ["none", "gzip", "snappy", "lz4", "zstd"]:
    producer = Producer({"bootstrap.servers": broker, "compression.type": codec, "linger.ms": 50})
    for n in range(20):
        producer.produce(topic, key=b"k-%d" % n, value=b"x" * 500, headers=[("message-id", f"{codec}-{n}"), ("n", None), ("n", b"\xff")])
    assert producer.flush(20) == 0
producer.produce(topic, key=b"gone", value=None, headers=[("idempotency-key", "tombstone")])
event = {"ce_specversion": "1.0", "ce_id": "7", "ce_source": "/python", "ce_type": "order.paid", "content-type": "application/json"}
producer.produce(topic, key=b"o-1", value=b'{"n":1}', headers=list(event.items()))
assert producer.flush(20) == 0
"#;

#[tokio::test]
async fn messages_of_confluent_kafka_are_read_in_every_codec() {
    let topic = Topic::new(3).await;
    produce(PRODUCE, &topic).await;
    let reader = topic.reader("").await;
    let found = reader.take(102).await;
    let consumer = Consumer::new("c".parse().unwrap());
    let messages: Vec<Message> = found
        .iter()
        .flat_map(|delivery| Rule::broker().messages(&consumer, &delivery.raw))
        .collect();
    assert!(
        messages
            .iter()
            .all(|message| message.unreadable().is_none())
    );
    let with = |key: &str| {
        let mut all = messages.iter().zip(&found);
        all.find(|(message, _)| message.identity().key().as_str().contains(key))
    };
    for codec in ["none", "gzip", "snappy", "lz4", "zstd"] {
        let (_, delivery) = with(&format!("{codec}-19")).expect(codec);
        assert_eq!(delivery.raw.payload.as_deref(), Some(&[b'x'; 500][..]));
        let own = delivery.raw.headers[1..]
            .iter()
            .map(|(_, value)| value.clone());
        assert_eq!(
            own.collect::<Vec<_>>(),
            [None, Some(Bytes::from_static(b"\xff"))]
        );
    }
    let (_, tombstone) = with("tombstone").expect("a tombstone");
    assert_eq!(tombstone.raw.payload, None);
    let event = messages
        .iter()
        .find(|message| message.kind() == Some("order.paid"));
    assert!(event.is_some(), "a CloudEvent in headers");
    reader.settle(&found, Settle::Ack).await;
    reader.close().await;
}

const EVENTS: &str = r#"
import sys
from cloudevents.core.bindings import kafka
from cloudevents.core.v1.event import CloudEvent
from confluent_kafka import Producer
broker, topic = sys.argv[1:]
producer = Producer({"bootstrap.servers": broker})
attributes = {"id": "7", "source": "/sdk#1", "type": "order.paid", "specversion": "1.0", "datacontenttype": "application/json", "partitionkey": "o-1"}
event = CloudEvent(attributes, {"n": 1})
for message in [kafka.to_binary_event(event), kafka.to_structured_event(event)]:
    producer.produce(topic, key=message.key, value=message.value, headers=list(message.headers.items()))
assert producer.flush(20) == 0
"#;

#[tokio::test]
async fn an_event_of_the_cloud_events_sdk_is_one_message_in_either_mode() {
    let topic = Topic::new(1).await;
    produce(EVENTS, &topic).await;
    let reader = topic.reader("").await;
    let found = reader.take(2).await;
    let consumer = Consumer::new("c".parse().unwrap());
    for delivery in &found {
        let messages = Rule::broker().messages(&consumer, &delivery.raw);
        assert_eq!(messages[0].identity().key().as_str(), "/sdk%231#7");
        assert_eq!(messages[0].kind(), Some("order.paid"));
        assert_eq!(messages[0].lane().map(|lane| lane.as_str()), Some("o-1"));
    }
    reader.settle(&found, Settle::Ack).await;
    reader.close().await;
}

/// Runs a producer written in Python.
async fn produce(script: &str, topic: &Topic) {
    let python = std::env::var("SEMEL_TEST_CLIENTS")
        .expect("SEMEL_TEST_CLIENTS is not set; get it with `cargo xtask services up clients`");
    let mut produce = Command::new(python);
    produce.args(["-c", script, &broker(), &topic.name]);
    let produced = produce.output().await.expect("a Python that runs");
    let said = String::from_utf8_lossy(&produced.stderr);
    assert!(produced.status.success(), "{said}");
}
