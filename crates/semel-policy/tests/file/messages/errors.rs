//! Mistakes in consumers, with their places.

use insta::assert_snapshot;

use super::{error, with};

/// What is wrong with the consumer of these lines.
fn wrong(lines: &str) -> String {
    let lines: String = lines.lines().map(|line| format!("    {line}\n")).collect();
    error(&format!("consumers:\n  a:\n{lines}"))
}

#[test]
fn unknown_keys_are_errors_with_a_guess() {
    assert_snapshot!(wrong("sorce: http"), @"semel.yaml:3:5: consumers.a.sorce: unknown key; did you mean source?");
    assert_snapshot!(wrong("colour: red"), @"semel.yaml:3:5: consumers.a.colour: unknown key; expected one of source, deliver, strategy, dedup, ack, inbox, order, replay, alerts, id, key, sequence, …");
    assert_snapshot!(wrong("strategy: { typ: inbox }"), @"semel.yaml:3:17: consumers.a.strategy.typ: unknown key; did you mean type?");
    assert_snapshot!(wrong("strategy: { messageIdRequire: true }"), @"semel.yaml:3:17: consumers.a.strategy.messageIdRequire: unknown key; did you mean messageIdRequired?");
    assert_snapshot!(wrong("dedup: { retention_days: 3 }"), @"semel.yaml:3:14: consumers.a.dedup.retention_days: unknown key; did you mean retentionDays?");
    assert_snapshot!(wrong("ack: { time: after-effect }"), @"semel.yaml:3:12: consumers.a.ack.time: unknown key; expected one of timing");
    assert_snapshot!(wrong("inbox: { retry: { maxAttempt: 3 } }"), @"semel.yaml:3:23: consumers.a.inbox.retry.maxAttempt: unknown key; did you mean maxAttempts?");
    assert_snapshot!(wrong("replay: { sideeffects: none }"), @"semel.yaml:3:15: consumers.a.replay.sideeffects: unknown key; did you mean sideEffects?");
    assert_snapshot!(wrong("alerts: { parked: 1 }"), @"semel.yaml:3:15: consumers.a.alerts.parked: unknown key; did you mean parkedMessages?");
    assert_snapshot!(error("idempotentConsumer: { consumer: {} }"), @"semel.yaml:1:23: idempotentConsumer.consumer: unknown key; did you mean consumers?");
    assert_snapshot!(error("idempotentConsumers: {}"), @"semel.yaml:1:1: idempotentConsumers: unknown key; did you mean idempotentConsumer?");
    assert_snapshot!(error("inbox: { lisen: '127.0.0.1:1' }"), @"semel.yaml:1:10: inbox.lisen: unknown key; did you mean listen?");
}

#[test]
fn words_are_checked() {
    assert_snapshot!(wrong("strategy: { type: inbx }"), @r#"semel.yaml:3:23: consumers.a.strategy.type: expected one of inbox, processed-message, unique-business-key, aggregate-version-upsert, upsert-projection, compare-and-set, external-idempotency-key, deterministic-output-id, inbox-plus-notification-intent, sequence-gap-detection, found "inbx"; did you mean inbox?"#);
    assert_snapshot!(wrong("ack: { timing: after-lunch }"), @r#"semel.yaml:3:20: consumers.a.ack.timing: expected one of after-db-transaction, after-effect, after-receive, found "after-lunch""#);
    assert_snapshot!(wrong("replay: { allowed: maybe }"), @r#"semel.yaml:3:24: consumers.a.replay.allowed: expected true, false or false-for-real-send, found "maybe""#);
    assert_snapshot!(wrong("replay: { sideEffects: some }"), @r#"semel.yaml:3:28: consumers.a.replay.sideEffects: expected one of none, suppress, allow, found "some""#);
    assert_snapshot!(wrong("inbox: { retry: { backoff: linear } }"), @r#"semel.yaml:3:32: consumers.a.inbox.retry.backoff: expected one of exponential-jitter, exponential, fixed, fixed-jitter, found "linear""#);
    assert_snapshot!(wrong("order: random"), @r#"semel.yaml:3:12: consumers.a.order: expected none, arrival, sequence, or a map of by, on_terminal, baseline, gap_deadline, gap_then, found "random""#);
    assert_snapshot!(wrong("order: { on_terminal: park }"), @"semel.yaml:3:12: consumers.a.order: by is missing");
    assert_snapshot!(wrong("order: { by: sequence, baseline: last }"), @r#"semel.yaml:3:38: consumers.a.order.baseline: expected first-seen, or the last version that counts as applied, such as 0, found "last""#);
    assert_snapshot!(wrong("order: { by: sequence, gap_then: skip }"), @r#"semel.yaml:3:38: consumers.a.order.gap_then: expected one of hold, advance, found "skip""#);
    assert_snapshot!(wrong("unknown: retry"), @r#"semel.yaml:3:14: consumers.a.unknown: expected one of rerun, hold, found "retry""#);
    assert_snapshot!(wrong("id: { cookie: a }"), @r#"semel.yaml:3:11: consumers.a.id.cookie: expected one of header, body, template, cloudevents, coordinates, stripe, github, shopify, svix, adyen, paypal, standard-webhooks, found "cookie""#);
    assert_snapshot!(wrong("key: stripe"), @r#"semel.yaml:3:10: consumers.a.key: expected one of header, body, template, cloudevents, found "stripe""#);
    assert_snapshot!(wrong("sequence: { template: '{a}' }"), @r#"semel.yaml:3:17: consumers.a.sequence.template: expected one of header, body, cloudevents, found "template""#);
    assert_snapshot!(wrong("tenant: caller"), @r#"semel.yaml:3:13: consumers.a.tenant: expected one of public, header, body, found "caller""#);
    assert_snapshot!(wrong("fingerprint: sha256"), @r#"semel.yaml:3:18: consumers.a.fingerprint: expected one of raw, canonical_json, off, found "sha256""#);
    assert_snapshot!(wrong("deliver: here"), @r#"semel.yaml:3:14: consumers.a.deliver: expected a URL such as http://127.0.0.1:9000/orders, found "here""#);
    assert_snapshot!(wrong("deliver: { timeout: 3s }"), @"semel.yaml:3:14: consumers.a.deliver: url is missing");
}

#[test]
fn numbers_and_times_have_limits() {
    assert_snapshot!(wrong("version: 0"), @r#"semel.yaml:3:14: consumers.a.version: expected a whole number from 1, found "0""#);
    assert_snapshot!(wrong("workers: 1025"), @r#"semel.yaml:3:14: consumers.a.workers: expected a whole number from 1 to 1024, found "1025""#);
    assert_snapshot!(wrong("deadline: 25h"), @"semel.yaml:3:15: consumers.a.deadline: expected a duration from 1ms to 1d, found 1d 1h");
    assert_snapshot!(wrong("lease: 0s"), @r#"semel.yaml:3:12: consumers.a.lease: expected a duration from 1ms to 24h, found "0s""#);
    assert_snapshot!(wrong("max_body: 17MiB"), @"semel.yaml:3:15: consumers.a.max_body: expected at most 16MiB, found 17MiB");
    assert_snapshot!(wrong("inbox: { retry: { maxAttempts: 1001 } }"), @r#"semel.yaml:3:36: consumers.a.inbox.retry.maxAttempts: expected a whole number from 1 to 1000, found "1001""#);
    assert_snapshot!(wrong("inbox: { retry: { first: 0s } }"), @"semel.yaml:3:30: consumers.a.inbox.retry.first: expected a duration from 1ms to 1d, found 0ms");
    assert_snapshot!(wrong("inbox: { retry: { max: 25h } }"), @"semel.yaml:3:28: consumers.a.inbox.retry.max: expected a duration from 1ms to 1d, found 1d 1h");
    assert_snapshot!(wrong("inbox: { retry: { first: 2m, max: 1m } }"), @"semel.yaml:3:30: consumers.a.inbox.retry.first: expected at most the longest wait of 1m, found 2m (consumers.a.inbox.retry.max at 3:39)");
    assert_snapshot!(wrong("inbox: { retry: { backoff: fixed, max: 1m } }"), @"semel.yaml:3:44: consumers.a.inbox.retry.max: expected it only with waits that grow; first says how long all of them are (consumers.a.inbox.retry.backoff at 3:32)");
    assert_snapshot!(wrong("dedup: { retentionDays: 0 }"), @r#"semel.yaml:3:29: consumers.a.dedup.retentionDays: expected a number of days from 1 to 3653, found "0""#);
    assert_snapshot!(wrong("dedup: { retention: 9999d }"), @"semel.yaml:3:25: consumers.a.dedup.retention: expected a duration from 1ms to ten years, found 9999d");
    assert_snapshot!(wrong("dedup: { table: Processed-Message }"), @r#"semel.yaml:3:21: consumers.a.dedup.table: expected a name of at most 63 characters from a-z, 0-9 and _, no digit first, that does not begin with semel_, found "Processed-Message""#);
    assert_snapshot!(wrong("dedup: { table: semel_records }"), @r#"semel.yaml:3:21: consumers.a.dedup.table: expected a name of at most 63 characters from a-z, 0-9 and _, no digit first, that does not begin with semel_, found "semel_records""#);
    assert_snapshot!(wrong("alerts: { pendingAgeSeconds: 0 }"), @r#"semel.yaml:3:34: consumers.a.alerts.pendingAgeSeconds: expected a number of seconds from 1 to 31536000, or off, found "0""#);
    assert_snapshot!(wrong("alerts: { parkedMessages: many }"), @r#"semel.yaml:3:31: consumers.a.alerts.parkedMessages: expected a whole number from 1 to 1000000, or off, found "many""#);
    assert_snapshot!(wrong("order: { by: sequence, gap_deadline: 31d }"), @"semel.yaml:3:42: consumers.a.order.gap_deadline: expected a duration from 1ms to 30d, found 31d");
    assert_snapshot!(wrong("id: [cloudevents, { header: X-Id }]"), @"semel.yaml:3:9: consumers.a.id: expected cloudevents at the end: its attributes are asked after all places");
    assert_snapshot!(wrong("key: [{ header: X-Key }]"), @"semel.yaml:3:10: consumers.a.key: expected one of header, body, template, cloudevents, found a list");
    assert_snapshot!(wrong("id: []"), @"semel.yaml:3:9: consumers.a.id: expected 1 to 8 places, found 0");
    assert_snapshot!(error("inbox: { limits: { header_bytes: 1KiB } }"), @"semel.yaml:1:34: inbox.limits.header_bytes: expected at least 8KiB, found 1KiB");
    assert_snapshot!(error("inbox: { timeouts: { body: 0s } }"), @"semel.yaml:1:28: inbox.timeouts.body: expected a duration from 1ms to 1d, found 0ms");
}

#[test]
fn sources_are_checked_and_brokers_never_quoted() {
    assert_snapshot!(wrong("source: 'kafka:topic'"), @"semel.yaml:3:13: consumers.a.source: expected a URL of Kafka with an address of at most 2048 bytes behind ://");
    assert_snapshot!(wrong("source: amqp:u:hunter2@a/b"), @"semel.yaml:3:13: consumers.a.source: expected a URL of RabbitMQ with an address of at most 2048 bytes behind ://");
    assert_snapshot!(wrong("source: http://127.0.0.1/events"), @"semel.yaml:3:13: consumers.a.source: expected http alone, because messages are posted to /inbox/NAME of inbox.listen, found a URL");
    assert_snapshot!(wrong("source: ftp://a"), @"semel.yaml:3:13: consumers.a.source: expected http, file:PATH, or the URL of a broker (kafka, amqp, nats, sqs, redis-streams)");
    assert_snapshot!(wrong("source: events"), @r#"semel.yaml:3:13: consumers.a.source: expected http, file:PATH, or the URL of a broker (kafka, amqp, nats, sqs, redis-streams), found "events""#);
    assert_snapshot!(wrong("source: 'file:'"), @r#"semel.yaml:3:13: consumers.a.source: expected a file such as file:events.jsonl, with a path of 1 to 1024 bytes, found "file:""#);
    assert_snapshot!(wrong("source: file:a?tail=1"), @r#"semel.yaml:3:13: consumers.a.source: expected follow=true, lines=whole or nothing after the path, found "file:a?tail=1""#);
}

#[test]
fn coordinates_are_ids_only_where_a_source_has_them() {
    let with = |source: &str, id: &str| wrong(&format!("source: {source}\nid: {id}"));
    assert_snapshot!(with("http", "coordinates"), @"semel.yaml:4:9: consumers.a.id: expected another place than coordinates, because messages that are posted have no lasting place at a broker (consumers.a.source at 3:13)");
    assert_snapshot!(with("file:a", "[{ header: X-Id }, coordinates]"), @"semel.yaml:4:9: consumers.a.id: expected another place than coordinates, because lines of a file have no lasting place at a broker (consumers.a.source at 3:13)");
    assert_snapshot!(with("amqp://h/v?queue=q", "{ coordinates: true }"), @"semel.yaml:4:9: consumers.a.id: expected another place than coordinates, because messages of RabbitMQ have no lasting place at a broker (consumers.a.source at 3:13)");
    super::with("source: 'kafka://h/t', id: coordinates");
}

#[test]
fn names_are_checked() {
    assert_snapshot!(error("consumers:\n  'intent:mail': {}"), @"semel.yaml:2:3: consumers.intent:mail: expected a name that does not begin with intent:, because such are the senders of intents");
    assert_snapshot!(error("consumers:\n  'mail@two': {}"), @"semel.yaml:2:3: consumers.mail@two: expected a version from 1 on behind @, and no other @");
    assert_snapshot!(error("consumers:\n  'mail@2': { version: 3 }"), @"semel.yaml:2:3: consumers.mail@2: expected a name that ends in @3, because version is 3");
    assert_snapshot!(error("consumers:\n  mail: { version: 2 }\n  'mail@2': {}"), @"semel.yaml:3:3: consumers.mail@2: expected one consumer mail@2, found another");
    assert_snapshot!(error("consumers:\n  '': {}"), @"semel.yaml:2:3: consumers.: expected a name of 1 to 255 bytes without control characters");
    assert_snapshot!(error("consumers:\n  'a/b': { source: http }"), @"semel.yaml:2:3: consumers.a/b: expected a name of letters, digits, -, _, . and ~, because messages are posted to /inbox/NAME");
    assert_snapshot!(error("consumers:\n  a:\n"), @"semel.yaml:2:4: consumers.a: expected a map of source, deliver, strategy, dedup, ack, inbox, order, replay, alerts, id, key, sequence, …, found nothing");
    assert_snapshot!(error("consumers: [a]"), @"semel.yaml:1:12: consumers: expected a map by name, found a list");
    assert_snapshot!(error("consumers: a"), @"semel.yaml:1:12: consumers: expected a map by name, found another kind of value");
    assert!(super::super::parse("consumers: { 'a/b': {} }").is_ok());
}

#[test]
fn one_name_stands_under_one_root() {
    let text = "consumers:\n  a: {}\nidempotentConsumer:\n  consumers:\n    b: {}\n    a: {}\n";
    assert_snapshot!(error(text), @"semel.yaml:6:5: idempotentConsumer.consumers.a: expected a consumer that is not under the other root too (consumers.a at 2:3)");
}

#[test]
fn signatures_are_checked() {
    let signed = |signature: &str| wrong(&format!("source: http\nsignature: {{ {signature} }}"));
    assert_snapshot!(signed("secret: a"), @"semel.yaml:4:16: consumers.a.signature: scheme is missing");
    assert_snapshot!(signed("scheme: stripe"), @"semel.yaml:4:16: consumers.a.signature: secret is missing");
    assert_snapshot!(signed("scheme: stripe, secret: ''"), @"semel.yaml:4:42: consumers.a.signature.secret: expected a secret, found an empty text");
    assert_snapshot!(signed("scheme: stripe, secrets: [b]"), @"semel.yaml:4:34: consumers.a.signature.secrets: unknown key; did you mean secret?");
    assert_snapshot!(signed("scheme: stripe, secret: []"), @"semel.yaml:4:42: consumers.a.signature.secret: expected 1 to 8 secrets, found 0");
    assert_snapshot!(signed("scheme: stripe, secret: a, header: X-Sig"), @"semel.yaml:4:53: consumers.a.signature.header: expected it only with scheme: generic (consumers.a.signature.scheme at 4:26)");
    assert_snapshot!(signed("scheme: github, secret: a, tolerance: 1m"), @"semel.yaml:4:56: consumers.a.signature.tolerance: expected it only with a scheme that signs the time (consumers.a.signature.scheme at 4:26)");
    assert_snapshot!(signed("scheme: generic, secret: a"), @"semel.yaml:4:16: consumers.a.signature: expected header, because a generic signature may be anywhere");
    assert_snapshot!(signed("scheme: generic, secret: a, header: X-Sig, encoding: utf8"), @r#"semel.yaml:4:71: consumers.a.signature.encoding: expected one of hex, base64, found "utf8""#);
    assert_snapshot!(wrong("source: file:a\nsignature: { scheme: stripe, secret: a }"), @"semel.yaml:4:16: consumers.a.signature: expected source: http, because only posted messages are signed (consumers.a.source at 3:13)");
    assert_snapshot!(signed("scheme: magic, secret: a"), @r#"semel.yaml:4:26: consumers.a.signature.scheme: expected one of stripe, paypal, adyen, github, shopify, svix, standard-webhooks, generic, found "magic""#);
    assert_snapshot!(signed("scheme: paypal, secret: a"), @"semel.yaml:4:16: consumers.a.signature: expected webhook_id, because PayPal signs it");
    assert_snapshot!(signed("scheme: adyen, secret: hunter2"), @"semel.yaml:4:16: consumers.a.signature: expected a secret of hexadecimal digits, as Adyen gives it out");
    assert_snapshot!(signed("scheme: svix, secret: 'whsec_hunter2?'"), @"semel.yaml:4:16: consumers.a.signature: expected whsec_ and a secret in base64, or whpk_ and a public key in base64");
    with("source: http, signature: { scheme: stripe, secret: a }");
}

#[test]
fn a_log_of_processed_ids_stands_beside_nothing_that_needs_stored_messages() {
    let with = |lines: &str| {
        let log = "source: kafka://h/t\ndeliver: http://127.0.0.1:9/\nprocessed_log: { topic: t.done, dead_letters: t.dead }\n";
        wrong(&format!("{log}{lines}"))
    };
    assert_snapshot!(wrong("processed_log: { topic: done }"), @"semel.yaml:3:20: consumers.a.processed_log: dead_letters is missing");
    assert_snapshot!(wrong("source: http\nprocessed_log: { topic: a, dead_letters: b }"), @"semel.yaml:4:20: consumers.a.processed_log: expected a source of Kafka, because the ids are written with its offsets");
    assert_snapshot!(wrong("source: kafka://h/t\nprocessed_log: { topic: a, dead_letters: b }"), @"semel.yaml:4:20: consumers.a.processed_log: expected deliver, because without an inbox nothing waits for a program");
    assert_snapshot!(with("order: sequence"), @"semel.yaml:6:12: consumers.a.order: expected none beside processed_log, because order needs stored messages (consumers.a.processed_log at 5:20)");
    assert_snapshot!(with("backlog_max: 3"), @"semel.yaml:6:18: consumers.a.backlog_max: expected none beside processed_log, because backlog_max needs stored messages (consumers.a.processed_log at 5:20)");
    assert_snapshot!(with("alerts: { parkedMessages: 3 }"), @"semel.yaml:6:13: consumers.a.alerts: expected none beside processed_log, because alerts needs stored messages (consumers.a.processed_log at 5:20)");
    assert_snapshot!(with("inbox: { enabled: true }"), @"semel.yaml:6:23: consumers.a.inbox.enabled: expected none beside processed_log, because inbox.enabled needs stored messages (consumers.a.processed_log at 5:20)");
}
