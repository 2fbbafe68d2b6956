//! Connections that change their protocol.

use crate::support::gateway::get;
use crate::support::tls::Certificate;
use crate::support::{OK, Peer, Upstream, config, start, until};
use tokio::net::TcpListener;

const UPGRADE: &str = "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                       Sec-WebSocket-Key: abc\r\n\r\n";
const SWITCHED: &str = "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                        Sec-WebSocket-Accept: def\r\n\r\n";

/// Switches, says hello, and echoes lines in capitals.
async fn chat(mut peer: Peer) {
    peer.send(SWITCHED).await;
    peer.send("hello\n").await;
    while let Some(line) = peer.until("\n").await {
        peer.send(format!("{}\n", line.to_uppercase())).await;
    }
}

#[tokio::test]
async fn a_websocket_is_a_tunnel_in_both_directions() {
    let upstream = Upstream::start(|_request, peer| async {
        chat(peer).await;
        None
    })
    .await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    // Bytes right behind the request belong to the tunnel.
    peer.send(format!("{UPGRADE}early\n")).await;
    let response = peer.head().await.unwrap();
    assert_eq!(response.status(), 101);
    assert_eq!(response.header("upgrade"), Some("websocket"));
    assert_eq!(response.header("connection"), Some("upgrade"));
    assert_eq!(response.header("sec-websocket-accept"), Some("def"));
    assert_eq!(peer.until("\n").await.unwrap(), "hello");
    assert_eq!(peer.until("\n").await.unwrap(), "EARLY");
    for word in ["one", "two"] {
        peer.send(format!("{word}\n")).await;
        assert_eq!(peer.until("\n").await.unwrap(), word.to_uppercase());
    }
    assert_eq!(gateway.handle.load().in_flight, 1);
    let request = upstream.only();
    assert_eq!(request.header("upgrade"), Some("websocket"));
    assert_eq!(request.header("sec-websocket-key"), Some("abc"));
}

#[tokio::test]
async fn the_end_of_one_side_is_the_end_of_the_other() {
    let upstream = Upstream::start(|_request, mut peer| async move {
        peer.send(SWITCHED).await;
        peer.until("\n").await;
        None
    })
    .await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send(UPGRADE).await;
    peer.head().await.unwrap();
    peer.send("bye\n").await;
    assert!(peer.is_closed().await);
}

#[tokio::test]
async fn an_upstream_may_decline() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send(UPGRADE).await;
    assert_eq!(peer.response().await.unwrap().text(), "ok");
    peer.send(get("/")).await;
    assert_eq!(peer.response().await.unwrap().text(), "ok");
}

#[tokio::test]
async fn http_itself_is_never_tunnelled() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    for protocol in ["h2c", "HTTP/2.0", "websocket, h2c"] {
        let request = format!(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\n\
             Upgrade: {protocol}\r\nHTTP2-Settings: AAMAAABk\r\n\r\n"
        );
        assert_eq!(gateway.call(request).await.status(), 200);
    }
    for request in upstream.seen() {
        assert_eq!(
            (request.header("upgrade"), request.header("http2-settings")),
            (None, None)
        );
    }
}

#[tokio::test]
async fn a_switch_that_nobody_asked_for_is_a_failure() {
    let upstream = Upstream::answering(SWITCHED).await;
    let gateway = start(config(upstream.url()));
    let response = gateway.call(get("/")).await;
    assert_eq!(response.status(), 502, "{response:?}");
}

#[tokio::test]
async fn a_tunnel_to_an_upstream_that_prefers_http2_speaks_http1() {
    let certificate = Certificate::new();
    let acceptor = certificate.acceptor(&["h2", "http/1.1"]);
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        let (tcp, _) = listener.accept().await.unwrap();
        let stream = acceptor.accept(tcp).await.unwrap();
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"http/1.1"[..]));
        let mut peer = Peer::new(stream);
        peer.request().await.unwrap();
        chat(peer).await;
    });
    let mut config = config(format!("https://localhost:{port}"));
    config.upstream.ca = Some(certificate.cert.clone());
    let gateway = start(config);
    let mut peer = gateway.connect().await;
    peer.send(UPGRADE).await;
    assert_eq!(peer.head().await.unwrap().status(), 101);
    assert_eq!(peer.until("\n").await.unwrap(), "hello");
}

#[tokio::test]
async fn a_tunnel_with_one_side_closed_ends_when_the_other_stays_silent() {
    // The service says nothing and does not close when its client has.
    let upstream = Upstream::start(|_request, mut peer| async move {
        peer.send(SWITCHED).await;
        std::future::pending::<()>().await;
        Some(peer)
    })
    .await;
    let mut config = config(upstream.url());
    config.timeouts.tunnel_closing = std::time::Duration::from_millis(50);
    let gateway = start(config);
    let mut tcp = tokio::net::TcpStream::connect(gateway.addr).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut tcp, UPGRADE.as_bytes())
        .await
        .unwrap();
    let (read, mut write) = tcp.into_split();
    let mut peer = Peer::new(tokio::io::join(read, tokio::io::sink()));
    assert_eq!(peer.head().await.unwrap().status(), 101);
    tokio::io::AsyncWriteExt::shutdown(&mut write)
        .await
        .unwrap();
    assert!(peer.is_closed().await);
    until(|| gateway.handle.load().in_flight == 0).await;
}

#[tokio::test]
async fn a_half_closed_tunnel_still_carries_what_the_other_side_says() {
    let upstream = Upstream::start(|_request, mut peer| async move {
        peer.send(SWITCHED).await;
        let asked = peer.rest().await;
        peer.send(asked.to_ascii_uppercase()).await;
        None
    })
    .await;
    let gateway = start(config(upstream.url()));
    let mut tcp = tokio::net::TcpStream::connect(gateway.addr).await.unwrap();
    let sent = format!("{UPGRADE}all of it");
    tokio::io::AsyncWriteExt::write_all(&mut tcp, sent.as_bytes())
        .await
        .unwrap();
    let (read, mut write) = tcp.into_split();
    let mut peer = Peer::new(tokio::io::join(read, tokio::io::sink()));
    assert_eq!(peer.head().await.unwrap().status(), 101);
    tokio::io::AsyncWriteExt::shutdown(&mut write)
        .await
        .unwrap();
    assert_eq!(peer.rest().await, b"ALL OF IT");
}
