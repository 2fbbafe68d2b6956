//! Bodies of every size and shape on guarded routes.

use crate::support::gateway::post;
use crate::support::{OK, Upstream, guarding, reply, start};

#[tokio::test]
async fn a_request_body_at_the_limit_runs_and_one_byte_more_does_not() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |rules| {
        rules.request_bytes_max = 100
    }));
    let response = gateway.post("/pay", "a", &"x".repeat(100)).await;
    assert_eq!(response.status(), 200);
    let refused = gateway.post("/pay", "b", &"x".repeat(101)).await;
    assert_eq!(refused.problem(), (413, "body-too-large".to_owned()));
    // Without a stated length too.
    let chunked =
        "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: c\r\nTransfer-Encoding: chunked\r\n\r\n";
    let refused = gateway
        .call(format!("{chunked}65\r\n{}\r\n0\r\n\r\n", "x".repeat(101)))
        .await;
    assert_eq!(refused.problem(), (413, "body-too-large".to_owned()));
    assert_eq!(upstream.effects(), 1);
    // No claim was made: the key is free for a request that fits.
    assert_eq!(gateway.post("/pay", "b", "x").await.status(), 200);
}

#[tokio::test]
async fn a_response_of_exactly_the_cap_is_replayed_and_a_longer_one_is_not_run_again() {
    for (len, is_kept) in [
        (0, true),
        (99, true),
        (100, true),
        (101, false),
        (300_000, false),
    ] {
        let body = "x".repeat(len);
        let upstream = Upstream::answering(reply("201 Created", "X-Id: 7\r\n", &body)).await;
        let gateway = start(guarding(upstream.url(), |rules| {
            rules.response_bytes_max = 100
        }));
        let first = gateway.post("/pay", "k", "{}").await;
        assert_eq!((first.status(), first.text()), (201, body.clone()), "{len}");
        let second = gateway.post("/pay", "k", "{}").await;
        assert!(
            second.is_replay() && second.status() == 201,
            "{len} {second:?}"
        );
        assert_eq!(second.header("x-id"), Some("7"));
        match is_kept {
            true => assert_eq!(second.text(), body),
            false => assert_eq!(second.problem().1, "body-not-kept", "{len}"),
        }
        assert_eq!(upstream.effects(), 1, "{len}");
    }
}

#[tokio::test]
async fn cookies_are_replayed_only_where_the_route_says_so() {
    let cookies = "Set-Cookie: a=1\r\nX: 1\r\nSet-Cookie: b=2\r\n";
    for replay_cookies in [false, true] {
        let upstream = Upstream::answering(reply("200 OK", cookies, "ok")).await;
        let gateway = start(guarding(upstream.url(), |rules| {
            rules.replay_cookies = replay_cookies;
        }));
        let first = gateway.post("/pay", "k", "{}").await;
        assert_eq!(first.all("set-cookie"), ["a=1", "b=2"]);
        let second = gateway.post("/pay", "k", "{}").await;
        let expected: &[&str] = if replay_cookies { &["a=1", "b=2"] } else { &[] };
        assert_eq!(second.all("set-cookie"), expected);
    }
}

#[tokio::test]
async fn compressed_bytes_are_replayed_as_they_are() {
    let upstream = Upstream::answering(reply(
        "200 OK",
        "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n",
        "\u{1f}\u{0}\u{8}\u{7f}",
    ))
    .await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    for replayed in [false, true] {
        let response = gateway.post("/pay", "k", "{}").await;
        assert_eq!(response.is_replay(), replayed);
        assert_eq!(response.header("content-encoding"), Some("gzip"));
        assert_eq!(response.body, [0x1f, 0, 8, 0x7f]);
    }
}

#[tokio::test]
async fn chunks_and_trailers_are_part_of_the_exchange() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
                  1\r\na\r\n2\r\nbc\r\n0\r\nX-Sum: 7\r\n\r\n";
    let upstream = Upstream::answering(answer).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    let request = "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nTE: trailers\r\nTrailer: X-Up\r\n\
                   Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\nX-Up: 1\r\n\r\n";
    let first = gateway.call(request).await;
    assert_eq!(first.text(), "abc");
    assert_eq!(first.trailers, [("x-sum".to_owned(), "7".to_owned())]);
    let second = gateway.call(request).await;
    assert_eq!((second.text().as_str(), second.is_replay()), ("abc", true));
    assert_eq!(second.trailers, first.trailers);
    let seen = upstream.only();
    assert_eq!(seen.text(), "{}");
    assert_eq!(seen.trailers, [("x-up".to_owned(), "1".to_owned())]);
}

#[tokio::test]
async fn a_trailer_that_is_redacted_reaches_the_first_client_only() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum, X-Secret\r\n\r\n\
                  3\r\nabc\r\n0\r\nX-Sum: 7\r\nX-Secret: 4111\r\n\r\n";
    let upstream = Upstream::answering(answer).await;
    let gateway = start(guarding(upstream.url(), |rules| {
        rules.stored.without_headers = vec!["x-secret".parse().unwrap()];
    }));
    let request = "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nTE: trailers\r\nContent-Length: 2\r\n\r\n{}";
    let first = gateway.call(request).await;
    let sum = ("x-sum".to_owned(), "7".to_owned());
    let secret = ("x-secret".to_owned(), "4111".to_owned());
    assert_eq!(first.trailers, [sum.clone(), secret]);
    let second = gateway.call(request).await;
    assert_eq!((second.text().as_str(), second.is_replay()), ("abc", true));
    assert_eq!(second.trailers, [sum]);
    assert_eq!(second.header("semel-redacted"), Some("headers"));
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn how_a_body_is_cut_does_not_matter() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    gateway.post("/pay", "k", "{\"a\":1}").await;
    let chunked = "POST /pay HTTP/1.1\r\nHost: shop.example\r\nContent-Type: application/json\r\nIdempotency-Key: k\r\n\
                   Transfer-Encoding: chunked\r\n\r\n3\r\n{\"a\r\n4\r\n\":1}\r\n0\r\n\r\n";
    assert!(gateway.call(chunked).await.is_replay());
    assert_eq!(upstream.effects(), 1);
    assert_eq!(upstream.only().header("content-length"), Some("7"));
}

#[tokio::test]
async fn a_guarded_client_that_expects_100_gets_it() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    for replayed in [false, true] {
        let mut peer = gateway.connect().await;
        let request =
            post("/pay", "k", "{}").replace("\r\n\r\n", "\r\nExpect: 100-continue\r\n\r\n");
        let (head, body) = request.split_at(request.len() - 2);
        peer.send(head).await;
        assert_eq!(peer.head().await.unwrap().status(), 100);
        peer.send(body).await;
        assert_eq!(peer.response().await.unwrap().is_replay(), replayed);
    }
    assert_eq!(upstream.only().header("expect"), None);
}

#[tokio::test]
async fn a_refused_client_that_expects_100_need_not_send_its_body() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |rules| {
        rules.request_bytes_max = 10
    }));
    let mut peer = gateway.connect().await;
    peer.send(
        "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nExpect: 100-continue\r\nContent-Length: 11\r\n\r\n",
    )
    .await;
    assert_eq!(peer.head().await.unwrap().status(), 413);
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn head_can_be_guarded_too() {
    let upstream = Upstream::answering("HTTP/1.1 200 OK\r\nContent-Length: 1234\r\n\r\n").await;
    let mut config = guarding(upstream.url(), |_| {});
    config.routes[0].methods = vec![http::Method::HEAD];
    let gateway = start(config);
    let mut peer = gateway.connect().await;
    for _ in 0..2 {
        peer.send("HEAD /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n\r\n")
            .await;
        let response = peer.response_without_body().await.unwrap();
        assert_eq!(response.header("content-length"), Some("1234"));
    }
    assert_eq!(upstream.effects(), 1);
}
