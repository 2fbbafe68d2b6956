//! Settings that do not go together, with the places of both.

use insta::assert_snapshot;

use super::super::parse;
use super::{error, with};

/// What is wrong with the consumer of these lines.
fn wrong(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    error(&format!("consumers:\n  a:\n{lines}"))
}

#[test]
fn retention_covers_whatever_can_come_again() {
    assert_snapshot!(wrong("dedup: { retentionDays: 7 }\nreplay: { window: 30d }"), @"semel.yaml:3:29: consumers.a.dedup.retentionDays: expected at least the 30d of replay.window, found 7d (consumers.a.replay.window at 4:23)");
    assert_snapshot!(wrong("broker_retention: 8d"), @"semel.yaml:3:5: consumers.a.dedup.retention: expected at least the 8d of broker_retention, found 7d by default (consumers.a.broker_retention at 3:23)");
    assert_snapshot!(wrong("dlq_retention: 14d\ndedup: { retention: 10d }"), @"semel.yaml:4:25: consumers.a.dedup.retention: expected at least the 14d of dlq_retention, found 10d (consumers.a.dlq_retention at 3:20)");
    assert_snapshot!(
        wrong("dedup: { retention: 1h }\ninbox: { retry: { maxAttempts: 100 } }"),
        @"semel.yaml:3:25: consumers.a.dedup.retention: expected at least the 7h 38m of all waits between attempts, found 1h (consumers.a.inbox.retry at 4:21)"
    );
    assert_snapshot!(wrong("dedup: { retention: 1m }"), @"semel.yaml:3:25: consumers.a.dedup.retention: expected at least the 8m 31s of all waits between attempts, found 1m");
    with("broker_retention: 7d, dlq_retention: 3d, replay: { window: 7d }");
    // Without stored messages nothing is tried again here.
    with("dedup: { retention: 1m }, inbox: { enabled: false }");
}

#[test]
fn acknowledgement_is_said_once() {
    assert_snapshot!(wrong("ack: { timing: after-effect }\ninbox: { ackAfterInboxInsert: true }"), @"semel.yaml:4:35: consumers.a.inbox.ackAfterInboxInsert: expected false, because ack.timing is after-effect (consumers.a.ack.timing at 3:20)");
    assert_snapshot!(wrong("ack: { timing: after-receive }\ninbox: { ackAfterInboxInsert: false }"), @"semel.yaml:4:35: consumers.a.inbox.ackAfterInboxInsert: expected true, because ack.timing is after-receive (consumers.a.ack.timing at 3:20)");
    assert_snapshot!(wrong("ack: { timing: after-receive }\ninbox: { enabled: false }"), @"semel.yaml:4:23: consumers.a.inbox.enabled: expected true, because the source is told when a message is stored (consumers.a.ack.timing at 3:20)");
    assert_snapshot!(wrong("inbox: { enabled: false, ackAfterInboxInsert: true }"), @"semel.yaml:3:23: consumers.a.inbox.enabled: expected true, because the source is told when a message is stored (consumers.a.inbox.ackAfterInboxInsert at 3:51)");
    with("ack: { timing: after-receive }, inbox: { ackAfterInboxInsert: true }");
}

#[test]
fn without_an_inbox_nothing_is_stored() {
    assert_snapshot!(wrong("deliver: http://a\ninbox: { enabled: false }"), @"semel.yaml:4:23: consumers.a.inbox.enabled: expected true, because deliver needs stored messages (consumers.a.deliver at 3:14)");
    assert_snapshot!(wrong("source: http\ninbox: { enabled: false }"), @"semel.yaml:4:23: consumers.a.inbox.enabled: expected true, because source needs stored messages (consumers.a.source at 3:13)");
    assert_snapshot!(wrong("order: arrival\ninbox: { enabled: false }"), @"semel.yaml:4:23: consumers.a.inbox.enabled: expected true, because order needs stored messages (consumers.a.order at 3:12)");
    assert_snapshot!(wrong("inbox: { enabled: false, retry: { maxAttempts: 3 } }"), @"semel.yaml:3:23: consumers.a.inbox.enabled: expected true, because inbox.retry needs stored messages (consumers.a.inbox.retry at 3:37)");
    assert_snapshot!(wrong("inbox: { enabled: false, parkingLot: true }"), @"semel.yaml:3:23: consumers.a.inbox.enabled: expected true, because inbox.parkingLot needs stored messages (consumers.a.inbox.parkingLot at 3:42)");
    assert_snapshot!(wrong("strategy: { type: inbox-plus-notification-intent }\ninbox: { enabled: false }"), @"semel.yaml:4:23: consumers.a.inbox.enabled: expected true, because strategy.type needs stored messages (consumers.a.strategy.type at 3:23)");
    with("strategy: { type: processed-message }, inbox: { enabled: false }");
}

#[test]
fn the_sequence_is_asked_for_where_it_counts() {
    assert_snapshot!(wrong("strategy: { sequenceRequired: true }"), @"semel.yaml:3:35: consumers.a.strategy.sequenceRequired: expected order: sequence, or a strategy by version, because nothing looks at the sequence otherwise");
    assert_snapshot!(wrong("order: arrival\nstrategy: { type: compare-and-set, sequenceRequired: true }"), @"semel.yaml:4:58: consumers.a.strategy.sequenceRequired: expected order: sequence, or a strategy by version, because nothing looks at the sequence otherwise");
    assert_snapshot!(wrong("strategy: { type: aggregate-version-upsert }\norder: none"), @"semel.yaml:4:12: consumers.a.order: expected sequence, because strategy.type is aggregate-version-upsert (consumers.a.strategy.type at 3:23)");
    assert_snapshot!(wrong("order: { by: arrival, baseline: 0 }"), @"semel.yaml:3:37: consumers.a.order.baseline: expected it only with by: sequence (consumers.a.order.by at 3:18)");
    assert_snapshot!(wrong("order: { by: none, on_terminal: park }"), @"semel.yaml:3:37: consumers.a.order.on_terminal: expected it only with by: arrival or sequence (consumers.a.order.by at 3:18)");
    with("strategy: { sequenceRequired: true }, order: sequence");
}

#[test]
fn a_lease_ends_with_the_deadline() {
    assert_snapshot!(wrong("lease: 2m"), @"semel.yaml:3:12: consumers.a.lease: expected at most the deadline of 1m, found 2m");
    assert_snapshot!(wrong("lease: 2m\ndeadline: 90s"), @"semel.yaml:3:12: consumers.a.lease: expected at most the deadline of 1m 30s, found 2m (consumers.a.deadline at 4:15)");
    assert_snapshot!(wrong("deadline: 5s\ndeliver: { url: http://a, timeout: 6s }"), @"semel.yaml:4:40: consumers.a.deliver.timeout: expected at most the deadline of 5s, found 6s (consumers.a.deadline at 3:15)");
    assert_snapshot!(wrong("deliver: { url: http://a, timeout: 2m }"), @"semel.yaml:3:40: consumers.a.deliver.timeout: expected at most the deadline of 1m, found 2m");
    with("lease: 2m, deadline: 2m, deliver: { url: 'http://a', timeout: 2m }");
}

#[test]
fn replays_are_said_once() {
    assert_snapshot!(wrong("replay: { allowed: false-for-real-send, sideEffects: allow }"), @"semel.yaml:3:58: consumers.a.replay.sideEffects: expected none or suppress, because replay.allowed is false-for-real-send (consumers.a.replay.allowed at 3:24)");
    assert_snapshot!(wrong("replay: { allowed: false, rebuild: true }"), @"semel.yaml:3:40: consumers.a.replay.rebuild: expected replay.allowed: true, because a rebuild replays (consumers.a.replay.allowed at 3:24)");
    assert_snapshot!(wrong("replay: { rebuild: true }"), @"semel.yaml:3:24: consumers.a.replay.rebuild: expected replay.allowed: true, because a rebuild replays");
    with("replay: { allowed: false-for-real-send, sideEffects: none }");
}

#[test]
fn retention_is_said_once() {
    assert_snapshot!(wrong("dedup: { retentionDays: 3, retention: 3d }"), @"semel.yaml:3:43: consumers.a.dedup.retention: expected retention or retentionDays, found both (consumers.a.dedup.retentionDays at 3:29)");
}

#[test]
fn only_a_sender_waits() {
    assert_snapshot!(wrong("wait: 3s"), @"semel.yaml:3:11: consumers.a.wait: expected source: http, because only its senders wait");
    assert_snapshot!(wrong("source: http\nwait: 3s"), @"semel.yaml:4:11: consumers.a.wait: expected ack.timing: after-effect, because otherwise the sender has its answer before the handler runs");
    assert_snapshot!(wrong("source: file:a\nwait: 3s"), @"semel.yaml:4:11: consumers.a.wait: expected source: http, because only its senders wait (consumers.a.source at 3:13)");
    assert_snapshot!(wrong("source: http\nack: { timing: after-effect }\nwait: 2h"), @"semel.yaml:5:11: consumers.a.wait: expected a wait of at most 1h, found 2h");
}

#[test]
fn what_a_strategy_is_about_cannot_be_switched_off() {
    assert_snapshot!(wrong("strategy: { type: deterministic-output-id, deterministicNotificationId: false }"), @"semel.yaml:3:77: consumers.a.strategy.deterministicNotificationId: expected true, because strategy.type is deterministic-output-id (consumers.a.strategy.type at 3:23)");
    assert_snapshot!(wrong("strategy: { type: external-idempotency-key, externalProviderIdempotency: false }"), @"semel.yaml:3:78: consumers.a.strategy.externalProviderIdempotency: expected true, because strategy.type is external-idempotency-key (consumers.a.strategy.type at 3:23)");
}

#[test]
fn a_business_key_is_the_id() {
    assert_snapshot!(wrong("source: http\nstrategy: { type: unique-business-key }"), @"semel.yaml:3:5: consumers.a.id: expected body or template, because strategy.type is unique-business-key: the id of a message is its business key (consumers.a.strategy.type at 4:23)");
    assert_snapshot!(wrong("source: http\nid: cloudevents\nstrategy: { type: unique-business-key }"), @"semel.yaml:4:9: consumers.a.id: expected body or template, because strategy.type is unique-business-key: the id of a message is its business key (consumers.a.strategy.type at 5:23)");
    with("source: http, id: { template: '{orderId}' }, strategy: { type: unique-business-key }");
    with("strategy: { type: unique-business-key }");
}

#[test]
fn provider_keys_need_a_target_that_takes_one() {
    let text = "consumers:\n  a:\n    strategy: { externalProviderIdempotency: true }\nintents:\n  mail: { url: http://a }\n";
    assert_snapshot!(error(text), @"semel.yaml:3:46: consumers.a.strategy.externalProviderIdempotency: expected a target with vendor or key in intents, because intents may only go to such, found none (intents at 5:3)");
    let text = "consumers:\n  b: {}\n  a:\n    strategy: { type: external-idempotency-key }\nintents:\n  mail: { url: http://a }\n";
    assert_snapshot!(error(text), @"semel.yaml:4:15: consumers.a.strategy.externalProviderIdempotency: expected a target with vendor or key in intents, because intents may only go to such, found none (intents at 6:3)");
    let keyed = "consumers: { a: { strategy: { externalProviderIdempotency: true } } }\n\
                 intents: { mail: { url: 'http://a' }, pay: { url: 'http://b', vendor: stripe } }";
    assert!(parse(keyed).is_ok());
}

#[test]
fn a_contradiction_names_the_variable_that_made_it() {
    let text = "consumers:\n  a:\n    ack: { timing: after-effect }\n";
    let variables = [(
        "SEMEL_CONSUMERS__A__ACK__TIMING".to_owned(),
        "after-receive".to_owned(),
    )];
    let text = format!("{text}    inbox: {{ ackAfterInboxInsert: false }}\n");
    let error = semel_policy::File::parse("semel.yaml", &text, variables).unwrap_err();
    assert_snapshot!(error, @"semel.yaml:4:35: consumers.a.inbox.ackAfterInboxInsert: expected true, because ack.timing is after-receive (consumers.a.ack.timing in SEMEL_CONSUMERS__A__ACK__TIMING)");
}
