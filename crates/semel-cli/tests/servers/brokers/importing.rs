//! `semel dlq import`.

use std::cell::Cell;
use std::process::{Command, Stdio};
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Value, json};

use super::{client, fresh, kafka, message, nats, nowhere, place, rabbit, sqs};
use crate::test_store::TestStore;

/// A consumer that the file names. Groups are named after it, so it is one of its own.
fn consumer() -> (String, TestStore) {
    let name = fresh("mailer").replace('_', "-");
    let file = format!("  {name}: {{ source: http, deliver: \"http://127.0.0.1:9/mail\" }}");
    let place = place(&file);
    (name, place)
}

fn import(place: &TestStore, consumer: &str, url: &str) -> Value {
    let words = ["dlq", "import", consumer, url, "--quiet", "1s", "--json"];
    place.semel(&words).json()
}

fn counts(stored: u64, duplicates: u64) -> Value {
    json!({ "stored": stored, "duplicates": duplicates, "conflicts": 0, "unreadable": 0 })
}

type Bury = dyn Fn(&[Value]);

/// Dead letters of a broker: how they come there, and how many are not settled.
struct DeadLetters {
    url: String,
    bury: Box<Bury>,
    left: Box<dyn Fn() -> Value>,
}

fn dead_letters_arrive_once(consumer: &str, place: &TestStore, broker: &DeadLetters) {
    let all = ["d-0", "d-1", "d-2"].map(|id| message(id, &format!("{{\"for\": \"{id}\"}}")));
    (broker.bury)(&all);
    assert_eq!(import(place, consumer, &broker.url), counts(3, 0));
    let words = ["inbox", "show", consumer, "d-1", "--json", "--payload"];
    let shown = place.semel(&words).json();
    assert_eq!(shown["arrived"]["payload"]["text"], r#"{"for": "d-1"}"#);
    assert_eq!(shown["message"]["state"], "RECEIVED");
    let headers = shown["arrived"]["headers"].as_array().unwrap();
    let is_trace = |header: &&Value| header["name"] == "x-trace";
    assert_eq!(
        headers.iter().find(is_trace).unwrap()["value"],
        "t-d-1",
        "{headers:?}"
    );
    assert_eq!((broker.left)(), 0, "settled at the broker");

    assert_eq!(import(place, consumer, &broker.url), counts(0, 0));
    (broker.bury)(&all[..1]);
    assert_eq!(import(place, consumer, &broker.url), counts(0, 1));
    assert_eq!((broker.left)(), 0);
}

#[test]
fn dead_letters_of_a_kafka_topic_arrive_once() {
    let (name, place) = consumer();
    let topic = fresh("dead").replace('_', "-");
    client("kafka_topic", &json!([topic, 2, {}]));
    let group = format!("semel-dlq-{name}");
    let sent = Rc::new(Cell::new(0));
    let (to, counted) = (topic.clone(), sent.clone());
    let bury = move |messages: &[Value]| {
        client("kafka_send", &json!([to, messages]));
        counted.set(counted.get() + messages.len() as u64);
    };
    let of = topic.clone();
    let left = move || {
        let offsets = client("kafka_offsets", &json!([of, 2, group]));
        json!(sent.get() - offsets.as_u64().unwrap())
    };
    let broker = DeadLetters {
        url: kafka(&topic),
        bury: Box::new(bury),
        left: Box::new(left),
    };
    dead_letters_arrive_once(&name, &place, &broker);
}

#[test]
fn dead_letters_of_a_rabbitmq_queue_arrive_once() {
    let (name, place) = consumer();
    let queue = fresh("orders");
    let dead = format!("{queue}.dead");
    let broker = DeadLetters {
        url: rabbit(&dead),
        bury: Box::new(move |messages| drop(client("rabbit_dead", &json!([queue, messages])))),
        left: Box::new(move || client("rabbit_count", &json!([dead]))),
    };
    dead_letters_arrive_once(&name, &place, &broker);
}

#[test]
fn dead_letters_of_an_sqs_queue_arrive_once() {
    let (name, place) = consumer();
    let queue = fresh("orders");
    let dead = format!("{queue}-dead");
    let broker = DeadLetters {
        url: sqs(&dead),
        bury: Box::new(move |messages| drop(client("sqs_dead", &json!([queue, messages])))),
        left: Box::new(move || client("sqs_count", &json!([dead]))),
    };
    dead_letters_arrive_once(&name, &place, &broker);
}

#[test]
fn messages_that_jetstream_gave_up_arrive_once() {
    let (name, place) = consumer();
    let [stream, advisories] = ["orders", "advisories"].map(|what| fresh(what).replace('_', "-"));
    let (dead, group) = (advisories.clone(), format!("semel-dlq-{name}"));
    let broker = DeadLetters {
        url: format!("{}?advisories=true", nats(&advisories)),
        bury: Box::new(move |messages| {
            drop(client("nats_dead", &json!([stream, advisories, messages])));
        }),
        left: Box::new(move || client("nats_consumers", &json!([dead]))[&group].clone()),
    };
    dead_letters_arrive_once(&name, &place, &broker);
}

#[test]
fn what_cannot_be_imported_is_said_with_its_exit_code() {
    let (name, place) = consumer();
    let (topic, away) = (fresh("none").replace('_', "-"), nowhere());
    let at = |scheme: &str, rest: &str| format!("{scheme}://hunter:hunter2@{away}/{rest}");
    let table = [
        ("http://127.0.0.1:9/x".to_owned(), 2, "the URL of a broker"),
        ("kafka://127.0.0.1:9092".to_owned(), 78, "a topic of Kafka"),
        (at("kafka", "t?sasl=nope"), 78, "sasl"),
        (at("amqp", "v"), 78, "queue"),
        (kafka(&topic), 78, topic.as_str()),
        (rabbit(&topic), 78, topic.as_str()),
        (nats(&topic), 78, topic.as_str()),
        (at("kafka", "t?sasl=plain"), 69, "kafka:t: "),
        (at("amqp", "v?queue=q&timeout=2s"), 69, "RabbitMQ"),
        (at("nats", "S?timeout=2s"), 69, "NATS"),
    ];
    for (url, code, said) in table {
        let ran = place.semel(&["dlq", "import", &name, &url, "--quiet", "1s"]);
        assert_eq!(ran.code, Some(code), "{url}: {ran:?}");
        assert!(ran.stderr.contains(said), "{url}: {ran:?}");
        assert!(!ran.stderr.contains("hunter2"), "{url}: {ran:?}");
    }
    let unknown = place.semel(&["dlq", "import", "nobody", &kafka(&topic)]);
    assert_eq!(unknown.code, Some(3), "{unknown:?}");
}

/// How many messages the inbox has, by its file.
fn stored(place: &TestStore) -> u64 {
    let file = rusqlite::Connection::open(place.dir().join("semel.db")).unwrap();
    file.busy_timeout(Duration::from_secs(30)).unwrap();
    let sql = "SELECT count(*) FROM semel_messages";
    file.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn an_import_that_is_killed_loses_nothing() {
    const MESSAGES: u64 = 10_000;
    let (name, place) = consumer();
    let topic = fresh("dead").replace('_', "-");
    client("kafka_topic", &json!([topic, 1, {}]));
    let all: Vec<Value> = (0..MESSAGES)
        .map(|n| message(&format!("d-{n}"), "{}"))
        .collect();
    client("kafka_send", &json!([topic, all]));
    // The group waits so long for the member that is killed.
    let url = format!("{}?session=6s", kafka(&topic));
    let mut killed = Command::new(env!("CARGO_BIN_EXE_semel"))
        .args(["dlq", "import", &name, &url, "--store", &place.url])
        .current_dir(place.dir())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let has_begun = (0..6_000).any(|_| {
        std::thread::sleep(Duration::from_millis(5));
        stored(&place) > 0
    });
    assert!(has_begun, "nothing is imported");
    killed.kill().unwrap();
    killed.wait().unwrap();
    let before = stored(&place);

    let found = import(&place, &name, &url);
    assert_eq!(found["stored"], MESSAGES - before, "{found}");
    assert_eq!(
        (found["conflicts"].clone(), stored(&place)),
        (json!(0), MESSAGES)
    );
    let offsets = client(
        "kafka_offsets",
        &json!([topic, 1, format!("semel-dlq-{name}")]),
    );
    assert_eq!(offsets, MESSAGES);
}
