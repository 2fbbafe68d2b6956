//! Every phase ends, whatever the peers do.

use std::time::Duration;

use semel_gateway::{Config, Timeouts};
use tokio::net::TcpListener;
use tokio::sync::mpsc;

use crate::support::gateway::get;
use crate::support::http2::{Client, request};
use crate::support::{OK, Upstream, config, start};

const SHORT: Duration = Duration::from_millis(50);

fn timed(upstream: &Upstream, change: impl FnOnce(&mut Timeouts)) -> Config {
    let mut config = config(upstream.url());
    change(&mut config.timeouts);
    config
}

/// An upstream that reads requests and says nothing.
async fn silent() -> Upstream {
    Upstream::start(|_request, mut peer| async move {
        peer.rest().await;
        None
    })
    .await
}

#[tokio::test]
async fn a_head_that_does_not_end_is_cut_off() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(timed(&upstream, |timeouts| timeouts.header = SHORT));
    for begun in ["", "GET / HTTP/1.1\r\nHost: a\r\nX: ", "P"] {
        let mut peer = gateway.connect().await;
        peer.send(begun).await;
        assert!(peer.is_closed().await, "{begun:?}");
    }
    // On a connection that has been used before, too.
    let mut peer = gateway.connect().await;
    peer.send(get("/")).await;
    assert_eq!(peer.response().await.unwrap().status(), 200);
    peer.send("GET / HTTP/1.1\r\n").await;
    assert!(peer.is_closed().await);
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(timed(&upstream, |timeouts| timeouts.idle = SHORT));
    let mut peer = gateway.connect().await;
    peer.send(get("/")).await;
    assert_eq!(peer.response().await.unwrap().status(), 200);
    assert!(peer.is_closed().await);

    let client = Client::connect(gateway.addr).await;
    client.call(request("GET", "/", "")).await.unwrap();
    assert!(client.connection.await.unwrap(), "it is told, not cut off");
}

#[tokio::test]
async fn a_client_that_stops_sending_is_told() {
    let upstream = silent().await;
    let gateway = start(timed(&upstream, |timeouts| timeouts.body_idle = SHORT));
    let mut peer = gateway.connect().await;
    peer.send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 10\r\n\r\nhalf")
        .await;
    let response = peer.response().await.unwrap();
    assert_eq!(response.problem(), (408, "body-timeout".to_owned()));
}

#[tokio::test]
async fn an_upstream_that_stops_sending_is_cut_off() {
    let upstream = Upstream::start(|_request, mut peer| async move {
        peer.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
            .await;
        peer.rest().await;
        None
    })
    .await;
    let gateway = start(timed(&upstream, |timeouts| timeouts.body_idle = SHORT));
    let mut peer = gateway.connect().await;
    peer.send(get("/")).await;
    assert_eq!(peer.head().await.unwrap().status(), 200);
    assert_eq!(peer.rest().await, b"half");
}

#[tokio::test]
async fn a_client_that_stops_reading_is_cut_off() {
    let (ended, mut ends) = mpsc::unbounded_channel();
    let upstream = Upstream::start(move |_request, mut peer| {
        let ended = ended.clone();
        async move {
            peer.send("HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
                .await;
            // Far more than any buffer on the way holds.
            for _ in 0..1_000 {
                peer.send(vec![b'x'; 1_000_000]).await;
            }
            ended.send(()).unwrap();
            None
        }
    })
    .await;
    let gateway = start(timed(&upstream, |timeouts| timeouts.body_idle = SHORT));
    let mut peer = gateway.connect().await;
    peer.send(get("/")).await;
    ends.recv().await.unwrap();
    let received = peer.rest().await.len();
    assert!(received < 1_000_000_000, "{received}");
}

#[tokio::test]
async fn an_upstream_that_does_not_shake_hands_is_not_reached() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut config = config(format!("https://{}", listener.local_addr().unwrap()));
    config.timeouts.connect = SHORT;
    config.upstream.ca = Some(crate::support::tls::Certificate::new().keep());
    let gateway = start(config);
    let expected = (502, "upstream-unreachable".to_owned());
    assert_eq!(gateway.call(get("/")).await.problem(), expected);
    for _ in 0..2 {
        assert_eq!(gateway.post("/pay", "k", "{}").await.problem(), expected);
    }
}

#[tokio::test]
async fn an_upstream_that_does_not_answer_is_given_up() {
    let upstream = silent().await;
    let gateway = start(timed(&upstream, |timeouts| timeouts.response_head = SHORT));
    let expected = (504, "upstream-timeout".to_owned());
    assert_eq!(gateway.call(get("/")).await.problem(), expected);
}

#[tokio::test]
async fn a_long_upload_is_not_a_slow_answer() {
    let upstream = Upstream::start(|request, mut peer| async move {
        match request.target() {
            "GET /slow" => drop(peer.rest().await),
            _ => peer.send(OK).await,
        }
        Some(peer)
    })
    .await;
    let gateway = start(timed(&upstream, |timeouts| timeouts.response_head = SHORT));
    let mut uploading = gateway.connect().await;
    uploading
        .send("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nab")
        .await;
    upstream.connected(1).await;
    // When this one is given up, the other has taken longer than an answer may.
    assert_eq!(gateway.call(get("/slow")).await.status(), 504);
    uploading.send("cd").await;
    assert_eq!(uploading.response().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_tunnel_that_stands_still_is_closed() {
    let upstream = Upstream::start(|_request, mut peer| async move {
        let switched =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
        peer.send(switched).await;
        peer.rest().await;
        None
    })
    .await;
    let gateway = start(timed(&upstream, |timeouts| timeouts.tunnel_idle = SHORT));
    let mut peer = gateway.connect().await;
    peer.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
        .await;
    assert_eq!(peer.head().await.unwrap().status(), 101);
    assert!(peer.is_closed().await);
}

#[tokio::test]
async fn a_connection_to_the_upstream_is_not_kept_for_long() {
    let (ended, mut ends) = mpsc::unbounded_channel();
    let upstream = Upstream::start(move |_request, mut peer| {
        let ended = ended.clone();
        async move {
            peer.send(OK).await;
            ended.send(peer.is_closed().await).unwrap();
            None
        }
    })
    .await;
    let gateway = start(timed(&upstream, |timeouts| timeouts.upstream_idle = SHORT));
    assert_eq!(gateway.call(get("/")).await.status(), 200);
    assert!(ends.recv().await.unwrap());
}
