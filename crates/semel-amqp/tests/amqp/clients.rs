//! A producer of another language: `pika`.

use std::process::Command;

use semel_inbox::source::{Settle, Settled};
use semel_testkit::sources::taking::{ids, settle, take};

use crate::world::World;

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

#[tokio::test]
async fn what_a_python_producer_sends_is_read_with_its_id_and_headers() {
    let python = std::env::var("SEMEL_TEST_CLIENTS");
    let python = python
        .expect("SEMEL_TEST_CLIENTS is not set; get it with `cargo xtask services up clients`");
    let world = World::new().await;
    let (url, queue) = (
        world.url("").split('?').next().unwrap().to_owned(),
        world.queue.clone(),
    );
    let ran = tokio::task::spawn_blocking(move || {
        let args = ["-c", PRODUCER, &url, &queue];
        Command::new(python).args(args).output().unwrap()
    });
    let ran = ran.await.unwrap();
    assert!(
        ran.status.success(),
        "{}",
        String::from_utf8_lossy(&ran.stderr)
    );
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
