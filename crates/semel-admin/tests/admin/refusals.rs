//! Input that breaks a rule, and stores that cannot answer.

use insta::assert_snapshot;
use semel_testkit::faulty::Fault;
use serde_json::json;

use crate::http::{post_text, raw};
use crate::server::{Server, about, query};

/// What a bad call gets: status, problem, and what is wrong where.
async fn refusal(server: &Server, path: &str, body: &str) -> String {
    let refused = post_text(server.address, path, body).await;
    let json = refused.json();
    let detail = json["detail"].as_str().unwrap();
    format!("{} {}: {detail}", refused.status, refused.problem())
}

#[tokio::test]
async fn bad_input_is_refused_with_what_and_where() {
    let server = Server::start().await;
    let mut said = Vec::new();
    for (path, body) in [
        ("", ""),
        ("", "{"),
        ("", "[]"),
        ("", r#"{"tenant":"acme","scope":"payments"}"#),
        ("", r#"{"tenant":"","scope":"s","key":"k"}"#),
        ("", r#"{"tenant":"t","scope":"s","key":7}"#),
        ("", r#"{"tenant":"t","scope":"s","key":"k","leese":"1s"}"#),
        ("", r#"{"tenant":"t","scope":"s","key":"k","lease":"soon"}"#),
        ("", r#"{"tenant":"t","scope":"s","key":"k","lease":"25h"}"#),
        (
            "",
            r#"{"tenant":"t","scope":"s","key":"k","takeover":"maybe"}"#,
        ),
        (
            "",
            r#"{"tenant":"t","scope":"s","key":"k","takeover":{"of":-1}}"#,
        ),
        (
            "",
            r#"{"tenant":"t","scope":"s","key":"k","fingerprint":"abc"}"#,
        ),
        ("", r#"{"tenant":"t","scope":"s","key":"k"} true"#),
        (
            "/settle",
            r#"{"tenant":"t","scope":"s","key":"k","fence":1}"#,
        ),
        (
            "/settle",
            r#"{"tenant":"t","scope":"s","key":"k","fence":1,"verdict":"ok"}"#,
        ),
        (
            "/settle",
            r#"{"tenant":"t","scope":"s","key":"k","fence":1,"verdict":"failed","status":42}"#,
        ),
        (
            "/settle",
            r#"{"tenant":"t","scope":"s","key":"k","fence":1,"verdict":"failed","headers":[["a b","c"]]}"#,
        ),
        (
            "/settle",
            r#"{"tenant":"t","scope":"s","key":"k","fence":1,"verdict":"failed","headers":[["a","b\n"]]}"#,
        ),
        (
            "/settle",
            r#"{"tenant":"t","scope":"s","key":"k","fence":1,"verdict":"failed","body":"a","body_base64":"b"}"#,
        ),
        (
            "/settle",
            r#"{"tenant":"t","scope":"s","key":"k","fence":1,"verdict":"failed","body_base64":"?"}"#,
        ),
        (
            "/settle",
            r#"{"tenant":"t","scope":"s","key":"k","fence":1,"verdict":"failed","retention":"0s"}"#,
        ),
        (
            "/unknown",
            r#"{"tenant":"t","scope":"s","key":"k","fence":1,"cause":"lease-ended"}"#,
        ),
    ] {
        said.push(refusal(&server, &format!("/api/v1/claims{path}"), body).await);
    }
    assert_snapshot!(said.join("\n"), @r#"
    400 invalid-input: expected a JSON object
    400 invalid-input: EOF while parsing an object at line 1 column 1
    400 invalid-input: expected a JSON object
    400 invalid-input: missing field `key` at line 1 column 36
    400 invalid-input: tenant: tenant must have 1 to 255 bytes, found 0 at line 1 column 12
    400 invalid-input: key: invalid type: integer `7`, expected a string at line 1 column 33
    400 invalid-input: leese: unknown field `leese`, expected one of `tenant`, `scope`, `key`, `request`, `fingerprint`, `lease`, `takeover`, `nonce`, `wait` at line 1 column 43
    400 invalid-input: lease: a duration is a whole number and a unit, such as 500ms, 30s, 5m, 24h or 7d; found "soon" at line 1 column 51
    400 invalid-input: lease: a lease lasts 1 ms to 24 h, found 90000s at line 1 column 50
    400 invalid-input: takeover: unknown variant `maybe`, expected one of `never`, `allowed`, `of` at line 1 column 54
    400 invalid-input: takeover.of: expected a whole number from 0 to 9223372036854775807, found -1 at line 1 column 56
    400 invalid-input: fingerprint: a fingerprint has 64 hexadecimal digits at line 1 column 56
    400 invalid-input: trailing characters at line 1 column 38
    400 invalid-input: missing field `verdict` at line 1 column 46
    400 invalid-input: verdict: unknown variant `ok`, expected `succeeded` or `failed` at line 1 column 60
    400 invalid-input: status: a status is 200 to 599, found 42
    400 invalid-input: headers[0]: expected a header name
    400 invalid-input: headers[0]: a header value has no control characters
    400 invalid-input: body_base64: expected body or body_base64, found both
    400 invalid-input: body_base64: not base64: Invalid symbol 63, offset 0.
    400 invalid-input: retention: retention is 1 ms to ten years, found 0ns
    400 invalid-input: cause: unknown variant `lease-ended`, expected `run-undecided` or `run-panicked` at line 1 column 67
    "#);
}

#[tokio::test]
async fn a_refused_field_is_named_in_a_member_of_its_own() {
    let server = Server::start().await;
    let claim = server.post("/api/v1/claims", about("k", json!({ "lease": "soon" })));
    assert_eq!(claim.await.json()["field"], "lease");
}

#[tokio::test]
async fn bad_parameters_are_refused_with_what_and_where() {
    let server = Server::start().await;
    let mut said = Vec::new();
    for path in [
        "/api/v1/claims?tenant=t&scope=s",
        "/api/v1/claims?tenant=t&scope=s&key=",
        "/api/v1/claims?tenant=t&scope=s&key=k&kee=k",
        "/api/v1/records?state=stuck",
        "/api/v1/records?limit=0",
        "/api/v1/records?limit=1001",
        "/api/v1/records?before=yesterday",
    ] {
        let refused = server.get(path).await;
        assert_eq!(
            (refused.status, refused.problem().as_str()),
            (400, "invalid-input")
        );
        said.push(refused.json()["detail"].as_str().unwrap().to_owned());
    }
    assert_snapshot!(said.join("\n"), @r#"
    missing field `key`
    key: key must have 1 to 255 bytes, found 0
    kee: unknown field `kee`, expected one of `tenant`, `scope`, `key`, `wait`
    state: a state is one of running, unknown, succeeded, failed, settled, archived, found "stuck"
    limit: a page has 1 to 1000 records, found 0
    limit: a page has 1 to 1000 records, found 1001
    a cursor is the `next` of the page before, unchanged, found "yesterday"
    "#);
}

#[tokio::test]
async fn bodies_have_limits() {
    let server = Server::start().await;
    let padded = |bytes: usize| format!("{{\"tenant\":\"{}\"}}", "x".repeat(bytes - 13));
    for (path, bytes_max) in [
        ("/api/v1/claims", 1024 * 1024),
        ("/api/v1/claims/renew", 64 * 1024),
        ("/api/v1/claims/settle", 24 * 1024 * 1024),
    ] {
        let fits = post_text(server.address, path, &padded(bytes_max)).await;
        assert_eq!(fits.problem(), "invalid-input", "{path}");
        let above = post_text(server.address, path, &padded(bytes_max + 1)).await;
        assert_eq!(
            (above.status, above.problem().as_str()),
            (413, "body-too-large")
        );
    }
    let head = "POST /api/v1/claims/renew HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    let chunked = format!("{head}10001\r\n{}\r\n0\r\n\r\n", "x".repeat(0x10001));
    let above = raw(server.address, chunked.as_bytes()).await;
    assert_eq!(above.problem(), "body-too-large");
}

#[tokio::test]
async fn an_outcome_of_the_largest_body_is_kept_and_one_byte_more_leaves_its_digest() {
    let server = Server::start().await;
    for (key, bytes, kept) in [("fits", 16 << 20, true), ("above", (16 << 20) + 1, false)] {
        let fence = server.fence(key).await;
        let body = "x".repeat(bytes);
        let settle = about(
            key,
            json!({ "fence": fence, "verdict": "succeeded", "body": body }),
        );
        let settled = server.post("/api/v1/claims/settle", settle).await;
        assert_eq!(settled.status, 200, "{key}");
        let outcome = server.claim(key).await.json()["outcome"]["body"].clone();
        assert_eq!(
            (&outcome["bytes"], &outcome["kept"]),
            (&json!(bytes), &json!(kept))
        );
        assert_eq!(outcome["text"].is_string(), kept);
        assert!(outcome["blake3"].is_string());
    }
}

#[tokio::test]
async fn a_store_that_is_away_refuses_everything_and_says_when_to_come_back() {
    let (server, faulty) = Server::faulty().await;
    let fence = server.fence("k").await;
    faulty.set_all(Fault::Away);
    let away = server.claim("other").await;
    assert_eq!(away.header("retry-after"), Some("1"));
    assert_snapshot!(away.shown(), @r#"
    503
    {
      "detail": "the store was told to fail",
      "ran": "no",
      "status": 503,
      "title": "The store is unavailable",
      "type": "urn:semel:problem:store-unavailable"
    }
    "#);
    let claim = about("k", json!({ "fence": fence }));
    for path in ["renew", "release", "unknown"] {
        let path = format!("/api/v1/claims/{path}");
        let away = server.post(&path, claim.clone()).await;
        assert_eq!(away.problem(), "store-unavailable", "{path}");
    }
    for path in ["claims", "records/one"] {
        let away = server.get(&format!("/api/v1/{path}?{}", query("k"))).await;
        assert_eq!(
            (away.status, away.problem().as_str()),
            (503, "store-unavailable")
        );
    }
    assert_eq!(
        server.get("/api/v1/stats").await.problem(),
        "store-unavailable"
    );
    assert_eq!(
        server.get("/").await.status,
        200,
        "the page comes all the same"
    );
}

#[tokio::test]
async fn a_status_that_ends_no_exchange_is_no_outcome() {
    let server = Server::start().await;
    for status in [0, 100, 101, 102, 103, 199, 600, 999] {
        let body = format!(
            r#"{{"tenant":"t","scope":"s","key":"k","fence":1,"verdict":"succeeded","status":{status}}}"#
        );
        let said = refusal(&server, "/api/v1/claims/settle", &body).await;
        assert!(said.starts_with("400 invalid-input: status"), "{said}");
    }
}
