//! Every key of a target does something.

use std::time::Duration;

use insta::assert_snapshot;
use semel_policy::CompiledTarget;
use semel_policy::file::intent::Vendor;
use semel_policy::target::{KeyPlace, OnUnanswered};

use super::{error, target};

fn with(settings: &str) -> CompiledTarget {
    target(&format!(
        "intents: {{ mail: {{ url: 'https://mail/send?a=b', {settings} }} }}"
    ))
}

fn wrong(settings: &str) -> String {
    error(&format!(
        "intents:\n  mail:\n    url: https://mail/send\n    {settings}\n"
    ))
}

/// Settings, and how the target differs from the default.
type Row = (&'static str, fn(&CompiledTarget) -> bool);

const ROWS: [Row; 17] = [
    ("method: PUT", |t| t.method == http::Method::PUT),
    ("vendor: stripe", |t| t.vendor == Vendor::Stripe),
    (
        "vendor: stripe",
        |t| matches!(&t.key, Some(KeyPlace::Header(name)) if name == "idempotency-key"),
    ),
    ("vendor: stripe", |t| {
        t.key_lifetime == Some(Duration::from_secs(86_400))
    }),
    (
        "vendor: paypal",
        |t| matches!(&t.key, Some(KeyPlace::Header(name)) if name == "paypal-request-id"),
    ),
    (
        "vendor: square",
        |t| matches!(&t.key, Some(KeyPlace::Body(path)) if path.as_str() == "$.idempotency_key"),
    ),
    ("vendor: adyen", |t| {
        t.key_lifetime == Some(Duration::from_secs(7 * 86_400))
    }),
    (
        "key: { header: X-Key }",
        |t| matches!(&t.key, Some(KeyPlace::Header(name)) if name == "x-key"),
    ),
    ("key: { body: $.id }", |t| {
        matches!(&t.key, Some(KeyPlace::Body(_)))
    }),
    ("key: { query: k }", |t| {
        t.key == Some(KeyPlace::Query("k".to_owned()))
    }),
    ("vendor: stripe, key_lifetime: 30d", |t| {
        t.key_lifetime == Some(Duration::from_secs(30 * 86_400))
    }),
    ("timeout: 7s", |t| t.timeout.as_secs() == 7),
    ("headers: { Authorization: t }", |t| {
        t.headers.iter().any(|(_, value)| value.expose() == "t")
    }),
    ("retry: { maxAttempts: 3 }", |t| t.retry.attempts_max() == 3),
    ("vendor: stripe", |t| t.unknown == OnUnanswered::Retry),
    ("key: { query: k }, unknown: retry", |t| {
        t.unknown == OnUnanswered::Retry
    }),
    ("unknown: { reconcile: 'https://mail/{key}' }", |t| {
        t.unknown == OnUnanswered::Reconcile("https://mail/{key}".to_owned())
    }),
];

/// A queue of Google Cloud Tasks.
const TASKS: &str = "https://cloudtasks.googleapis.com/v2/projects/p/locations/l/queues/q/tasks";

#[test]
fn every_key_does_something() {
    let plain = with("");
    for (text, holds) in ROWS {
        assert!(!holds(&plain), "{text} is the default");
        assert!(holds(&with(text)), "{text}");
    }
}

#[test]
fn without_a_key_nobody_sends_twice() {
    let plain = with("");
    assert_eq!((plain.key, plain.key_lifetime), (None, None));
    assert_eq!(plain.unknown, OnUnanswered::Hold);
    let sendgrid = with("vendor: sendgrid");
    assert_eq!((sendgrid.vendor, sendgrid.key), (Vendor::SendGrid, None));
    let with_key = with("vendor: stripe, unknown: hold");
    assert_eq!(with_key.unknown, OnUnanswered::Hold);
}

#[test]
fn its_sender_is_a_consumer_of_its_own() {
    assert_eq!(with("").sender.to_string(), "intent:mail@1");
}

#[test]
fn intents_are_remembered_as_long_as_any_message() {
    let text = "consumers: { a: { dedup: { retentionDays: 90 } } }\nintents: { mail: { url: 'https://a' } }";
    assert_eq!(target(text).retention.keep().as_secs(), 90 * 86_400);
    assert_eq!(with("").retention.keep().as_secs(), 7 * 86_400);
}

#[test]
fn mistakes_have_a_place() {
    assert_snapshot!(error("intents: { mail: { method: POST } }"), @"semel.yaml:1:18: intents.mail: url is missing");
    assert_snapshot!(error("intents: { mail: }"), @"semel.yaml:1:16: intents.mail: expected a map of url, method, vendor, key, key_lifetime, timeout, headers, retry, unknown, found nothing");
    assert_snapshot!(error("intents: { mail: { url: mail } }"), @r#"semel.yaml:1:25: intents.mail.url: expected a URL such as http://127.0.0.1:9000/orders, or the URL of a broker, found "mail""#);
    assert_snapshot!(error("intents: { mail: { url: 'https://u:p@mail' } }"), @"semel.yaml:1:25: intents.mail.url: expected an address without user name and password");
    assert_snapshot!(error("intents: { mail: { url: 'mail?token=hunter2' } }"), @"semel.yaml:1:25: intents.mail.url: expected a URL such as http://127.0.0.1:9000/orders");
    assert_snapshot!(wrong("method: GET"), @"semel.yaml:4:13: intents.mail.method: expected POST, PUT, PATCH or DELETE, because an intent has an effect, found GET");
    assert_snapshot!(wrong("vendor: strip"), @r#"semel.yaml:4:13: intents.mail.vendor: expected one of stripe, paypal, square, adyen, google-cloud-tasks, sendgrid, none, found "strip"; did you mean stripe?"#);
    assert_snapshot!(wrong("key: { cookie: a }"), @r#"semel.yaml:4:12: intents.mail.key.cookie: expected one of header, body, query, found "cookie""#);
    assert_snapshot!(wrong("key_lifetime: 1d"), @"semel.yaml:4:19: intents.mail.key_lifetime: expected vendor or key, because there is no key otherwise");
    assert_snapshot!(wrong("timeout: 0s"), @"semel.yaml:4:14: intents.mail.timeout: expected a duration from 1ms to 10m, found 0ms");
    assert_snapshot!(wrong("headers: { 'a b': c }"), @"semel.yaml:4:16: intents.mail.headers.a b: expected the name of a header");
    assert_snapshot!(wrong("headers: { Semel-Fence: c }"), @"semel.yaml:4:16: intents.mail.headers.Semel-Fence: expected a header that the sender does not set itself");
    assert_snapshot!(wrong("headers: { Idempotency-Key: c }"), @"semel.yaml:4:16: intents.mail.headers.Idempotency-Key: expected a header that the sender does not set itself");
    assert_snapshot!(wrong("headers: { x-a: c, X-A: d }"), @"semel.yaml:4:24: intents.mail.headers.X-A: expected each header once");
    assert_snapshot!(wrong("headers: { x-a: \"c\\nd\" }"), @"semel.yaml:4:21: intents.mail.headers.x-a: expected a value that a header can hold");
    assert_snapshot!(wrong("retries: { maxAttempts: 3 }"), @"semel.yaml:4:5: intents.mail.retries: unknown key; expected one of url, method, vendor, key, key_lifetime, timeout, headers, retry, unknown");
    assert_snapshot!(wrong("retry: { maxAttempts: 0 }"), @r#"semel.yaml:4:27: intents.mail.retry.maxAttempts: expected a whole number from 1 to 1000, found "0""#);
    assert_snapshot!(wrong("unknown: retry"), @"semel.yaml:4:14: intents.mail.unknown: expected hold or reconcile, because without vendor or key the provider cannot tell that it was done before");
    assert_snapshot!(wrong("unknown: { reconcile: 'https://a/{key}/{fence}' }"), @"semel.yaml:4:27: intents.mail.unknown.reconcile: expected only {key} between braces, found {fence}");
    assert_snapshot!(wrong("vendor: google-cloud-tasks"), @"semel.yaml:3:10: intents.mail.url: expected a URL such as https://cloudtasks.googleapis.com/v2/projects/PROJECT/locations/LOCATION/queues/QUEUE/tasks, because vendor is google-cloud-tasks (intents.mail.vendor at 4:13)");
    assert_snapshot!(wrong("timeout: 11m"), @"semel.yaml:4:14: intents.mail.timeout: expected a duration from 1ms to 10m, found 11m");
    assert_snapshot!(wrong("unknown: rerun"), @r#"semel.yaml:4:14: intents.mail.unknown: expected one of hold, retry, reconcile, found "rerun""#);
    assert_snapshot!(error("intents:\n  'a@1': { url: 'https://a' }"), @"semel.yaml:2:3: intents.a@1: expected a name of 1 to 248 bytes without control characters and without @");
}

#[test]
fn the_last_attempt_must_be_recognised_by_the_provider() {
    assert_snapshot!(wrong("vendor: paypal\n    retry: { maxAttempts: 100 }"), @"semel.yaml:5:12: intents.mail.retry: expected 100 attempts to end within the 6h that the provider recognises a key, found 8h 28m (intents.mail.vendor at 4:13)");
    assert_snapshot!(
        wrong("key: { header: X-Key }\n    key_lifetime: 5m\n    timeout: 10s"),
        @"semel.yaml:3:5: intents.mail.retry: expected 10 attempts to end within the 5m that the provider recognises a key, found 10m 11s (intents.mail.key_lifetime at 5:19)"
    );
    with("vendor: paypal, retry: { maxAttempts: 20 }");
}

#[test]
fn the_name_of_a_task_begins_with_its_queue() {
    let tasks = |settings: &str| {
        target(&format!(
            "intents: {{ a: {{ url: '{TASKS}', vendor: google-cloud-tasks, {settings} }} }}"
        ))
    };
    let plain = tasks("");
    assert_eq!(plain.key_prefix, "projects/p/locations/l/queues/q/tasks/");
    assert!(matches!(&plain.key, Some(KeyPlace::Body(path)) if path.as_str() == "$.task.name"));
    assert_eq!(plain.key_lifetime, Some(Duration::from_secs(3_600)));
    assert_eq!(tasks("key: { query: k }").key_prefix, "");
}
