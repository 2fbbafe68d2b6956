//! Bodies that pass through arrive as they are sent.

use crate::support::gateway::get;
use crate::support::{Gate, Upstream, config, start};

#[tokio::test]
async fn an_event_arrives_before_the_stream_ends() {
    let gate = Gate::closed();
    let script = gate.clone();
    let upstream = Upstream::start(move |_request, mut peer| {
        let gate = script.clone();
        async move {
            let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";
            peer.send(head).await;
            peer.send("9\r\ndata: 1\n\n\r\n").await;
            gate.pass().await;
            peer.send("9\r\ndata: 2\n\n\r\n0\r\n\r\n").await;
            Some(peer)
        }
    })
    .await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send(get("/events")).await;
    assert_eq!(peer.head().await.unwrap().status(), 200);
    assert_eq!(peer.chunk().await.unwrap(), b"data: 1\n\n");
    gate.open();
    assert_eq!(peer.chunk().await.unwrap(), b"data: 2\n\n");
    assert!(peer.chunk().await.unwrap().is_empty());
}

#[tokio::test]
async fn an_upload_arrives_before_it_ends() {
    let (seen, mut sees) = tokio::sync::mpsc::unbounded_channel();
    let upstream = Upstream::raw(move |mut peer| {
        let seen = seen.clone();
        async move {
            peer.head().await.unwrap();
            while let Some(chunk) = peer.chunk().await.filter(|chunk| !chunk.is_empty()) {
                seen.send(chunk).unwrap();
            }
            peer.send("HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n")
                .await;
        }
    })
    .await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send("PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n")
        .await;
    for part in ["one", "two"] {
        peer.send(format!("3\r\n{part}\r\n")).await;
        assert_eq!(sees.recv().await.unwrap(), part.as_bytes());
    }
    peer.send("0\r\n\r\n").await;
    assert_eq!(peer.response().await.unwrap().status(), 201);
}

#[tokio::test]
async fn a_large_body_crosses_whole_in_both_directions() {
    let upstream = Upstream::start(|request, mut peer| async move {
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
            request.body.len()
        );
        peer.send(head).await;
        peer.send(&request.body).await;
        Some(peer)
    })
    .await;
    let gateway = start(config(upstream.url()));
    let body: Vec<u8> = (0..8 * 1024 * 1024_u32)
        .map(|n| n.wrapping_mul(31) as u8)
        .collect();
    let mut request = format!(
        "PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    request.extend(&body);
    assert_eq!(gateway.call(request).await.body, body);
}

#[tokio::test]
async fn a_response_that_breaks_off_is_not_made_whole() {
    for answer in [
        "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        let upstream = Upstream::start(move |_request, mut peer| async move {
            peer.send(answer).await;
            None
        })
        .await;
        let gateway = start(config(upstream.url()));
        let mut peer = gateway.connect().await;
        peer.send(get("/")).await;
        assert!(peer.response().await.is_none(), "{answer:?}");
    }
}

#[tokio::test]
async fn a_response_without_a_length_ends_with_its_connection() {
    let upstream = Upstream::start(|_request, mut peer| async move {
        peer.send("HTTP/1.1 200 OK\r\n\r\nuntil the end").await;
        None
    })
    .await;
    let gateway = start(config(upstream.url()));
    let response = gateway.call(get("/")).await;
    assert_eq!(response.header("transfer-encoding"), Some("chunked"));
    assert_eq!(response.text(), "until the end");
}

#[tokio::test]
async fn an_upload_that_the_client_breaks_off_is_not_made_whole() {
    let (ended, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let upstream = Upstream::raw(move |mut peer| {
        let ended = ended.clone();
        async move {
            ended.send(peer.request().await.is_some()).unwrap();
        }
    })
    .await;
    let gateway = start(config(upstream.url()));
    for head in ["Content-Length: 10", "Transfer-Encoding: chunked"] {
        let mut peer = gateway.connect().await;
        peer.send(format!(
            "PUT / HTTP/1.1\r\nHost: a\r\n{head}\r\n\r\n4\r\nhalf"
        ))
        .await;
        upstream.connected(1).await;
        drop(peer);
        assert!(!ends.recv().await.unwrap(), "{head}");
    }
}

#[tokio::test]
async fn a_client_that_leaves_frees_the_upstream() {
    let (ended, mut ends) = tokio::sync::mpsc::unbounded_channel();
    let upstream = Upstream::start(move |_request, mut peer| {
        let ended = ended.clone();
        async move {
            peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n")
                .await;
            peer.rest().await;
            ended.send(()).unwrap();
            None
        }
    })
    .await;
    let gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send(get("/events")).await;
    peer.head().await.unwrap();
    drop(peer);
    ends.recv().await.unwrap();
}
