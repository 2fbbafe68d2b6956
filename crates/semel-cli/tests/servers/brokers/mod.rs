//! The verbs that speak to brokers: real brokers, other people's clients, and the binary.

mod checking;
mod feeding;
mod importing;
mod observing;
mod processed;

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::test_store::TestStore;
pub(crate) use crate::test_store::fresh;

const CLIENTS: &str = include_str!("clients.py");

/// Calls a function of `clients.py`; at most two minutes.
pub(crate) fn client(call: &str, args: &Value) -> Value {
    let python = variable("SEMEL_TEST_CLIENTS", "clients");
    let mut child = Command::new("timeout")
        .args(["120", &python, "-c", CLIENTS, call])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The arguments may be too long for a command line.
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(args.to_string().as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{call}: {}: {said}", output.status);
    serde_json::from_slice(&output.stdout).unwrap()
}

fn variable(name: &str, service: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: run `cargo xtask test`, or `cargo xtask services up {service}` and export what it prints")
    })
}

/// Where the brokers are.
pub(crate) fn kafka(topic: &str) -> String {
    format!(
        "kafka://{}/{topic}",
        variable("SEMEL_TEST_KAFKA", "kafka").trim_end_matches('/')
    )
}

pub(crate) fn rabbit(queue: &str) -> String {
    let url = variable("SEMEL_TEST_RABBITMQ", "rabbitmq");
    format!("{url}?queue={queue}")
}

pub(crate) fn nats(stream: &str) -> String {
    let url = variable("SEMEL_TEST_NATS", "nats");
    format!("{}/{stream}", url.trim_end_matches('/'))
}

pub(crate) fn sqs(queue: &str) -> String {
    let endpoint = variable("SEMEL_TEST_SQS", "sqs");
    format!("sqs://eu-central-1/{queue}?endpoint={endpoint}&credentials=none&wait=1s")
}

/// A message for `clients.py`.
pub(crate) fn message(id: &str, payload: &str) -> Value {
    json!({ "id": id, "payload": payload, "headers": { "message-id": id, "x-trace": format!("t-{id}") } })
}

/// An empty inbox in a file, and a configuration file with these consumers.
pub(crate) fn place(consumers: &str) -> TestStore {
    let place = TestStore::at("sqlite:semel.db");
    let path = place.dir().join("semel.db");
    drop(semel_sqlite::Config::new(path).open().unwrap());
    let file = format!("store: sqlite:semel.db\nconsumers:\n{consumers}\n");
    std::fs::write(place.dir().join("semel.yaml"), file).unwrap();
    place
}

/// An address at which nothing listens.
pub(crate) fn nowhere() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}
