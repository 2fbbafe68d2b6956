//! A producer of another language: `pika`.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use lapin::types::AMQPValue;
use semel_core::Kind;
use semel_inbox::Source;
use semel_inbox::source::{Event, Settle, Settled};
use semel_testkit::sources::MUCH;
use semel_testkit::sources::taking::{ids, settle, take};
use tokio::time::timeout;

use crate::world::World;

const PATIENCE: Duration = Duration::from_secs(30);

const PRODUCER: &str = r#"
import sys, pika

url, queue = sys.argv[1:]
connection = pika.BlockingConnection(pika.URLParameters(url))
channel = connection.channel()
channel.confirm_delivery()
for number in range(3):
    properties = pika.BasicProperties(
        message_id=f"py-{number}", content_type="application/json", delivery_mode=2,
        headers={"x-number": number, "x-flag": True, "x-none": None, "x-list": [1, "a"], "cloudEvents:type": "t"})
    channel.basic_publish("", queue, b"{}", properties, mandatory=True)
connection.close()
"#;

/// A message whose id is no UTF-8, which the client library of this crate cannot decode.
const BROKEN: &str = r#"
import sys, pika

url, queue = sys.argv[1:]
connection = pika.BlockingConnection(pika.URLParameters(url))
channel = connection.channel()
channel.confirm_delivery()
channel.basic_publish("", queue, b"x", pika.BasicProperties(message_id=b"\xff\xfe", delivery_mode=2))
connection.close()
"#;

/// Runs a program with the broker's address and the queue.
async fn run(program: &'static str, world: &World) {
    let python = std::env::var("SEMEL_TEST_CLIENTS");
    let python = python
        .expect("SEMEL_TEST_CLIENTS is not set; get it with `cargo xtask services up clients`");
    let url = world.url("").split('?').next().unwrap().to_owned();
    let queue = world.queue.clone();
    let ran = tokio::task::spawn_blocking(move || {
        let args = ["-c", program, &url, &queue];
        Command::new(python).args(args).output().unwrap()
    });
    let ran = ran.await.unwrap();
    let says = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{says}");
}

#[tokio::test]
async fn a_delivery_that_cannot_be_decoded_is_an_error_and_harms_none_of_the_others() {
    let quorum = ("x-queue-type", AMQPValue::LongString("quorum".into()));
    let world = World::with(&[quorum, ("x-delivery-limit", AMQPValue::LongInt(5))]).await;
    let good: Vec<String> = (0..5).map(|n| format!("m-{n}")).collect();
    let good: Vec<&str> = good.iter().map(String::as_str).collect();
    world.publish(&good).await;
    run(BROKEN, &world).await;
    let source = world.open("").await;
    let (mut errors, mut is_taken, mut seen) = (0, false, BTreeSet::new());
    // It is in the way until the queue gives it up; of those that were pushed with it none is given up.
    while !seen.contains("after") {
        match timeout(PATIENCE, source.next(MUCH)).await.unwrap() {
            Ok(Event::Batch(batch)) => {
                settle(&source, &batch.deliveries, Settle::Ack).await;
                seen.extend(ids(&batch.deliveries));
                is_taken = true;
            }
            Ok(Event::Gone(_)) => {
                assert!(is_taken, "after a loss the pump tries again at once");
                is_taken = false;
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert_eq!(error.kind(), Kind::Invalid, "{error}");
                assert!(error.to_string().contains("cannot be decoded"), "{error}");
                errors += 1;
                if errors == 2 {
                    world.publish(&["after"]).await;
                }
            }
        }
    }
    assert!(good.iter().all(|id| seen.contains(*id)), "{seen:?}");
    world.end().await;
}

#[tokio::test]
async fn what_a_python_producer_sends_is_read_with_its_id_and_headers() {
    let world = World::new().await;
    run(PRODUCER, &world).await;
    let source = world.open("").await;
    let found = take(&source, 3).await;
    assert_eq!(ids(&found), ["py-0", "py-1", "py-2"]);
    let headers = &found[1].raw.headers;
    for (name, value) in [
        ("content-type", Some("application/json")),
        ("x-number", Some("1")),
        ("x-flag", Some("true")),
        ("x-none", None),
        ("x-list", Some(r#"[1,"a"]"#)),
        ("cloudEvents:type", Some("t")),
    ] {
        let expected = (name.to_owned(), value.map(Into::into));
        assert!(headers.contains(&expected), "{name}: {headers:?}");
    }
    assert_eq!(
        settle(&source, &found, Settle::Ack).await,
        [Settled::Done; 3]
    );
    world.end().await;
}
