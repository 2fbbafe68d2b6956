//! Keys that are missing, malformed or derived, and callers that cannot be told.

use http::HeaderName;
use semel_http::rules::{Missing, Rules};
use semel_http::tenant;

use crate::support::{OK, Upstream, config, guarding, start};

fn request(headers: &str) -> String {
    format!(
        "POST /pay HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\n{headers}Content-Length: 7\r\n\r\n{{\"a\":1}}"
    )
}

async fn with_missing(missing: Missing) -> (Upstream, crate::support::Running) {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |rules| rules.missing = missing));
    (upstream, gateway)
}

#[tokio::test]
async fn a_request_without_a_key_passes() {
    let (upstream, gateway) = with_missing(Missing::Pass).await;
    for _ in 0..2 {
        assert_eq!(gateway.call(request("")).await.text(), "ok");
    }
    assert_eq!(upstream.effects(), 2);
    assert_eq!(upstream.seen()[0].header("semel-fence"), None);
}

#[tokio::test]
async fn a_request_without_a_key_is_refused_where_one_is_required() {
    let (upstream, gateway) = with_missing(Missing::Require).await;
    let response = gateway.call(request("")).await;
    assert_eq!(response.problem(), (400, "key-missing".to_owned()));
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn a_request_without_a_key_is_its_own_key_where_one_is_derived() {
    let (upstream, gateway) = with_missing(Missing::Derive).await;
    let who = "Authorization: Bearer ada\r\n";
    let first = gateway.call(request(who)).await;
    let second = gateway.call(request(who)).await;
    assert_eq!((first.is_replay(), second.is_replay()), (false, true));
    assert_eq!(upstream.effects(), 1);
    // Equal requests of people who cannot be told apart must not become one operation.
    let nobody = gateway.call(request("")).await;
    assert_eq!(nobody.problem(), (401, "tenant-missing".to_owned()));
}

#[tokio::test]
async fn a_key_that_is_not_one_is_refused() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let key = |value: &str| format!("Idempotency-Key: {value}\r\n");
    let (longest, too_long) = ("k".repeat(255), "k".repeat(256));
    for headers in [
        key(""),
        key("\"\""),
        key("\"open"),
        key(&too_long),
        key("a") + &key("a"),
        key("a") + &key("b"),
    ] {
        let response = gateway.call(request(&headers)).await;
        assert_eq!(
            response.problem(),
            (400, "key-invalid".to_owned()),
            "{headers}"
        );
    }
    assert_eq!(upstream.effects(), 0);
    assert_eq!(gateway.call(request(&key(&longest))).await.status(), 200);
}

#[tokio::test]
async fn a_caller_that_cannot_be_told_is_refused() {
    let upstream = Upstream::answering(OK).await;
    let by_header = |rules: &mut Rules| {
        rules.tenant = tenant::Source::Header(HeaderName::from_static("x-tenant"));
    };
    let gateway = start(guarding(upstream.url(), by_header));
    let response = gateway.call(request("Idempotency-Key: k\r\n")).await;
    assert_eq!(response.problem(), (401, "tenant-missing".to_owned()));
    assert_eq!(
        response.header("www-authenticate"),
        Some("Semel-Tenant realm=\"semel\", header=\"x-tenant\"")
    );
    assert_eq!(upstream.effects(), 0);
    for (tenant, replayed) in [("a", false), ("b", false), ("a", true)] {
        let headers = format!("Idempotency-Key: k\r\nX-Tenant: {tenant}\r\n");
        assert_eq!(
            gateway.call(request(&headers)).await.is_replay(),
            replayed,
            "{tenant}"
        );
    }
}
