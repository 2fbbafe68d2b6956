//! What crosses the gateway when no route guards it.

use crate::support::gateway::get;
use crate::support::upstream::Nowhere;
use crate::support::{OK, Upstream, config, reply, start};
use semel_gateway::Host;

#[tokio::test]
async fn requests_and_responses_cross_as_they_are() {
    let answer = "HTTP/1.1 203 Odd\r\nX-B: 2\r\nSet-Cookie: a=1\r\nX-A: 1\r\nSet-Cookie: b=2\r\n\
                  Content-Encoding: gzip\r\nContent-Length: 4\r\n\r\n\u{1}\u{2}\u{3}\u{4}";
    let upstream = Upstream::answering(answer).await;
    let gateway = start(config(upstream.url()));
    let response = gateway
        .call("PUT /a/b%20c?x=1&y=%2F HTTP/1.1\r\nHost: shop.example\r\nX-One: 1\r\nX-One: 2\r\nContent-Length: 3\r\n\r\nabc")
        .await;
    let request = upstream.only();
    assert_eq!(request.target(), "PUT /a/b%20c?x=1&y=%2F");
    assert_eq!(request.all("x-one"), ["1", "2"]);
    assert_eq!(request.text(), "abc");
    assert_eq!(response.status(), 203);
    assert_eq!(response.all("set-cookie"), ["a=1", "b=2"]);
    assert_eq!(response.header("content-encoding"), Some("gzip"));
    assert_eq!(response.body, [1, 2, 3, 4]);
}

#[tokio::test]
async fn a_base_path_is_put_in_front() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(format!("{}/api/v1/", upstream.url())));
    gateway.call(get("/x?y=1")).await;
    assert_eq!(upstream.only().target(), "GET /api/v1/x?y=1");
}

#[tokio::test]
async fn headers_of_one_connection_stay_on_it() {
    let answer = "HTTP/1.1 200 OK\r\nConnection: close, X-Private\r\nX-Private: 1\r\nKeep-Alive: timeout=9\r\n\
                  Semel-Outcome: final\r\nX-Mine: 1\r\nContent-Length: 2\r\n\r\nok";
    let upstream = Upstream::answering(answer).await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    for _ in 0..2 {
        peer.send(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: keep-alive, X-Absent\r\n\
             Keep-Alive: 5\r\nTE: trailers\r\nProxy-Authorization: x\r\nSemel-Fence: 9\r\n\
             Semel-Attempt: 9\r\nSemel-Replay: 1\r\nSemel-Consumer: c\r\nIdempotent-Replayed: true\r\n\r\n",
        )
        .await;
        let response = peer.response().await.unwrap();
        for name in ["x-private", "keep-alive", "connection", "semel-outcome"] {
            assert_eq!(response.header(name), None, "{name}");
        }
        assert_eq!(response.header("x-mine"), Some("1"));
    }
    for request in upstream.seen() {
        for name in [
            "keep-alive",
            "proxy-authorization",
            "semel-fence",
            "semel-attempt",
            "semel-replay",
            "semel-consumer",
            "idempotent-replayed",
        ] {
            assert_eq!(request.header(name), None, "{name}");
        }
        assert_eq!(request.header("te"), Some("trailers"));
        assert_eq!(request.header("connection"), Some("te"));
    }
}

#[tokio::test]
async fn the_upstream_is_told_who_asked() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let lies = "X-Forwarded-For: 6.6.6.6\r\nX-Forwarded-Proto: https\r\nForwarded: for=6.6.6.6\r\n";
    gateway
        .call(format!(
            "GET / HTTP/1.1\r\nHost: shop.example\r\n{lies}\r\n"
        ))
        .await;
    let request = upstream.only();
    assert_eq!(request.header("host"), Some("shop.example"));
    assert_eq!(request.header("x-forwarded-host"), Some("shop.example"));
    assert_eq!(request.header("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(request.header("x-forwarded-proto"), Some("http"));
    let forwarded = "for=127.0.0.1;proto=http;host=\"shop.example\"";
    assert_eq!(request.header("forwarded"), Some(forwarded));
}

#[tokio::test]
async fn the_upstream_may_ask_for_its_own_name() {
    let upstream = Upstream::answering(OK).await;
    let mut config = config(upstream.url());
    config.upstream.host = Host::Upstream;
    config.trust_forwarded = true;
    let gateway = start(config);
    gateway
        .call(
            "GET / HTTP/1.1\r\nHost: a\r\nX-Forwarded-For: 1.1.1.1\r\nX-Forwarded-Host: b\r\n\r\n",
        )
        .await;
    let request = upstream.only();
    assert_eq!(
        request.header("host"),
        Some(upstream.addr.to_string().as_str())
    );
    assert_eq!(
        request.header("x-forwarded-for"),
        Some("1.1.1.1, 127.0.0.1")
    );
    assert_eq!(request.header("x-forwarded-host"), Some("b"));
}

#[tokio::test]
async fn head_has_a_length_and_no_body() {
    let upstream = Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n").await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    for _ in 0..2 {
        peer.send("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let response = peer.response_without_body().await.unwrap();
        assert_eq!(response.header("content-length"), Some("1234"));
    }
}

#[tokio::test]
async fn a_client_that_expects_100_gets_it_from_the_gateway() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send("PUT / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\n")
        .await;
    assert_eq!(peer.head().await.unwrap().status(), 100);
    peer.send("abc").await;
    assert_eq!(peer.response().await.unwrap().status(), 200);
    let request = upstream.only();
    assert_eq!(
        (request.header("expect"), request.text().as_str()),
        (None, "abc")
    );
}

#[tokio::test]
async fn chunks_and_trailers_cross_in_both_directions() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
                  3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n";
    let upstream = Upstream::answering(answer).await;
    let gateway = start(config(upstream.url()));
    let response = gateway
        .call(
            "PUT / HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nTrailer: X-Up\r\nTransfer-Encoding: chunked\r\n\r\n\
             2\r\nhi\r\n0\r\nX-Up: 1\r\n\r\n",
        )
        .await;
    let request = upstream.only();
    assert_eq!(request.header("transfer-encoding"), Some("chunked"));
    assert_eq!(request.text(), "hi");
    assert_eq!(request.trailers, [("x-up".to_owned(), "1".to_owned())]);
    assert_eq!(response.text(), "abc");
    assert_eq!(response.trailers, [("x-sum".to_owned(), "7".to_owned())]);
}

#[tokio::test]
async fn connections_are_used_again_on_both_sides() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    for _ in 0..10 {
        peer.send(get("/")).await;
        assert_eq!(peer.response().await.unwrap().text(), "ok");
    }
    assert_eq!((upstream.effects(), upstream.connections()), (10, 1));
}

#[tokio::test]
async fn an_old_client_is_answered_and_let_go() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send("GET / HTTP/1.0\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().text(), "ok");
    assert!(peer.is_closed().await);
    // Without a host of its own the client means the upstream's.
    assert_eq!(
        upstream.only().header("host"),
        Some(upstream.addr.to_string().as_str())
    );
}

#[tokio::test]
async fn options_about_the_whole_server_pass() {
    let upstream = Upstream::answering(reply("204 No Content", "Allow: GET\r\n", "")).await;
    let gateway = start(config(upstream.url()));
    let response = gateway.call("OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(response.status(), 204);
    assert_eq!(upstream.only().target(), "OPTIONS *");
}

#[tokio::test]
async fn an_unguarded_request_hears_why_it_failed() {
    let nowhere = Nowhere::new();
    let gateway = start(config(&nowhere.url));
    let expected = (502, "upstream-unreachable".to_owned());
    assert_eq!(gateway.call(get("/")).await.problem(), expected);

    let dies = Upstream::start(|_request, _peer| async { None }).await;
    let gateway = start(config(dies.url()));
    let expected = (502, "upstream-failed".to_owned());
    assert_eq!(gateway.call(get("/")).await.problem(), expected);
}

#[tokio::test]
async fn a_kept_connection_that_the_upstream_closed_is_not_used() {
    // Answers once per connection and closes, without saying so before.
    let upstream = Upstream::start(|_request, mut peer| async move {
        peer.send(OK).await;
        None
    })
    .await;
    let gateway = start(config(upstream.url()));
    for n in 1..=20 {
        let response = gateway.call(get("/")).await;
        // It may be closed while the request is on its way; then the truth is that nobody knows.
        assert!(matches!(response.status(), 200 | 502), "{response:?}");
        assert!(upstream.effects() <= n);
    }
}
