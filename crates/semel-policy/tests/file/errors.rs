//! Every kind of error, with its place.

use insta::assert_snapshot;

use super::parse;

fn error(text: &str) -> String {
    parse(text).expect_err(text).to_string()
}

#[test]
fn unknown_keys_are_errors_with_a_guess() {
    assert_snapshot!(
        error("gatway: {}"),
        @"semel.yaml:1:1: gatway: unknown key; did you mean gateway?"
    );
    assert_snapshot!(
        error("gateway:\n  lisen: 127.0.0.1:1\n"),
        @"semel.yaml:2:3: gateway.lisen: unknown key; did you mean listen?"
    );
    assert_snapshot!(
        error("gateway:\n  routs: []\n"),
        @"semel.yaml:2:3: gateway.routs: unknown key; did you mean routes?"
    );
    assert_snapshot!(
        error("gateway:\n  colour: red\n"),
        @"semel.yaml:2:3: gateway.colour: unknown key; expected one of listen, upstream, host, trust_forwarded, outcomes, tls, access_log, upstream_tls, upstream_http2, limits, timeouts, policy_page, …"
    );
    assert_snapshot!(
        error("gateway:\n  routes:\n    - match: { path: /a }\n      leese: 3s\n"),
        @"semel.yaml:4:7: gateway.routes[0].leese: unknown key; did you mean lease?"
    );
    assert_snapshot!(
        error("gateway:\n  routes:\n    - match: { path: /a, method: POST }\n"),
        @"semel.yaml:3:26: gateway.routes[0].match.method: unknown key; did you mean methods?"
    );
    assert_snapshot!(
        error("gateway: { in_progress: { wait: 2s, than: 409 } }"),
        @"semel.yaml:1:37: gateway.in_progress.than: unknown key; did you mean then?"
    );
    assert_snapshot!(
        error("admin: { tokn: a }"),
        @"semel.yaml:1:10: admin.tokn: unknown key; did you mean token?"
    );
}

#[test]
fn patterns_of_other_routers_are_errors_with_the_right_spelling() {
    let route = |path: &str| {
        error(&format!(
            "gateway:\n  routes:\n    - match: {{ path: '{path}' }}\n"
        ))
    };
    assert_snapshot!(
        route("/orders/:id/lines"),
        @"semel.yaml:3:22: gateway.routes[0].match.path: expected {id} instead of :id"
    );
    assert_snapshot!(
        route("/orders/*/lines"),
        @"semel.yaml:3:22: gateway.routes[0].match.path: expected {id} for one segment, or {*rest} for all that follow, instead of *"
    );
    assert_snapshot!(
        route("/orders/<int:id>"),
        @"semel.yaml:3:22: gateway.routes[0].match.path: expected {id} instead of <int:id>"
    );
    assert_snapshot!(
        route("/orders/{id:int}"),
        @"semel.yaml:3:22: gateway.routes[0].match.path: expected {id} instead of {id:int}"
    );
    assert_snapshot!(
        route("/orders/[0-9]+"),
        @"semel.yaml:3:22: gateway.routes[0].match.path: expected no regular expression, found [0-9]+: write {id} for one segment, {*rest} for all that follow"
    );
}

#[test]
fn routes_that_only_spelling_tells_apart_are_errors() {
    let routes = |other: &str| {
        format!("gateway:\n  routes:\n    - match: {{ path: /pay }}\n    - match: {{ {other} }}\n")
    };
    assert_snapshot!(
        error(&routes("path: /Pay/")),
        @r#"semel.yaml:4:22: gateway.routes[1].match.path: expected a path that no other route for POST has, found "/Pay/" beside "/pay""#
    );
    for other in [
        "path: /Pay, exact: true",
        "path: /pay, host: a.example",
        "path: /pays",
    ] {
        assert!(parse(&routes(other)).is_ok(), "{other}");
    }
    assert_snapshot!(
        error(&routes("path: /x, host: 'a.example:80'")),
        @r#"semel.yaml:4:32: gateway.routes[1].match.host: expected a host such as api.example.com or *.example.com, without a port, found "a.example:80""#
    );
    assert_snapshot!(
        error(&routes("path: /x, host: [a.example, A.example]")),
        @"semel.yaml:4:32: gateway.routes[1].match.host: expected each host once, found a.example again"
    );
}

#[test]
fn a_text_that_is_no_map_is_refused() {
    assert_snapshot!(
        error("- a"),
        @"semel.yaml:1:1: expected a map of store, encryption, log, tracing, limits, admin, alerts, gateway, inbox, consumers, idempotentConsumer, intents, found a list"
    );
    assert_snapshot!(
        error("just text"),
        @r#"semel.yaml:1:1: expected a map of store, encryption, log, tracing, limits, admin, alerts, gateway, inbox, consumers, idempotentConsumer, intents, found "just text""#
    );
    assert_snapshot!(
        error("a: [1"),
        @"semel.yaml:1:4: not valid YAML: unclosed bracket '['"
    );
    assert_snapshot!(
        error("store: a:b\nstore: c:d"),
        @"semel.yaml:2:1: store is there twice"
    );
    assert_snapshot!(
        error("store: a:b\n---\nstore: c:d"),
        @"semel.yaml:3:1: expected one document, found more than one"
    );
}

#[test]
fn store_log_and_admin_are_checked() {
    assert_snapshot!(
        error("log: { level: loud }"),
        @r#"semel.yaml:1:15: log.level: expected one of error, warn, info, debug, trace, found "loud""#
    );
    assert_snapshot!(
        error("admin: on"),
        @r#"semel.yaml:1:8: admin: expected off, or a map of listen, token, tokens, tls, access_log, session, secure_cookies, readiness, found "on""#
    );
    assert_snapshot!(
        error("admin: { token: '' }"),
        @"semel.yaml:1:17: admin.token: expected a secret, found an empty text"
    );
    assert_snapshot!(
        error("admin: { token: [a] }"),
        @"semel.yaml:1:17: admin.token: expected a secret that is not empty, found a list"
    );
    assert_snapshot!(
        error("store: semel.db"),
        @"semel.yaml:1:8: store: expected a store such as sqlite:semel.db, postgres://HOST/DATABASE or redis://HOST"
    );
    assert_snapshot!(
        error("store: ''"),
        @"semel.yaml:1:8: store: expected a store such as sqlite:semel.db, postgres://HOST/DATABASE or redis://HOST"
    );
}

#[test]
fn the_two_stores_of_a_hybrid_are_checked_where_they_stand() {
    assert_snapshot!(
        error("store:\n  claims: sqlite:a.db\n  outcomes: sqlite:b.db"),
        @"semel.yaml:2:11: store.claims: expected a store for claims such as redis://HOST, found SQLite"
    );
    assert_snapshot!(
        error("store:\n  claims: redis://a\n  outcomes: redis://b"),
        @"semel.yaml:3:13: store.outcomes: expected a store for outcomes such as postgres://HOST/DATABASE or sqlite:PATH, found Redis"
    );
    assert_snapshot!(
        error("store: { claims: redis://a }"),
        @"semel.yaml:1:8: store: outcomes is missing"
    );
    assert_snapshot!(
        error("store: { claim: redis://a }"),
        @"semel.yaml:1:10: store.claim: unknown key; did you mean claims?"
    );
    assert_snapshot!(
        error("store: [redis://a]"),
        @"semel.yaml:1:8: store: expected a map of claims, outcomes, found a list"
    );
    assert_snapshot!(
        error("store: redis://:hunter2@a+redis://b"),
        @"semel.yaml:1:8: store: expected a store for outcomes such as postgres://HOST/DATABASE or sqlite:PATH, found Redis"
    );
    assert_snapshot!(
        error("store: oracle://me:hunter2@a"),
        @"semel.yaml:1:8: store: expected a store such as sqlite:semel.db, postgres://HOST/DATABASE or redis://HOST"
    );
}

#[test]
fn a_value_of_another_kind_is_named() {
    assert_snapshot!(
        error("gateway: { lease: [30s] }"),
        @"semel.yaml:1:19: gateway.lease: expected a duration such as 30s, found a list"
    );
    assert_snapshot!(
        error("gateway: { lease: { keep: 3s } }"),
        @"semel.yaml:1:19: gateway.lease: expected a duration such as 30s, found a map"
    );
    assert_snapshot!(
        error("gateway: yes"),
        @r#"semel.yaml:1:10: gateway: expected a map of listen, upstream, host, trust_forwarded, outcomes, tls, access_log, upstream_tls, upstream_http2, limits, timeouts, policy_page, …, found "yes""#
    );
    assert_snapshot!(
        error("gateway: [a]"),
        @"semel.yaml:1:10: gateway: expected a map of listen, upstream, host, trust_forwarded, outcomes, tls, access_log, upstream_tls, upstream_http2, limits, timeouts, policy_page, …, found a list"
    );
    assert_snapshot!(
        error("gateway: { limits: many }"),
        @r#"semel.yaml:1:20: gateway.limits: expected a map of connections, in_flight, runs, receiving, waiting, waiting_per_key, passing, tunnels, body_rate, header_bytes, request_bytes, response_bytes, …, found "many""#
    );
}

#[test]
fn durations_are_checked_alone_and_together() {
    assert_snapshot!(
        error("gateway:\n  routes:\n    - match: { path: /a }\n      lease: 30 parsecs\n"),
        @r#"semel.yaml:4:14: gateway.routes[0].lease: expected a duration such as 30s, found "30 parsecs""#
    );
    assert_snapshot!(
        error("gateway:\n  timeouts: { header: soon }\n"),
        @r#"semel.yaml:2:23: gateway.timeouts.header: expected a duration such as 30s, found "soon""#
    );
    assert_snapshot!(
        error("gateway:\n  timeouts: { header: 0s }\n"),
        @"semel.yaml:2:23: gateway.timeouts.header: expected a duration from 1ms to 1d, found 0ms"
    );
    assert_snapshot!(
        error("gateway:\n  timeout: 25h\n"),
        @"semel.yaml:2:12: gateway.timeout: expected a duration from 1ms to 1d, found 1d 1h"
    );
    assert_snapshot!(
        error("gateway:\n  lease: 25h\n"),
        @r#"semel.yaml:2:10: gateway.lease: expected a duration from 1ms to 24h, found "25h""#
    );
    assert_snapshot!(
        error("gateway: { in_progress: { wait: 2h } }"),
        @"semel.yaml:1:25: gateway.in_progress: expected a wait of at most 1h, found 2h"
    );
    assert_snapshot!(
        error("gateway: { retention: 10s }"),
        @"semel.yaml:1:23: gateway.retention: expected at least the lease of 30s, found 10s"
    );
    assert_snapshot!(
        error("gateway:\n  retention: 1m\n  routes:\n    - match: { path: /a }\n      lease: 2m\n"),
        @"semel.yaml:2:14: gateway.retention: expected at least the lease of 2m, found 1m"
    );
    assert_snapshot!(
        error("gateway: { retention: { archive: true } }"),
        @"semel.yaml:1:23: gateway.retention: keep is missing"
    );
    assert_snapshot!(
        error("gateway: { retention: { keep: 1h, archive: maybe } }"),
        @r#"semel.yaml:1:44: gateway.retention.archive: expected true or false, found "maybe""#
    );
    assert_snapshot!(
        error("gateway: { retention: 9999d }"),
        @"semel.yaml:1:23: gateway.retention: expected a duration from 1ms to ten years, found 9999d"
    );
}

#[test]
fn sizes_and_numbers_have_limits() {
    assert_snapshot!(
        error("gateway: { limits: { connections: 0 } }"),
        @r#"semel.yaml:1:35: gateway.limits.connections: expected a whole number from 1 to 1000000, found "0""#
    );
    assert_snapshot!(
        error("gateway: { limits: { header_bytes: 2MB } }"),
        @r#"semel.yaml:1:36: gateway.limits.header_bytes: expected a size such as 64KiB, found "2MB""#
    );
    assert_snapshot!(
        error("gateway: { limits: { header_bytes: 2MiB } }"),
        @"semel.yaml:1:36: gateway.limits.header_bytes: expected at most 1MiB, found 2MiB"
    );
    assert_snapshot!(
        error("gateway: { limits: { header_bytes: 1KiB } }"),
        @"semel.yaml:1:36: gateway.limits.header_bytes: expected at least 8KiB, found 1KiB"
    );
    assert_snapshot!(
        error("gateway: { limits: { response_headers: 10001 } }"),
        @"semel.yaml:1:40: gateway.limits.response_headers: expected at most 10000, found 10001"
    );
    assert_snapshot!(
        error("gateway: { limits: { response_bytes: 17MiB } }"),
        @"semel.yaml:1:38: gateway.limits.response_bytes: expected at most 16MiB, found 17MiB"
    );
    assert_snapshot!(
        error("gateway: { request_bytes: 1GiB }"),
        @"semel.yaml:1:27: gateway.request_bytes: expected at most 64MiB, found 1GiB"
    );
    assert_snapshot!(
        error("gateway: { key_bytes_max: 256 }"),
        @r#"semel.yaml:1:27: gateway.key_bytes_max: expected a whole number from 1 to 255, found "256""#
    );
}

#[test]
fn addresses_and_files_are_checked() {
    assert_snapshot!(
        error("gateway: { listen: localhost }"),
        @r#"semel.yaml:1:20: gateway.listen: expected an address such as 127.0.0.1:7070 or unix:/run/semel.sock, found "localhost""#
    );
    assert_snapshot!(
        error("gateway: { upstream: 127.0.0.1:80 }"),
        @r#"semel.yaml:1:22: gateway.upstream: expected an address such as http://127.0.0.1:8080, found "127.0.0.1:80""#
    );
    assert_snapshot!(
        error("gateway: { upstream: 'http://a?b' }"),
        @r#"semel.yaml:1:22: gateway.upstream: expected an address such as http://127.0.0.1:8080, found "http://a?b""#
    );
    assert_snapshot!(
        error("gateway: { host: keep }"),
        @r#"semel.yaml:1:18: gateway.host: expected one of preserve, upstream, found "keep""#
    );
    assert_snapshot!(
        error("gateway: { trust_forwarded: yes }"),
        @r#"semel.yaml:1:29: gateway.trust_forwarded: expected true or false, found "yes""#
    );
    assert_snapshot!(
        error("gateway: { tls: { certificate: a.pem } }"),
        @"semel.yaml:1:17: gateway.tls: key is missing"
    );
    assert_snapshot!(
        error("gateway: { unknown: { reconcile: 'payments?key={key}' } }"),
        @r#"semel.yaml:1:34: gateway.unknown.reconcile: expected a URL such as http://127.0.0.1:8080/payments?key={key}, found "payments?key={key}""#
    );
    assert_snapshot!(
        error("gateway: { unknown: { reconcile: 'http://a' } }"),
        @r#"semel.yaml:1:34: gateway.unknown.reconcile: expected a URL such as http://127.0.0.1:8080/payments?key={key}, found "http://a""#
    );
    assert_snapshot!(
        error("gateway: { unknown: { reconcile: 'http://a?k={key}&n={amount}' } }"),
        @r#"semel.yaml:1:34: gateway.unknown.reconcile: expected only the fields {key}, {fence}, {scope}, {tenant} between braces, found "http://a?k={key}&n={amount}""#
    );
}

#[test]
fn keys_are_checked() {
    assert_snapshot!(
        error("gateway: { key: { body: '$.[' } }"),
        @r#"semel.yaml:1:25: gateway.key.body: expected a path into JSON such as $.order.id, found "$.[""#
    );
    assert_snapshot!(
        error("gateway: { key: { template: 'fixed' } }"),
        @r#"semel.yaml:1:29: gateway.key.template: template "fixed" needs 1 to 32 fields such as {orderId}"#
    );
    assert_snapshot!(
        error("gateway: { key: { header: 'a b' } }"),
        @r#"semel.yaml:1:27: gateway.key.header: expected the name of a header, found "a b""#
    );
    assert_snapshot!(
        error("gateway: { key: { cookie: x } }"),
        @r#"semel.yaml:1:19: gateway.key.cookie: expected one of header, body, query, template, derive, found "cookie""#
    );
    assert_snapshot!(
        error("gateway: { key: header }"),
        @"semel.yaml:1:17: gateway.key: expected header with a value, as in header: …"
    );
    assert_snapshot!(
        error("gateway: { key: { header: a, query: b } }"),
        @"semel.yaml:1:17: gateway.key: expected one of header, body, query, template, derive, found 2 keys"
    );
    assert_snapshot!(
        error("gateway: { key: [] }"),
        @"semel.yaml:1:17: gateway.key: expected 1 to 8 places, found 0"
    );
    assert_snapshot!(
        error("gateway: { key: [ { query: a }, derive, { query: b } ] }"),
        @"semel.yaml:1:17: gateway.key: expected derive at the end: it always finds a key, so nothing after it is tried"
    );
    assert_snapshot!(
        error("gateway: { key: [ { query: a }, { derive: false } ] }"),
        @r#"semel.yaml:1:43: gateway.key[1].derive: expected true, found "false""#
    );
    assert_snapshot!(
        error("gateway: { key: [derive], missing: require }"),
        @"semel.yaml:1:36: gateway.missing: expected no require: the key is derived where it is missing"
    );
}

#[test]
fn tenants_are_checked_and_keys_are_not_shown() {
    assert_snapshot!(
        error("gateway: { tenant: barer }"),
        @r#"semel.yaml:1:20: gateway.tenant: expected one of caller, header, api_key, bearer, jwt_claim, public, found "barer"; did you mean bearer?"#
    );
    assert_snapshot!(
        error("gateway: { tenant: { jwt_claim: { claim: sub, algorithm: RS256 } } }"),
        @"semel.yaml:1:33: gateway.tenant.jwt_claim: expected key, key_file, jwks or jwks_file, found none"
    );
    assert_snapshot!(
        error("gateway: { tenant: { jwt_claim: { claim: sub, algorithm: RS256, key: secret-value } } }"),
        @"semel.yaml:1:70: gateway.tenant.jwt_claim.key: expected a public key for RS256 as PEM"
    );
    assert_snapshot!(
        error("gateway: { tenant: { jwt_claim: { claim: sub, algorithm: none, key: secret-value } } }"),
        @r#"semel.yaml:1:58: gateway.tenant.jwt_claim.algorithm: expected one of HS256, HS384, HS512, RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, EdDSA, found "none""#
    );
    assert_snapshot!(
        error("gateway: { tenant: { jwt_claim: { claim: sub, algorithm: HS256, key: a, key_file: /dev/null } } }"),
        @"semel.yaml:1:83: gateway.tenant.jwt_claim.key_file: expected one of key, key_file, jwks or jwks_file, found key and key_file"
    );
    assert_snapshot!(
        error("gateway: { tenant: { jwt_claim: { claim: sub, key: secret-value } } }"),
        @"semel.yaml:1:33: gateway.tenant.jwt_claim: expected algorithm beside key, found none"
    );
    assert_snapshot!(
        error("gateway: { tenant: { jwt_claim: { claim: sub, algorithm: HS256, jwks: 'https://a.example/keys' } } }"),
        @"semel.yaml:1:58: gateway.tenant.jwt_claim.algorithm: expected an algorithm with public keys beside a key set: secrets are not published"
    );
    assert_snapshot!(
        error("gateway: { tenant: { jwt_claim: { claim: sub, jwks: a.example/keys } } }"),
        @r#"semel.yaml:1:53: gateway.tenant.jwt_claim.jwks: expected a URL such as http://127.0.0.1:9000/orders, found "a.example/keys""#
    );
    assert_snapshot!(
        error("gateway: { tenant: { jwt_claim: { claim: sub, algorithm: HS256, key_file: no.pem } } }"),
        @r#"semel.yaml:1:75: gateway.tenant.jwt_claim.key_file: expected a file that can be read, found "no.pem": No such file or directory (os error 2)"#
    );
    assert_snapshot!(
        error("gateway: { tenant: { jwt_claim: { algorithm: HS256, key_file: no.pem } } }"),
        @"semel.yaml:1:33: gateway.tenant.jwt_claim: claim is missing"
    );
}

#[test]
fn fingerprints_are_checked() {
    assert_snapshot!(
        error("gateway: { fingerprint: canonical }"),
        @r#"semel.yaml:1:25: gateway.fingerprint: expected canonical_json, raw, off or a map of body, fields, exclude, headers, authority, found "canonical""#
    );
    assert_snapshot!(
        error("gateway: { fingerprint: { fields: [a], exclude: [b] } }"),
        @"semel.yaml:1:25: gateway.fingerprint: expected one of body, fields, exclude, found several"
    );
    assert_snapshot!(
        error("gateway: { fingerprint: { body: off } }"),
        @r#"semel.yaml:1:33: gateway.fingerprint.body: expected one of canonical_json, raw, found "off""#
    );
    assert_snapshot!(
        error("gateway: { fingerprint: { haeders: [X-Region] } }"),
        @"semel.yaml:1:27: gateway.fingerprint.haeders: unknown key; did you mean headers?"
    );
    assert_snapshot!(
        error("gateway: { fingerprint: { headers: ['X Region'] } }"),
        @r#"semel.yaml:1:37: gateway.fingerprint.headers[0]: expected the name of a header, found "X Region""#
    );
    assert_snapshot!(
        error("gateway: { fingerprint: off, routes: [{ match: { path: /a }, fingerprint: { headers: [X-Region] } }] }"),
        @"semel.yaml:1:75: gateway.routes[0].fingerprint: expected body, fields or exclude beside headers, because fingerprint is off further up and nothing would be compared"
    );
    assert_snapshot!(
        error("gateway: { routes: [{ match: { path: '/a/{id}' }, key: { template: '{path.nr}' } }] }"),
        @"semel.yaml:1:56: gateway.routes[0].key: expected a name of the pattern /a/{id}, found {path.nr}"
    );
    assert_snapshot!(
        error("gateway: { fingerprint: { fields: ['$$'] } }"),
        @r#"semel.yaml:1:36: gateway.fingerprint.fields[0]: expected a path into JSON such as $.order.id, found "$$""#
    );
    assert_snapshot!(
        error("gateway: { fingerprint: off, missing: derive }"),
        @"semel.yaml:1:25: gateway.fingerprint: expected a fingerprint, because keys are derived from it, found off"
    );
}

#[test]
fn routes_are_checked() {
    assert_snapshot!(
        error("gateway: { routes: [ { lease: 3s } ] }"),
        @"semel.yaml:1:22: gateway.routes[0]: match is missing"
    );
    assert_snapshot!(
        error("gateway: { routes: [] }"),
        @"semel.yaml:1:20: gateway.routes: expected 1 to 1000 routes, found 0"
    );
    assert_snapshot!(
        error("gateway: { routes: [ { match: { path: orders } } ] }"),
        @r#"semel.yaml:1:39: gateway.routes[0].match.path: expected a path such as /orders/{id} or /v1/{*rest}, found "orders""#
    );
    assert_snapshot!(
        error("gateway: { routes: [ { match: { path: '/a/{' } } ] }"),
        @r#"semel.yaml:1:39: gateway.routes[0].match.path: expected a path such as /orders/{id} or /v1/{*rest}, found "/a/{""#
    );
    assert_snapshot!(
        error("gateway: { routes: [ { match: { path: /a, methods: [POST, PSOT] } } ] }"),
        @r#"semel.yaml:1:59: gateway.routes[0].match.methods[1]: expected one of POST, PATCH, PUT, DELETE, GET, found "PSOT"; did you mean POST?"#
    );
    assert_snapshot!(
        error("gateway: { routes: [ { match: { path: /a, methods: post } } ] }"),
        @r#"semel.yaml:1:52: gateway.routes[0].match.methods: expected one of POST, PATCH, PUT, DELETE, GET, found "post"; did you mean POST?"#
    );
    assert_snapshot!(
        error("gateway:\n  routes:\n    - match: { path: '/a/{id}' }\n    - match: { path: '/a/{name}', methods: PATCH }\n"),
        @r#"semel.yaml:4:22: gateway.routes[1].match.path: expected a path that no other route for PATCH has, found "/a/{name}" beside "/a/{id}""#
    );
    assert_snapshot!(
        error("gateway: { routes: [ { match: { path: /a }, scope: '' } ] }"),
        @"semel.yaml:1:52: gateway.routes[0].scope: scope must have 1 to 255 bytes, found 0"
    );
    assert_snapshot!(
        error("gateway: { routes: [ { match: { path: /a }, scope: \"a\\tb\" } ] }"),
        @r#"semel.yaml:1:52: gateway.routes[0].scope: scope must not contain control characters, found '\t' at byte 1"#
    );
    for scope in [
        "payments@one",
        "payments@",
        "payments@01",
        "payments@0",
        "a@b@2",
    ] {
        let text =
            format!("gateway: {{ routes: [ {{ match: {{ path: /a }}, scope: '{scope}' }} ] }}");
        let expected = format!(
            "semel.yaml:1:52: gateway.routes[0].scope: expected a scope such as payments@1, with a whole number from 1 on \
             behind its only @, found \"{scope}\""
        );
        assert_eq!(error(&text), expected);
    }
}

#[test]
fn words_are_checked() {
    assert_snapshot!(
        error("gateway: { missing: drop }"),
        @r#"semel.yaml:1:21: gateway.missing: expected one of require, pass, derive, found "drop""#
    );
    assert_snapshot!(
        error("gateway: { in_progress: 404 }"),
        @r#"semel.yaml:1:25: gateway.in_progress: expected 409, 425 or 202, found "404""#
    );
    assert_snapshot!(
        error("gateway: { keep: { statuses: [2xx, 6xx] } }"),
        @r#"semel.yaml:1:36: gateway.keep.statuses[1]: expected a status such as 404 or 4xx, found "6xx""#
    );
    assert_snapshot!(
        error("gateway: { unknown: reconcile }"),
        @"semel.yaml:1:21: gateway.unknown: expected reconcile with a value, as in reconcile: …"
    );
    assert_snapshot!(
        error("gateway: { unknown: hodl }"),
        @r#"semel.yaml:1:21: gateway.unknown: expected one of hold, rerun, reconcile, found "hodl"; did you mean hold?"#
    );
    assert_snapshot!(
        error("gateway: { replay: { cookies: 1 } }"),
        @r#"semel.yaml:1:31: gateway.replay.cookies: expected true or false, found "1""#
    );
    assert_snapshot!(
        error("gateway: { profile: strip }"),
        @r#"semel.yaml:1:21: gateway.profile: expected one of ietf, stripe, paypal, square, adyen, stripe-v2, acp, found "strip""#
    );
}

#[test]
fn limits_of_tenants_say_where_they_are_wrong() {
    assert_snapshot!(
        error("limits: { tenant: { requests: 100 } }"),
        @r#"semel.yaml:1:31: limits.tenant.requests: expected a rate such as 100/s, 1000/m, 5000/h or 10000/day, found "100""#
    );
    assert_snapshot!(
        error("limits: { tenants: { acme: { burst: 5 } } }"),
        @"semel.yaml:1:37: limits.tenants.acme.burst: expected requests beside burst, which says how many of them may come at once"
    );
}
