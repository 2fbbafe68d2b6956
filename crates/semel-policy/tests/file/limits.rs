//! Every limit has an error that says so.

use insta::assert_snapshot;
use semel_policy::limits::{
    ALIASES_MAX, CONSUMERS_MAX, FILE_BYTES_MAX, HEADERS_MAX, ROUTES_MAX, SECRETS_MAX, TARGETS_MAX,
    VALUE_BYTES_MAX,
};
use semel_policy::{File, Kind};

use super::parse;

fn error(text: &str) -> String {
    parse(text).unwrap_err().to_string()
}

fn routes(count: usize) -> String {
    let routes = (0..count).map(|n| format!("    - match: {{ path: /{n}, methods: [POST] }}\n"));
    format!("gateway:\n  routes:\n{}", routes.collect::<String>())
}

#[test]
fn a_file_has_a_longest_length() {
    let text = format!("store: sqlite:a # {}", "x".repeat(FILE_BYTES_MAX));
    assert_snapshot!(error(&text), @"semel.yaml: expected at most 1048576 bytes, found 1048594");
    assert_eq!(parse(&text).unwrap_err().kind(), Kind::Limit);
    assert!(parse(&text[..FILE_BYTES_MAX]).is_ok());

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("long.yaml");
    std::fs::write(&path, &text).unwrap();
    assert_eq!(File::load(&path).unwrap_err().kind(), Kind::Limit);
}

#[test]
fn a_gateway_has_a_largest_number_of_routes() {
    assert!(parse(&routes(ROUTES_MAX)).is_ok());
    assert_snapshot!(
        error(&routes(ROUTES_MAX + 1)),
        @"semel.yaml:3:5: gateway.routes: expected 1 to 1000 routes, found 1001"
    );
}

#[test]
fn nesting_has_an_end() {
    let text = format!("a: {}{}", "[".repeat(40), "]".repeat(40));
    assert_snapshot!(error(&text), @"semel.yaml:1:19: expected at most 16 levels of nesting");
    let text = (0..40)
        .map(|depth| format!("{}a:\n", " ".repeat(depth)))
        .collect::<String>();
    assert_snapshot!(error(&text), @"semel.yaml:17:17: expected at most 16 levels of nesting");
}

#[test]
fn aliases_cannot_blow_a_file_up() {
    let many = "*a, ".repeat(ALIASES_MAX + 1);
    let text = format!("a: &a 1\nb: [{many}]\n");
    assert_snapshot!(error(&text), @"semel.yaml:2:4005: expected at most 1000 anchors, aliases and merges");
    let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
    for n in 1..10 {
        let before = n - 1;
        let ten = format!("*a{before}, ").repeat(10);
        bomb.push_str(&format!("a{n}: &a{n} [{ten}]\n"));
    }
    assert_snapshot!(error(&bomb), @"semel.yaml:5:45: expected at most 100000 values behind aliases");
}

#[test]
fn one_anchor_may_serve_many_routes() {
    let routes = (0..500).map(|n| format!("    - {{ match: {{ path: /{n} }}, keep: *keep }}\n"));
    let routes: String = routes.collect();
    let text = format!("gateway:\n  keep: &keep {{ statuses: [2xx] }}\n  routes:\n{routes}");
    assert!(parse(&text).is_ok());
}

#[test]
fn a_value_has_a_longest_length() {
    let text = format!("admin: {{ token: {} }}", "x".repeat(VALUE_BYTES_MAX + 1));
    assert_snapshot!(
        error(&text),
        @"semel.yaml:1:17: admin.token: expected at most 65536 bytes, found 65537"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_named() {
    let error = File::load("no/such/semel.yaml").unwrap_err();
    assert_eq!(error.kind(), Kind::Unreadable);
    assert_snapshot!(error, @"no/such/semel.yaml: No such file or directory (os error 2)");
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("latin.yaml");
    std::fs::write(&path, b"store: \xe9").unwrap();
    assert_eq!(
        File::load(&path).unwrap_err().message(),
        "expected UTF-8 text"
    );
}

#[test]
fn consumers_and_targets_have_a_largest_number() {
    let many = |section: &str, count: usize, body: &str| {
        let named = (0..count).map(|n| format!("  n{n}: {body}\n"));
        format!("{section}:\n{}", named.collect::<String>())
    };
    assert!(parse(&many("consumers", CONSUMERS_MAX, "{}")).is_ok());
    let text = many("consumers", CONSUMERS_MAX, "{}");
    let text = format!("{text}idempotentConsumer: {{ consumers: {{ a: {{}} }} }}\n");
    assert_snapshot!(error(&text), @"semel.yaml:2:3: consumers: expected at most 1000 consumers, found 1001");
    let target = "{ url: 'http://a' }";
    assert!(parse(&many("intents", TARGETS_MAX, target)).is_ok());
    assert_snapshot!(error(&many("intents", TARGETS_MAX + 1, target)), @"semel.yaml:2:3: intents: expected at most 1000 targets, found 1001");
}

#[test]
fn headers_and_secrets_have_a_largest_number() {
    let headers = |count: usize| {
        let headers: Vec<_> = (0..count).map(|n| format!("X-{n}: a")).collect();
        format!(
            "intents: {{ a: {{ url: 'http://a', headers: {{ {} }} }} }}",
            headers.join(", ")
        )
    };
    assert!(parse(&headers(HEADERS_MAX)).is_ok());
    assert_snapshot!(error(&headers(HEADERS_MAX + 1)), @"semel.yaml:1:43: intents.a.headers: expected at most 32 headers, found 33");
    let secrets = |count: usize| {
        let secrets = vec!["s"; count].join(", ");
        format!(
            "consumers: {{ a: {{ source: http, signature: {{ scheme: stripe, secret: [{secrets}] }} }} }}"
        )
    };
    assert!(parse(&secrets(SECRETS_MAX)).is_ok());
    assert_snapshot!(error(&secrets(SECRETS_MAX + 1)), @"semel.yaml:1:70: consumers.a.signature.secret: expected 1 to 8 secrets, found 9");
}

#[test]
fn the_memory_for_bodies_has_room_for_the_largest_request() {
    assert!(parse("limits: { buffered_bytes: 32MiB }").is_ok());
    assert_snapshot!(
        error("limits: { buffered_bytes: 1MiB }"),
        @"semel.yaml:1:27: limits.buffered_bytes: expected at least 32MiB, found 1MiB"
    );
    let routes = "gateway: { routes: [{ match: { path: /a }, request_bytes: 48MiB }] }";
    assert!(parse(&format!("limits: {{ buffered_bytes: 64MiB }}\n{routes}")).is_ok());
    assert_snapshot!(
        error(&format!("limits: {{ buffered_bytes: 63MiB }}\n{routes}")),
        @"semel.yaml:1:27: limits.buffered_bytes: expected at least 64MiB, which has room for a request of 48MiB, found 63MiB"
    );
    assert_snapshot!(
        error("limits: { buffered_bytes: 1025GiB }"),
        @"semel.yaml:1:27: limits.buffered_bytes: expected at most 1024GiB, found 1025GiB"
    );
}
