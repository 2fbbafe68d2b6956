//! Requests that two parties could read differently never reach the upstream.

use crate::support::{OK, Upstream, config, start};

const HOST: &str = "Host: shop.example\r\n";

/// What becomes of a raw request: the status, and how many requests the upstream saw.
async fn fate(raw: &str) -> (u16, usize) {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send(raw).await;
    let status = peer
        .response()
        .await
        .map_or(0, |response| response.status());
    if status >= 400 {
        assert!(peer.is_closed().await, "nothing more is read after {raw:?}");
    }
    (status, upstream.effects())
}

#[tokio::test]
async fn a_body_has_one_length() {
    let chunked = "Transfer-Encoding: chunked\r\n";
    let smuggled = "0\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n";
    for headers in [
        format!("Content-Length: 5\r\n{chunked}"),
        format!("{chunked}Content-Length: 5\r\n"),
        format!("{chunked}X: y\r\ncontent-LENGTH:5\r\n"),
        "Content-Length: 5\r\nContent-Length: 5\r\n".to_owned(),
        "Content-Length: 5\r\nContent-Length: 6\r\n".to_owned(),
        "Content-Length: 5, 5\r\n".to_owned(),
        "Content-Length: +5\r\n".to_owned(),
        "Content-Length: 0x5\r\n".to_owned(),
        "Content-Length: -5\r\n".to_owned(),
        format!("{chunked}{chunked}"),
        "Transfer-Encoding: gzip, chunked\r\n".to_owned(),
        "Transfer-Encoding: chunked, gzip\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n".to_owned(),
        "Transfer-Encoding: \x0bchunked\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "Transfer-Encoding: identity\r\nContent-Length: 5\r\n".to_owned(),
    ] {
        let raw = format!("POST / HTTP/1.1\r\n{HOST}{headers}\r\n{smuggled}");
        assert_eq!(fate(&raw).await, (400, 0), "{raw:?}");
    }
}

#[tokio::test]
async fn a_length_in_a_body_is_not_a_length() {
    let body = "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let raw = format!(
        "POST / HTTP/1.1\r\n{HOST}Content-Length: {}\r\n\r\n{body}",
        body.len()
    );
    assert_eq!(fate(&raw).await, (200, 1));
}

#[tokio::test]
async fn a_request_has_one_host_and_one_path() {
    for raw in [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a/../b\r\n\r\n",
        "GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET http://u:p@a/ HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a/%2e%2e/b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /./b HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET a HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /a\\b HTTP/1.1\r\nHost: a\r\n\r\n",
    ] {
        assert_eq!(fate(raw).await, (400, 0), "{raw:?}");
    }
    let absolute = "GET http://shop.example/x HTTP/1.1\r\nHost: shop.example\r\n\r\n";
    assert_eq!(fate(absolute).await, (200, 1));
}

#[tokio::test]
async fn what_is_not_http_is_not_forwarded() {
    for (raw, status) in [
        ("CONNECT a:443 HTTP/1.1\r\nHost: a:443\r\n\r\n", 501),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\r\n folded\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX y: 1\r\n\r\n", 400),
        ("GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400),
        ("GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        ("GET / HTTP/9.9\r\nHost: a\r\n\r\n", 400),
        (
            "POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
    ] {
        assert_eq!(fate(raw).await, (status, 0), "{raw:?}");
    }
}

#[tokio::test]
async fn a_refusal_says_what_is_wrong() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let response = gateway.call("GET /.. HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(response.problem(), (400, "bad-request".to_owned()));
    assert_eq!(response.header("connection"), Some("close"));
}

#[tokio::test]
async fn a_bad_chunk_breaks_the_request_off() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    for chunk in ["zz\r\n", "-1\r\n", "10000000000000000\r\n", "2\r\nabc\r\n"] {
        let mut peer = gateway.connect().await;
        let head = "PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
        peer.send(format!("{head}{chunk}")).await;
        let status = peer
            .response()
            .await
            .map_or(0, |response| response.status());
        assert!(matches!(status, 0 | 400 | 502), "{chunk:?} {status}");
        assert_eq!(upstream.effects(), 0, "{chunk:?}");
    }
}
