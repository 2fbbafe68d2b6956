//! A producer of another language: `boto3`.

use std::process::Command;

use semel_inbox::source::{Settle, Settled};
use semel_testkit::sources::taking::{settle, take};

use crate::common::Queue;

const PRODUCER: &str = r#"
import sys, boto3

endpoint, url, fifo = sys.argv[1:]
sqs = boto3.client("sqs", endpoint_url=endpoint, region_name="eu-central-1", aws_access_key_id="x", aws_secret_access_key="x")
for number in [0, 1, 1, 2]:
    own = {"MessageGroupId": "g", "MessageDeduplicationId": f"py-{number}"} if fifo == "true" else {}
    attributes = {
        "message-id": {"DataType": "String", "StringValue": f"py-{number}"},
        "bytes": {"DataType": "Binary", "BinaryValue": b"\xff\x00"},
    }
    sqs.send_message(QueueUrl=url, MessageBody="{}", MessageAttributes=attributes, **own)
"#;

#[tokio::test]
async fn what_boto3_sends_is_read_with_its_id_and_attributes() {
    for (queue, is_fifo) in [(Queue::new().await, false), (Queue::fifo().await, true)] {
        let python = std::env::var("SEMEL_TEST_CLIENTS");
        let python = python
            .expect("SEMEL_TEST_CLIENTS is not set; get it with `cargo xtask services up clients`");
        let (endpoint, url) = (queue.endpoint().to_owned(), queue.url.clone());
        let ran = tokio::task::spawn_blocking(move || {
            let args = ["-c", PRODUCER, &endpoint, &url, &is_fifo.to_string()];
            Command::new(python).args(args).output().unwrap()
        });
        let ran = ran.await.unwrap();
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success(), "{said}");
        let source = queue.source("").await;
        // A FIFO queue has dropped the one that was sent twice; a standard queue has it.
        let expected: &[&str] = match is_fifo {
            true => &["py-0", "py-1", "py-2"],
            false => &["py-0", "py-1", "py-1", "py-2"],
        };
        let mut ids = Vec::new();
        while ids.len() < expected.len() {
            let found = take(&source, 1).await;
            for delivery in &found {
                let header = |name: &str| {
                    let mut all = delivery.raw.headers.iter();
                    let found = all.find(|(known, _)| known == name);
                    found.and_then(|(_, value)| value.clone()).unwrap()
                };
                assert_eq!(header("bytes"), &[0xff, 0][..]);
                let id = String::from_utf8(header("message-id").to_vec()).unwrap();
                if is_fifo {
                    assert_eq!(delivery.raw.id.as_deref(), Some(&*id));
                    assert_eq!(delivery.raw.lane.as_deref(), Some("g"));
                }
                ids.push(id);
            }
            let settled = settle(&source, &found, Settle::Ack).await;
            assert!(settled.iter().all(|settled| *settled == Settled::Done));
        }
        ids.sort_unstable();
        assert_eq!(ids, expected);
    }
}
