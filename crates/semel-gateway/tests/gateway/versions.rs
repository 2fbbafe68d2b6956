//! HTTP/2 on either side.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::HeaderMap;
use semel_http::Body;

use crate::support::gateway::get;
use crate::support::http2::{self, Client, request};
use crate::support::{OK, Upstream, config, reply, start};

#[tokio::test]
async fn an_http2_client_reaches_an_http1_upstream() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n\
                  3\r\nabc\r\n0\r\nX-Sum: 7\r\n\r\n";
    let upstream = Upstream::answering(answer).await;
    let gateway = start(config(upstream.url()));
    let client = Client::connect(gateway.addr).await;
    let mut trailers = HeaderMap::new();
    trailers.insert("x-up", 1.into());
    let mut asked = request("PUT", "/a?b=1", "");
    asked
        .headers_mut()
        .insert("trailer", "x-up".parse().unwrap());
    asked
        .headers_mut()
        .insert("te", "trailers".parse().unwrap());
    *asked.body_mut() = Body::whole(Bytes::from_static(b"hi"), Some(trailers));
    let answer = client.call(asked).await.unwrap();
    assert_eq!(&answer.body[..], b"abc");
    assert_eq!(answer.trailers.unwrap()["x-sum"], "7");
    assert!(!answer.head.headers.contains_key("transfer-encoding"));
    let seen = upstream.only();
    assert_eq!(seen.target(), "PUT /a?b=1");
    assert_eq!(seen.header("host"), Some("shop.example"));
    assert_eq!(seen.text(), "hi");
    assert_eq!(seen.trailers, [("x-up".to_owned(), "1".to_owned())]);
}

#[tokio::test]
async fn an_http1_client_reaches_an_http2_upstream() {
    let upstream = http2::Upstream::start(None).await;
    let mut config = config(format!("http://{}/base", upstream.addr));
    config.upstream.h2c = true;
    let gateway = start(config);
    let response = gateway
        .call("PUT /x HTTP/1.1\r\nHost: shop.example\r\nTE: trailers\r\nContent-Length: 4\r\n\r\nabcd")
        .await;
    assert_eq!(response.header("x-version"), Some("HTTP/2.0"));
    assert_eq!(response.header("x-authority"), Some("shop.example"));
    assert_eq!(response.header("x-path"), Some("/base/x"));
    assert_eq!(response.text(), "abcd");
    assert_eq!(response.trailers, [("x-sum".to_owned(), "4".to_owned())]);
}

#[tokio::test]
async fn many_requests_share_one_connection_to_an_http2_upstream() {
    let upstream = http2::Upstream::start(None).await;
    let mut config = config(format!("http://{}", upstream.addr));
    config.upstream.h2c = true;
    let gateway = Arc::new(start(config));
    let call = |_| {
        let gateway = gateway.clone();
        tokio::spawn(async move { gateway.call(get("/")).await.status() })
    };
    for call in (0..64).map(call).collect::<Vec<_>>() {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert_eq!(upstream.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_guarded_request_takes_effect_once_over_http2_on_both_sides() {
    let upstream = http2::Upstream::start(None).await;
    let mut config = config(format!("http://{}", upstream.addr));
    config.upstream.h2c = true;
    let gateway = start(config);
    let client = Client::connect(gateway.addr).await;
    for replayed in [false, true] {
        let mut asked = request("POST", "/pay", "{}");
        asked
            .headers_mut()
            .insert("idempotency-key", "k".parse().unwrap());
        let answer = client.call(asked).await.unwrap();
        assert_eq!(answer.head.status, 200);
        assert_eq!(answer.head.headers["x-fence"], "true");
        assert_eq!(
            answer.head.headers.contains_key("idempotent-replayed"),
            replayed
        );
        assert_eq!(&answer.body[..], b"{}");
        assert_eq!(answer.trailers.unwrap()["x-sum"], "2");
    }
    assert_eq!(upstream.requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn concurrent_streams_of_one_client_are_all_answered() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let client = Arc::new(Client::connect(gateway.addr).await);
    let call = |_| {
        let client = client.clone();
        tokio::spawn(async move { client.call(request("GET", "/", "")).await.unwrap().body })
    };
    for call in (0..100).map(call).collect::<Vec<_>>() {
        assert_eq!(&call.await.unwrap()[..], b"ok");
    }
}

#[tokio::test]
async fn connection_headers_do_not_cross_into_http2() {
    let answer = reply(
        "200 OK",
        "Connection: X-Private\r\nX-Private: 1\r\nKeep-Alive: 5\r\n",
        "ok",
    );
    let upstream = Upstream::answering(answer).await;
    let gateway = start(config(upstream.url()));
    let client = Client::connect(gateway.addr).await;
    let answer = client.call(request("GET", "/", "")).await.unwrap();
    for name in ["connection", "x-private", "keep-alive"] {
        assert!(!answer.head.headers.contains_key(name), "{name}");
    }
}
