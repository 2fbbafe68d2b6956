//! The door for posted messages, and paths and variables in consumers.

use semel_policy::File;

use super::file;

#[test]
fn the_inbox_listens_on_loopback() {
    let inbox = file("").inbox;
    assert_eq!(inbox.listen.to_string(), "127.0.0.1:7072");
    let text = "inbox: { listen: '[::1]:1', limits: { connections: 7, in_flight: 8, header_bytes: 9KiB }, \
                timeouts: { header: 1s, body: 2s, idle: 3s, drain: 0s } }";
    let inbox = file(text).inbox;
    assert_eq!(inbox.listen.to_string(), "[::1]:1");
    assert_eq!(
        (inbox.limits.connections.0.0, inbox.limits.in_flight.0.0),
        (7, 8)
    );
    assert_eq!(inbox.limits.header_bytes.0.0, 9 * 1024);
    let timeouts = [
        inbox.timeouts.header,
        inbox.timeouts.body,
        inbox.timeouts.idle,
        inbox.timeouts.drain,
    ];
    assert_eq!(timeouts.map(|timeout| timeout.as_secs()), [1, 2, 3, 0]);
}

#[test]
fn files_are_relative_to_the_configuration() {
    let text = "consumers: { a: { source: 'file:events.jsonl?follow=true' } }";
    let file = File::parse("etc/semel.yaml", text, []).unwrap();
    let shown = format!("{:?}", file.consumers().unwrap()[0].source);
    assert_eq!(
        shown,
        "Some(File { path: \"etc/events.jsonl\", follow: true, whole_lines: false })"
    );
}

fn with_variables(text: &str, variables: &[(&str, &str)]) -> File {
    let variables = variables
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    File::parse("semel.yaml", text, variables).unwrap()
}

#[test]
fn variables_reach_names_with_dashes_and_keys_with_capitals() {
    let text = "consumers: { notification-sender: { dedup: { retentionDays: 3 } } }";
    let variables = [
        (
            "SEMEL_CONSUMERS__NOTIFICATION_SENDER__DEDUP__RETENTIONDAYS",
            "9",
        ),
        ("SEMEL_CONSUMERS__NOTIFICATION_SENDER__WORKERS", "4"),
        ("SEMEL_INBOX__LISTEN", "127.0.0.1:9"),
        ("SEMEL_INTENTS__MAIL__URL", "https://mail"),
    ];
    let file = with_variables(text, &variables);
    let consumers = file.consumers().unwrap();
    assert_eq!(consumers.len(), 1);
    assert_eq!(
        consumers[0].policy.plan.retention.keep().as_secs(),
        9 * 86_400
    );
    assert_eq!(consumers[0].policy.workers, 4);
    assert_eq!(file.inbox.listen.tcp().unwrap().port(), 9);
    assert_eq!(file.targets().unwrap()[0].url.http(), "https://mail");
}

#[test]
fn variables_reach_the_other_root() {
    let text = "idempotentConsumer: { consumers: { a: { inbox: { retry: { maxAttempts: 3 } } } } }";
    let variables = [(
        "SEMEL_IDEMPOTENTCONSUMER__CONSUMERS__A__INBOX__RETRY__MAXATTEMPTS",
        "4",
    )];
    let consumers = with_variables(text, &variables).consumers().unwrap();
    assert_eq!(consumers[0].policy.retry.attempts_max(), 4);
}
