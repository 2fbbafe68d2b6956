//! The key: made once, sent the same on every try, in the header that the server reads.

use std::collections::BTreeSet;

use semel_client::{Key, Kind, TRIES_MAX};

use crate::support::{Server, Step, client, client_with, hurried, reply};

#[tokio::test]
async fn the_same_key_is_sent_on_every_try() {
    let script = [
        Step::ReadAndHangUp,
        reply(503).into(),
        Step::ReadAndHangUp,
        reply(201).into(),
    ];
    let server = Server::start(script).await;
    let response = client().post(server.url()).body("1").send().await.unwrap();

    let seen = server.seen();
    assert_eq!(seen.len(), 4);
    assert!(
        seen.iter()
            .all(|seen| seen.key() == response.key().as_str())
    );
    assert_eq!(response.tries(), 4);
}

#[tokio::test]
async fn the_whole_request_is_the_same_on_every_try() {
    let server = Server::start([reply(502), reply(504), reply(200)]).await;
    let request = client().post(server.url()).header("X-Tenant", "acme");
    request
        .json_bytes(r#"{"amount":100}"#)
        .send()
        .await
        .unwrap();

    let seen = server.seen();
    assert_eq!(seen.len(), 3);
    assert_eq!(seen[0].line, "POST /payments?a=1 HTTP/1.1");
    assert_eq!(seen[0].header("x-tenant"), ["acme"]);
    assert_eq!(seen[0].header("content-type"), ["application/json"]);
    assert_eq!(seen[0].body, br#"{"amount":100}"#);
    assert!(seen.iter().all(|seen| *seen == server.seen()[0]));
}

#[tokio::test]
async fn every_operation_has_its_own_key_of_version_7() {
    let server = Server::start([reply(200)]).await;
    let client = client();
    for _ in 0..3 {
        client.post(server.url()).send().await.unwrap();
    }
    let seen = server.seen();
    let keys: BTreeSet<_> = seen.iter().map(|seen| seen.key()).collect();
    for key in &keys {
        assert_eq!(uuid::Uuid::parse_str(key).unwrap().get_version_num(), 7);
    }
    assert_eq!(keys.len(), 3);
}

#[tokio::test]
async fn a_request_sent_again_is_the_same_operation() {
    let server = Server::start([reply(200)]).await;
    let client = client();
    let request = client.patch(server.url()).body("1");
    request.send().await.unwrap();
    request.send().await.unwrap();
    assert_eq!(server.seen()[0], server.seen()[1]);
}

#[tokio::test]
async fn the_callers_key_is_sent_bare_by_default() {
    let server = Server::start([reply(200)]).await;
    let key = Key::new("order-17").unwrap();
    let response = client().post(server.url()).key(key.clone()).send().await;
    assert_eq!(response.unwrap().key(), &key);
    assert_eq!(server.seen()[0].key(), "order-17");
}

#[tokio::test]
async fn a_key_is_quoted_on_request() {
    let server = Server::start([reply(200)]).await;
    let key = Key::new(r#"a"b\c"#).unwrap();
    let request = client().quote_keys().post(server.url()).key(key.clone());
    let response = request.send().await.unwrap();
    assert_eq!(server.seen()[0].key(), r#""a\"b\\c""#);
    assert_eq!(response.key(), &key);
}

#[tokio::test]
async fn the_header_of_the_key_can_be_named() {
    let server = Server::start([reply(200)]).await;
    let client = client().key_header("PayPal-Request-Id".parse().unwrap());
    let response = client.post(server.url()).send().await.unwrap();

    let seen = &server.seen()[0];
    assert_eq!(seen.header("paypal-request-id"), [response.key().as_str()]);
    assert!(seen.header("idempotency-key").is_empty());
}

#[tokio::test]
async fn a_redirect_carries_the_key_and_the_body_along() {
    for status in [307, 308] {
        let moved = reply(status).header("Location", "/payments/v2");
        let server = Server::start([moved, reply(201)]).await;
        let response = client().post(server.url()).body("1").send().await.unwrap();

        let seen = server.seen();
        assert_eq!((response.tries(), seen.len()), (1, 2), "{status}");
        assert_eq!(seen[1].line, "POST /payments/v2 HTTP/1.1");
        assert_eq!(
            (seen[1].key(), &seen[1].body),
            (seen[0].key(), &seen[0].body)
        );
    }
}

#[tokio::test]
async fn invalid_input_sends_nothing() {
    let server = Server::start([reply(200)]).await;
    let url = server.url();
    let client = client();
    let other_header = client.clone().key_header("x-key".parse().unwrap());
    let requests = [
        client.post("not a url"),
        client.post("ftp://localhost/"),
        client.post(url.as_str()).header("bad name", "v"),
        client.post(url.as_str()).header("name", "bad\nvalue"),
        client.post(url.as_str()).header("Idempotency-Key", "k"),
        client
            .post(url.as_str())
            .header("a", "\0")
            .header("b", "ok")
            .body("1"),
        other_header.post(url.as_str()).header("X-Key", "k"),
        client_with(hurried().tries_max(0)).post(url.as_str()),
        client_with(hurried().tries_max(TRIES_MAX + 1)).post(url.as_str()),
    ];
    for request in requests {
        let error = request.send().await.unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid, "{error}");
        assert_eq!((error.tries(), error.key()), (0, None));
        assert!(!error.is_retryable());
    }
    assert!(server.seen().is_empty());
}

#[tokio::test]
async fn neither_headers_nor_bodies_nor_queries_are_shown() {
    let server = Server::start([reply(200).header("X-A", "secret").body("secret")]).await;
    let url = format!("{}&token=secret", server.url());
    let client = client();
    let request = client.post(url).header("x-b", "secret").body("secret");
    let response = request.send().await.unwrap();
    for shown in [
        format!("{client:?}"),
        format!("{request:?}"),
        format!("{response:?}"),
    ] {
        assert!(!shown.contains("secret"), "{shown}");
    }
}
