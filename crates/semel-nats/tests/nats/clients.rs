//! A producer of another language: `nats-py`.

use std::process::Command;

use semel_inbox::Source;
use semel_inbox::source::{Settle, Settled};
use semel_testkit::sources::taking::{ids, settle, take};

use crate::world::World;

const PRODUCER: &str = r#"
import asyncio, sys, nats

async def main(url, subject):
    client = await nats.connect(url)
    stream = client.jetstream()
    for number in range(3):
        for _ in range(2):
            headers = {"Nats-Msg-Id": f"py-{number}", "x-from": "nats-py"}
            await stream.publish(subject, b"{}", headers=headers)
    await client.close()

asyncio.run(main(*sys.argv[1:]))
"#;

#[tokio::test]
async fn what_a_python_producer_sends_is_read_with_its_id_and_headers() {
    let python = std::env::var("SEMEL_TEST_CLIENTS");
    let python = python
        .expect("SEMEL_TEST_CLIENTS is not set; get it with `cargo xtask services up clients`");
    let world = World::new().await;
    let (url, subject) = (format!("nats://{}", world.addr), world.subject("py"));
    let ran = tokio::task::spawn_blocking(move || {
        let args = ["-c", PRODUCER, &url, &subject];
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
    let from = ("x-from".to_owned(), Some("nats-py".into()));
    assert!(found[0].raw.headers.contains(&from));
    assert_eq!(
        settle(&source, &found, Settle::Ack).await,
        [Settled::Done; 3]
    );
    source.close().await.unwrap();
    world.end().await;
}
