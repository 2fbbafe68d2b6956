//! `semel observe --topic`.

use serde_json::{Value, json};

use super::{client, fresh, kafka, message, nats, place, rabbit};
use crate::test_store::{Ran, TestStore};

/// Messages with all that is worth knowing: a duplicate, a conflict, an id per attempt, a time as id, no id, and events with versions.
fn messages() -> Vec<Value> {
    let event = |id: &str, sequence: &str| {
        let headers = json!({
            "ce_specversion": "1.0", "ce_id": id, "ce_source": "/shop", "ce_type": "t",
            "ce_partitionkey": "order-1", "ce_sequence": sequence,
        });
        json!({ "payload": id, "headers": headers })
    };
    vec![
        message("a", "1"),
        message("a", "1"),
        message("a", "2"),
        message("b", "1"),
        message("1731750000123", "3"),
        json!({ "payload": "4", "headers": {} }),
        event("e-1", "1"),
        event("e-4", "4"),
        event("e-2", "2"),
    ]
}

/// What is said of them; how late the duplicate came is the brokers' business.
fn is_all(found: &Value) {
    let expected = json!({
        "messages": 9, "unreadable": 1, "duplicates": 1, "conflicts": 1, "same_content": 1, "times": 1, "gaps": 2, "older": 1,
        "unobserved": 0, "latest_duplicate_ms": found["latest_duplicate_ms"],
    });
    assert_eq!(*found, expected);
}

fn observe(place: &TestStore, url: &str, more: &[&str]) -> Ran {
    let words = [&["observe", "--topic", url, "--json"][..], more].concat();
    place.semel(&words)
}

#[test]
fn a_kafka_topic_is_observed_in_a_group_of_its_own() {
    let place = TestStore::at("sqlite:semel.db");
    let [topic, group, other] =
        ["seen", "semel-observe", "semel-observe"].map(|what| fresh(what).replace('_', "-"));
    client("kafka_topic", &json!([topic, 1, {}]));
    client("kafka_send", &json!([topic, messages()]));
    assert_eq!(client("kafka_offsets", &json!([topic, 1, "shop", 2])), 2);
    let url = format!("{}?group={group}", kafka(&topic));
    is_all(&observe(&place, &url, &["--quiet", "1s"]).json());
    let again = observe(&place, &url, &["--quiet", "1s"]).json();
    assert_eq!(again["messages"], 0, "it goes on where it ended");

    // Another group sees everything again, as far as it may.
    let url = format!("{}?group={other}", kafka(&topic));
    let ran = observe(&place, &url, &["--limit", "2"]);
    assert!(ran.stderr.contains("--limit"), "{ran:?}");
    let found = ran.json();
    assert_eq!(
        (&found["messages"], &found["duplicates"]),
        (&json!(2), &json!(1))
    );
    let ran = observe(&place, &url, &["--within", "100ms", "--quiet", "1h"]);
    assert!(ran.stderr.contains("--within"), "{ran:?}");

    // The URL of a consumer names its group, whose place must not move.
    let url = format!("{}?group=shop", kafka(&topic));
    let ran = observe(&place, &url, &["--quiet", "1s"]);
    assert!(ran.stderr.contains("the group of the URL stays"), "{ran:?}");
    is_all(&ran.json());
    assert_eq!(
        client("kafka_offsets", &json!([topic, 1, "shop"])),
        2,
        "the consumer's own place is as it was"
    );
    assert!(!place.dir().join("semel.db").exists(), "nothing is stored");
    let ran = place.semel(&[
        "observe",
        "--topic",
        &kafka(&fresh("none").replace('_', "-")),
    ]);
    assert_eq!(ran.code, Some(78), "{ran:?}");
}

#[test]
fn a_stream_of_nats_is_observed_and_a_queue_is_not() {
    let place = TestStore::at("sqlite:semel.db");
    let [stream, queue] = ["seen", "queue"].map(|what| fresh(what).replace('_', "-"));
    client("nats_stream", &json!([stream, {}]));
    client("nats_consumer", &json!([stream, "shop", -1]));
    let named = |message: Value| {
        let text = message.to_string().replace("\"ce_", "\"ce-");
        serde_json::from_str::<Value>(&text).unwrap()
    };
    let all: Vec<Value> = messages().into_iter().map(named).collect();
    client("nats_send", &json!([stream, all]));
    let ran = place.semel(&["observe", "--topic", &nats(&stream), "--quiet", "1s"]);
    let said = ran.done();
    for line in [
        "messages      9",
        "duplicates    1",
        "gaps          2   versions that are missing",
    ] {
        assert!(
            said.lines().any(|found| found.starts_with(line)),
            "{line}: {said}"
        );
    }
    let waiting = client("nats_consumers", &json!([stream]));
    assert_eq!(waiting, json!({ "shop": 9, "semel-observe": 0 }));

    client("nats_stream", &json!([queue, { "retention": "workqueue" }]));
    for url in [
        nats(&queue),
        rabbit("any"),
        "sqs://eu-central-1/any".to_owned(),
    ] {
        let ran = observe(&place, &url, &[]);
        assert_eq!(ran.code, Some(2), "{ran:?}");
        assert!(ran.stderr.contains("a queue cannot be observed"), "{ran:?}");
    }
    assert_eq!(client("nats_consumers", &json!([queue])), json!({}));
}

#[test]
fn ids_are_found_as_a_consumer_of_the_file_finds_them() {
    let topic = fresh("seen").replace('_', "-");
    client("kafka_topic", &json!([topic, 1, {}]));
    let order = |number| json!({ "payload": format!("{{\"order\": {number}}}"), "headers": {} });
    client(
        "kafka_send",
        &json!([topic, [order(1), order(1), order(2)]]),
    );
    let source = format!(
        "source: \"{}\", deliver: \"http://127.0.0.1:9/x\"",
        kafka(&topic)
    );
    let place = place(&format!(
        "  shop: {{ {source}, id: {{ body: \"$.order\" }} }}"
    ));
    let url = format!("{}?group={}", kafka(&topic), fresh("observer"));
    let found = observe(&place, &url, &["--consumer", "shop", "--quiet", "1s"]).json();
    assert_eq!(
        (&found["messages"], &found["duplicates"]),
        (&json!(3), &json!(1))
    );
    assert_eq!(found["unreadable"], 0);
    let ran = observe(&place, &url, &["--consumer", "shopp"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
}
