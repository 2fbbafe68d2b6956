//! What `semel check` says about a file.

use insta::assert_snapshot;
use semel_policy::{explain, warnings};

use super::parse;

fn explained(text: &str) -> String {
    explain(&parse(text).unwrap())
}

fn warned(text: &str) -> String {
    warnings(&parse(text).unwrap()).join("\n")
}

#[test]
fn an_empty_file_in_words() {
    assert_snapshot!(explained(""), @r"
    records are kept in sqlite:semel.db
      they survive kills and power cuts, not the loss of the disk; processes of this machine share them
    the admin side listens on 127.0.0.1:7071, for everybody who can reach it
    no gateway
    ");
}

#[test]
fn a_gateway_without_routes_in_words() {
    assert_snapshot!(explained("gateway: { upstream: 'http://127.0.0.1:8080' }"), @r"
    records are kept in sqlite:semel.db
      they survive kills and power cuts, not the loss of the disk; processes of this machine share them
    the admin side listens on 127.0.0.1:7071, for everybody who can reach it
    the gateway listens on 127.0.0.1:7070, in front of http://127.0.0.1:8080

    POST /{*rest}, PATCH /{*rest}
      key         the header Idempotency-Key; at most 255 bytes
      no key      passes unguarded; `missing: require` would refuse it
      caller      by what stays the same in Authorization; without it everybody is the same
      same        the whole request; the order of JSON fields does not matter
      running     a duplicate waits up to 2s, then gets 409
      kept        2xx 3xx 4xx 500: replayed for 1d, then forgotten
      released    401 403 408 425 429, and 503 with Retry-After: the next attempt runs
      unknown     held: callers get 409 until a person decides
      times       the service has 1m to begin its answer; a lease lasts 30s without a sign of life
      sizes       requests up to 1MiB; of responses over 1MiB the body is not kept

    everything else passes untouched; semel_unguarded_keyed_requests_total counts what of it carries a key
      also PUT|DELETE /{*rest}

    think about:
      - POST /{*rest}, PATCH /{*rest}: callers are told apart by their tokens: one whose bearer token is renewed between two attempts is another caller, and its retry runs again; tenant: { jwt_claim: ... } takes what stays
    ");
}

#[test]
fn routes_in_words() {
    let text = "
store: postgres://semel:secret@db/semel
admin: off
gateway:
  upstream: https://shop.internal
  tls: { certificate: c.pem, key: k.pem }
  routes:
    - match: { methods: [POST], path: /payments }
      scope: payments@2
      profile: stripe
      missing: require
      tenant: { api_key: X-Api-Key }
      fingerprint: { exclude: [sent_at] }
      in_progress: 425
      retention: { keep: 7d, archive: true }
      unknown: { reconcile: 'https://shop.internal/payments?key={key}' }
    - match: { path: '/orders/{id}' }
      key: [{ query: key }, { body: $.id }, derive]
      upstream: http://orders
      keep: { release: [] }
      replay: { expires: true }
      request_bytes: 10KiB
";
    assert_snapshot!(explained(text), @r"
    records are kept in postgres://db/semel
      they survive what the database's commits survive; every process that reaches it shares them
    no admin side
    the gateway listens on 127.0.0.1:7070 with TLS, in front of https://shop.internal

    POST /payments (payments@2)
      profile     stripe: refusals look as its clients expect
      key         the header Idempotency-Key; at most 255 bytes
      no key      refused with 400
      caller      by the secret in X-Api-Key; required
      same        the whole request without $.sent_at; Stripe-Account, Stripe-Context count
      running     a duplicate gets 425 at once
      kept        2xx 3xx 4xx 500: replayed for 7d, then archived
      released    400 401 403 408 409 425 429, and 503 with Retry-After: the next attempt runs
      unknown     https://shop.internal/payments?key={key} is asked whether it happened
      times       the service has 1m to begin its answer; a lease lasts 30s without a sign of life
      sizes       requests up to 1MiB; of responses over 1MiB the body is not kept

    POST /orders/{id}, PATCH /orders/{id}
      key         the query parameter key, else $.id in the body, else derived from what is asked; at most 255 bytes
      no key      cannot be: one is derived
      caller      by what stays the same in Authorization; without it everybody is the same
      same        the whole request; the order of JSON fields does not matter
      running     a duplicate waits up to 2s, then gets 409
      kept        2xx 3xx 4xx 500: replayed for 1d, then forgotten; answers tell until when
      released    no answer: every one may have had an effect
      unknown     held: callers get 409 until a person decides
      times       the service has 1m to begin its answer; a lease lasts 30s without a sign of life
      sizes       requests up to 10KiB; of responses over 1MiB the body is not kept
      service     http://orders

    everything else passes untouched; semel_unguarded_keyed_requests_total counts what of it carries a key
      also PUT|PATCH|DELETE /payments
      also PUT|DELETE /orders/{id}

    think about:
      - POST /orders/{id}, PATCH /orders/{id}: callers are told apart by their tokens: one whose bearer token is renewed between two attempts is another caller, and its retry runs again; tenant: { jwt_claim: ... } takes what stays
      - POST /orders/{id}, PATCH /orders/{id}: keys are derived: two requests with the same content are one operation, even if both are meant
    ");
}

#[test]
fn hosts_exact_paths_and_credentials_in_words() {
    let text = "
admin: off
gateway:
  upstream: http://a
  routes:
    - match: { methods: [POST], path: /Payments, host: [api.example.com, '*.eu.example.com'] }
      unknown: { reconcile: { url: 'http://a/ops/{key}', headers: { authorization: 'Bearer hunter2' }, timeout: 2s } }
    - match: { methods: [POST, PUT, PATCH, DELETE], path: /exact, exact: true }
";
    let said = explained(text);
    let has = |line: &str| assert!(said.lines().any(|said| said == line), "{line} in\n{said}");
    has("POST api.example.com/Payments, POST *.eu.example.com/Payments");
    has("  unknown     http://a/ops/{key} is asked whether it happened, with Authorization");
    has("POST /exact, PUT /exact, PATCH /exact, DELETE /exact");
    has("  match       method and path byte by byte: another spelling of them passes unguarded");
    has("  also PUT|PATCH|DELETE api.example.com/Payments");
    assert!(
        said.contains("match.host: requests for other hosts pass unguarded"),
        "{said}"
    );
    assert!(
        said.contains("match.exact: a service that ignores case"),
        "{said}"
    );
    assert!(!said.contains("also POST"), "{said}");
    assert!(!said.contains("hunter2"), "{said}");
}

#[test]
fn stores_in_words() {
    assert_snapshot!(explained("store: redis://:secret@cache:6379/0?prefix=shop\nadmin: off"), @r"
    records are kept in redis://cache:6379/0
      they survive what the server's log and replicas survive, and semel check tells what that is; what they lose can run again
    no admin side
    no gateway
    ");
    let hybrid = "
store: { claims: 'redis://:secret@cache', outcomes: 'postgres://semel:secret@db/shop' }
admin: off
";
    let snapshot = explained(hybrid);
    assert_snapshot!(snapshot, @r"
    claims are kept in redis://cache
      if it forgets, what was running then can run again; semel check tells how durable it is
    outcomes are kept in postgres://db/shop
      what is settled stays settled, whatever becomes of the claims
      they survive what the database's commits survive; every process that reaches it shares them
    no admin side
    no gateway
    ");
    let joined = "store: redis://:secret@cache+postgres://semel:secret@db/shop\nadmin: off";
    assert_eq!(explained(joined), snapshot);
}

#[test]
fn a_route_that_gives_up_before_its_connection_is_warned_about() {
    let text = "
gateway:
  upstream: http://a
  tenant: public
  timeouts: { connect: 90s }
  routes:
    - match: { methods: [POST], path: /a }
    - match: { methods: [POST], path: /b }
      timeout: 2m
";
    assert_snapshot!(warned(text), @"POST /a: timeout is not longer than gateway.timeouts.connect, which is 1m 30s: a service that is slow to accept connections gets no time to answer");
}

#[test]
fn warnings_are_about_what_surprises() {
    for text in [
        "",
        "gateway: { upstream: 'http://a', tenant: { header: X-Tenant } }",
        "admin: { listen: '0.0.0.0:1', token: 0123456789abcdef }",
    ] {
        assert_eq!(warned(text), "", "{text}");
    }
    let text = "
admin: { listen: '0.0.0.0:7071' }
gateway:
  trust_forwarded: true
  routes:
    - match: { methods: [POST], path: /a }
      tenant: public
      replay: { cookies: true }
    - match: { path: /b }
      missing: derive
    - match: { methods: [POST], path: /c }
      retention: 5m
      unknown: rerun
    - match: { methods: [POST], path: /d }
      fingerprint: off
      mode: observe
";
    assert_snapshot!(warned(text), @r"
    admin.listen is 0.0.0.0:7071, beyond loopback, and admin.token is missing: it will not start
    gateway.trust_forwarded: clients can claim any address unless a proxy in front overwrites Forwarded and X-Forwarded-*
    gateway.upstream is missing: whatever no route sends elsewhere has no service
    POST /a: tenant is public and cookies are replayed: one caller's session can reach another
    POST /b, PATCH /b, POST /c, POST /d: callers are told apart by their tokens: one whose bearer token is renewed between two attempts is another caller, and its retry runs again; tenant: { jwt_claim: ... } takes what stays
    POST /b, PATCH /b: keys are derived: two requests with the same content are one operation, even if both are meant
    POST /c: retention is 5m: a client that retries later than that runs the operation again
    POST /c: unknown is rerun: only for effects that are idempotent by themselves
    POST /d: mode is observe: duplicates are reported, not stopped
    POST /d: fingerprint is off: another request with the same key gets the first one's answer
    ");
}

#[test]
fn limits_of_tenants_and_what_is_stored_in_words() {
    let said = explained(
        "limits:
  tenant: { requests: 100/s, burst: 200, new_keys: 1000/m, stored_bytes: 1GiB/day }
  tenants: { acme: { requests: 500/s } }
gateway:
  upstream: 'http://127.0.0.1:8080'
  redact: { body: $.card.number, headers: [X-Secret] }
  routes:
    - match: { path: /payments, methods: [POST] }
      limits: { new_keys: 10/m }
    - match: { path: /tokens, methods: [POST] }
      contents: status
",
    );
    for line in [
        "each tenant may bring 100/s requests (200 at once), 1000/m new keys, 1GiB/day stored; more gets 429",
        "tenant acme may bring 500/s requests, 1000/m new keys, 1GiB/day stored",
        "limits      10/m new keys from one tenant, besides its other limits",
        "stored      status, headers and body, without $.card.number, X-Secret",
        "stored      the status; replays say body-not-kept, without $.card.number, X-Secret",
    ] {
        assert!(said.contains(line), "{line:?} in {said}");
    }
}

#[test]
fn traces_in_words() {
    let text = |more: &str| format!("tracing: {{ endpoint: 'http://127.0.0.1:4318'{more} }}");
    let all = "traces are sent to http://127.0.0.1:4318: all that begin here, and those that callers and producers record";
    assert!(explained(&text("")).contains(all));
    let some = explained(&text(", sample: 0.25, callers: link, messages: join"));
    for said in [
        "25 % of those that begin here",
        "callers' traces are linked and not continued",
        "handling a message is a part of its producer's trace",
    ] {
        assert!(some.contains(said), "{some}");
    }
    assert!(!explained("tracing: { sample: parent }").contains("traces"));
}
