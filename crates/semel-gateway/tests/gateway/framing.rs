//! Requests that two parties could read differently never reach the upstream.

use crate::support::{Gate, OK, Running, Upstream, config, start};

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

const CHUNKED: &str = "Transfer-Encoding: chunked\r\n";
const SMUGGLED: &str = "0\r\n\r\nGET /admin HTTP/1.1\r\nHost: a\r\n\r\n";

/// Headers that say how long a body is in a way that is refused.
fn refused() -> Vec<String> {
    vec![
        "Content-Length: 5\r\nContent-Length: 6\r\n".to_owned(),
        "Content-Length: 5, 5\r\n".to_owned(),
        "Content-Length: +5\r\n".to_owned(),
        "Content-Length: 0x5\r\n".to_owned(),
        "Content-Length: -5\r\n".to_owned(),
        "Content-Length: 5 5\r\n".to_owned(),
        "Content-Length:\r\n".to_owned(),
        "Content-Length: 5\r\n 6\r\n".to_owned(),
        format!("{CHUNKED}{CHUNKED}"),
        format!("{CHUNKED}Transfer-Encoding: identity\r\n"),
        "Transfer-Encoding: gzip, chunked\r\n".to_owned(),
        "Transfer-Encoding: chunked, gzip\r\n".to_owned(),
        "Transfer-Encoding: chunked, chunked\r\n".to_owned(),
        "Transfer-Encoding: xchunked\r\n".to_owned(),
        "Transfer-Encoding: \x0bchunked\r\n".to_owned(),
        "Transfer-Encoding : chunked\r\n".to_owned(),
        "Transfer-Encoding:\r\n chunked\r\n".to_owned(),
        "Transfer-Encoding: identity\r\nContent-Length: 5\r\n".to_owned(),
        "Content-Length: 5\r\nTransfer-Encoding: identity\r\n".to_owned(),
    ]
}

/// Headers that say it twice, of which the standard says which one counts: the transfer encoding, and nothing is read after it.
fn resolved() -> Vec<String> {
    vec![
        format!("Content-Length: 5\r\n{CHUNKED}"),
        format!("{CHUNKED}Content-Length: 5\r\n"),
        format!("{CHUNKED}X: y\r\ncontent-LENGTH:5\r\n"),
        format!("Content-Length: 5\r\nContent-Length: 5\r\n{CHUNKED}"),
        format!("{CHUNKED}Content-Length: 5\r\nContent-Length: 6\r\nConnection: keep-alive\r\n"),
    ]
}

fn smuggling(headers: &str) -> String {
    format!("POST /form HTTP/1.1\r\n{HOST}{headers}\r\n{SMUGGLED}")
}

#[tokio::test]
async fn a_body_has_one_length() {
    for headers in refused() {
        let raw = smuggling(&headers);
        assert_eq!(fate(&raw).await, (400, 0), "{raw:?}");
    }
}

/// What the upstream has seen of a raw message, and the statuses of the answers up to the end of the connection.
async fn exchange(
    gateway: &Running,
    upstream: &Upstream,
    pieces: &[&str],
) -> (Vec<String>, Vec<u16>) {
    let before = upstream.seen().len();
    let mut peer = gateway.connect().await;
    for piece in pieces {
        peer.send(piece).await;
        // The scheduler looks at the sockets before it goes on here, so each piece is read by itself.
        for _ in 0..3 {
            tokio::task::yield_now().await;
        }
    }
    let mut statuses = Vec::new();
    while let Some(response) = peer.response().await {
        statuses.push(response.status());
    }
    let seen = upstream.seen();
    let targets = seen[before..].iter().map(|seen| seen.target().to_owned());
    (targets.collect(), statuses)
}

#[tokio::test]
async fn a_length_beside_a_transfer_encoding_is_ignored_and_ends_the_connection() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    for headers in resolved() {
        let (seen, statuses) = exchange(&gateway, &upstream, &[&smuggling(&headers)]).await;
        assert_eq!(seen, ["POST /form"], "{headers:?}");
        assert_eq!(statuses, [200], "{headers:?}");
        let forwarded = upstream.seen().pop().unwrap();
        assert!(forwarded.body.is_empty());
        let lengths = ["content-length", "transfer-encoding"].map(|name| forwarded.header(name));
        assert_eq!(lengths.iter().flatten().count(), 1, "{lengths:?}");
    }
}

#[tokio::test]
async fn equal_lengths_are_one_length() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let raw = format!(
        "POST /form HTTP/1.1\r\n{HOST}Content-Length: 5\r\ncontent-length:  5\r\n\r\nhello\
         GET /next HTTP/1.1\r\n{HOST}Connection: close\r\n\r\n"
    );
    let (seen, statuses) = exchange(&gateway, &upstream, &[&raw]).await;
    assert_eq!(
        (seen, statuses),
        (
            vec!["POST /form".to_owned(), "GET /next".to_owned()],
            vec![200, 200]
        )
    );
    assert_eq!(upstream.seen()[0].body, b"hello");
    assert_eq!(upstream.seen()[0].header("content-length"), Some("5"));
}

#[tokio::test]
async fn what_is_pipelined_is_judged_like_what_comes_alone() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let first = format!("GET /first HTTP/1.1\r\n{HOST}\r\n");
    let upload = format!("PUT /first HTTP/1.1\r\n{HOST}Content-Length: 3\r\n\r\nabc");
    for first in [&first, &upload] {
        let target = first.split(" HTTP").next().unwrap();
        for headers in refused() {
            let raw = format!("{first}{}", smuggling(&headers));
            let (seen, statuses) = exchange(&gateway, &upstream, &[&raw]).await;
            assert_eq!(
                (seen, statuses),
                (vec![target.to_owned()], vec![200, 400]),
                "{raw:?}"
            );
        }
        for headers in resolved() {
            let raw = format!("{first}{}", smuggling(&headers));
            let (seen, statuses) = exchange(&gateway, &upstream, &[&raw]).await;
            assert_eq!(
                (seen, statuses),
                (
                    vec![target.to_owned(), "POST /form".to_owned()],
                    vec![200, 200]
                ),
                "{raw:?}"
            );
        }
    }
}

#[tokio::test]
async fn bytes_that_arrive_while_a_request_is_in_flight_are_judged_too() {
    for (headers, reached) in [(refused(), 1), (resolved(), 2)] {
        for headers in headers {
            let gate = Gate::closed();
            let upstream = gated(&gate).await;
            let gateway = start(config(upstream.url()));
            let mut peer = gateway.connect().await;
            peer.send(format!("GET /first HTTP/1.1\r\n{HOST}\r\n"))
                .await;
            upstream.arrived(1).await;
            peer.send(smuggling(&headers)).await;
            gate.open();
            while peer.response().await.is_some() {}
            let seen = upstream.seen();
            assert_eq!(seen.len(), reached, "{headers:?}");
            assert!(
                !seen.iter().any(|seen| seen.target().contains("/admin")),
                "{headers:?}"
            );
        }
    }
}

#[tokio::test]
async fn no_boundary_between_reads_lets_a_request_slip_through() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let first = format!("GET /first HTTP/1.1\r\n{HOST}\r\n");
    for (all, reached) in [(refused(), 1), (resolved(), 2)] {
        for headers in all {
            let raw = format!("{first}{}", smuggling(&headers));
            for at in 1..raw.len() {
                let (head, rest) = raw.split_at(at);
                let (seen, _) = exchange(&gateway, &upstream, &[head, rest]).await;
                assert_eq!(seen.len(), reached, "{headers:?} at {at}: {seen:?}");
                assert!(
                    !seen.iter().any(|target| target.contains("/admin")),
                    "{seen:?}"
                );
            }
        }
    }
}

async fn gated(gate: &Gate) -> Upstream {
    let gate = gate.clone();
    Upstream::start(move |_request, mut peer| {
        let gate = gate.clone();
        async move {
            gate.pass().await;
            peer.send(OK).await;
            Some(peer)
        }
    })
    .await
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
