//! Which operation a request is: who sends it, on which host and account, and what the service's answer means for it.

use http::HeaderName;
use semel_gateway::Host;
use semel_http::Profile;
use semel_http::key::Source;
use semel_http::rules::Missing;
use semel_http::tenant;

use crate::support::{OK, Upstream, guarding, reply, start};

/// A POST to `/pay` with a key; `headers` end with a line break each.
fn pay(key: &str, headers: &str, body: &str) -> String {
    let len = body.len();
    let host = if headers.contains("Host: ") {
        ""
    } else {
        "Host: shop.example\r\n"
    };
    format!(
        "POST /pay HTTP/1.1\r\n{host}Idempotency-Key: {key}\r\n{headers}Content-Length: {len}\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn a_retry_that_is_signed_anew_does_not_run_again() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    let signed = |id: &str, signature: &str| {
        format!(
            "Authorization: AWS4-HMAC-SHA256 Credential={id}/20261117/eu/pay/aws4_request, \
             SignedHeaders=host, Signature={signature}\r\n"
        )
    };
    let call = async |headers: String| gateway.call(pay("k", &headers, "")).await;
    assert!(!call(signed("AKIA1", "aa")).await.is_replay());
    assert!(call(signed("AKIA1", "bb")).await.is_replay());
    assert!(!call(signed("AKIA2", "aa")).await.is_replay());
    assert_eq!(upstream.effects(), 2);
    let refused = call("Authorization: Negotiate YIIJvwYG\r\n".to_owned()).await;
    assert_eq!(refused.problem(), (401, "tenant-missing".to_owned()));
    assert!(refused.text().contains("jwt_claim"), "{}", refused.text());
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test]
async fn another_host_or_account_never_gets_the_firsts_answer_whatever_the_service_sees() {
    for host in [Host::Preserve, Host::Upstream] {
        let upstream = Upstream::answering(OK).await;
        let mut config = guarding(upstream.url(), |rules| {
            *rules = Profile::Stripe.rules(rules.scope.clone());
            rules
                .fingerprint_head
                .headers
                .push(HeaderName::from_static("x-region"));
        });
        config.upstream.host = host;
        let gateway = start(config);
        let call = async |headers: &str| gateway.call(pay("k", headers, "")).await;
        let first = "Host: shop.example\r\nStripe-Account: acct_1\r\nX-Region: eu\r\n";
        assert!(!call(first).await.is_replay());
        let same = "Host: SHOP.example:80\r\nX-Region: eu\r\nStripe-Account: acct_1\r\n";
        assert!(call(same).await.is_replay());
        for other in [
            "Host: mall.example\r\nStripe-Account: acct_1\r\nX-Region: eu\r\n",
            "Host: shop.example\r\nStripe-Account: acct_2\r\nX-Region: eu\r\n",
            "Host: shop.example\r\nStripe-Account: acct_1\r\nX-Region: us\r\n",
            "Host: shop.example\r\nX-Region: eu\r\n",
        ] {
            let refused = call(other).await;
            assert_eq!(refused.problem(), (400, "key-reused".to_owned()), "{other}");
        }
        assert_eq!(upstream.effects(), 1);
    }
}

#[tokio::test]
async fn a_body_that_should_hold_the_key_and_cannot_be_read_never_reaches_the_service() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |rules| {
        rules.key = Source::Body("$.id".parse().unwrap()).into();
        rules.missing = Missing::Pass;
        rules.tenant = tenant::Source::Public;
    }));
    let call = async |headers: &str, body: &str| {
        let len = body.len();
        let head =
            format!("POST /pay HTTP/1.1\r\nHost: a\r\n{headers}Content-Length: {len}\r\n\r\n");
        gateway.call(head + body).await
    };
    let json = "Content-Type: application/json\r\n";
    for (headers, body) in [
        (json, r#"{"id":"k","a":"\ud83d"}"#),
        (json, r#"{"id":"k","a":1e999}"#),
        (json, r#"{"id":"k""#),
        (
            "Content-Type: application/json\r\nContent-Encoding: gzip\r\n",
            r#"{"id":"k"}"#,
        ),
        (
            "Content-Type: multipart/form-data; boundary=B\r\n",
            "--B\r\nid",
        ),
    ] {
        let refused = call(headers, body).await;
        assert_eq!(
            refused.problem(),
            (400, "key-invalid".to_owned()),
            "{headers}{body}"
        );
    }
    assert_eq!(upstream.effects(), 0);
    // What curl calls a form is the same operation, and a body without the field still passes.
    let form = "Content-Type: application/x-www-form-urlencoded\r\n";
    assert!(!call(form, r#"{"id":"k"}"#).await.is_replay());
    assert!(call(form, "\u{feff}{\"id\":\"k\"}").await.is_replay());
    assert_eq!(upstream.effects(), 1);
    assert_eq!(call(json, "{}").await.status(), 200);
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test]
async fn a_503_is_released_only_if_the_service_asks_for_a_retry() {
    for (headers, again) in [("Retry-After: 1\r\n", 503), ("", 409)] {
        let upstream = Upstream::answering(reply("503 Busy", headers, "busy")).await;
        let gateway = start(guarding(upstream.url(), |_| {}));
        assert_eq!(gateway.call(pay("k", "", "")).await.status(), 503);
        let second = gateway.call(pay("k", "", "")).await;
        assert_eq!(second.status(), again, "{headers}");
        assert_eq!(upstream.effects(), if again == 503 { 2 } else { 1 });
    }
}

#[tokio::test]
async fn a_header_above_the_records_limit_drops_only_itself() {
    let large = "y".repeat(65_600);
    let headers = format!("A-Large: {large}\r\nLocation: /pay/1\r\nX-Last: kept\r\n");
    let upstream = Upstream::answering(reply("201 Created", &headers, "done")).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    assert_eq!(gateway.call(pay("k", "", "")).await.status(), 201);
    let replay = gateway.call(pay("k", "", "")).await;
    assert!(replay.is_replay());
    assert_eq!(replay.header("a-large"), None);
    assert_eq!(replay.header("location"), Some("/pay/1"));
    assert_eq!(replay.header("x-last"), Some("kept"));
}
