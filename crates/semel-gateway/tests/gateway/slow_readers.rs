//! Clients that read slowly, stop reading or hang up: what the record says does not depend on them.

use std::time::Duration;

use semel_core::LeaseTerm;
use semel_gateway::Config;
use semel_http::Rules;
use serde_json::Value;

use crate::support::gateway::post;
use crate::support::http2::{Client, request};
use crate::support::message::Message;
use crate::support::{Gate, Running, Upstream, guarding, start};

/// Far more than all buffers on the way hold.
const LEN: usize = 48 * 1024 * 1024;

const SHORT: Duration = Duration::from_millis(200);

/// Answers with more than is kept, as fast as it is read.
async fn large() -> Upstream {
    Upstream::start(|_request, mut peer| async move {
        let head = format!("HTTP/1.1 201 Created\r\nX-Id: 7\r\nContent-Length: {LEN}\r\n\r\n");
        peer.send(head).await;
        let piece = vec![b'x'; 1024 * 1024];
        for _ in 0..LEN / piece.len() {
            peer.send(&piece).await;
        }
        Some(peer)
    })
    .await
}

/// A route with a small cap, a short lease and a short time for the service.
fn impatient(upstream: &Upstream, change: impl FnOnce(&mut Rules)) -> Config {
    guarding(upstream.url(), |rules| {
        rules.response_bytes_max = 100;
        rules.lease = LeaseTerm::new(Duration::from_secs(1)).unwrap();
        change(rules);
    })
}

/// The first answer that is not that it is still running.
async fn outcome(gateway: &Running) -> Message {
    loop {
        let message = gateway.post("/pay", "k", "{}").await;
        if message.status() != 409 || message.problem().1 != "in-progress" {
            return message;
        }
    }
}

/// Whether the record says what the service said, and that it is too large to be told again.
async fn is_settled(gateway: &Running, upstream: &Upstream) {
    let replay = outcome(gateway).await;
    assert!(replay.is_replay(), "{replay:?}");
    assert_eq!(replay.status(), 201);
    assert_eq!(replay.header("x-id"), Some("7"));
    let document: Value = serde_json::from_slice(&replay.body).unwrap();
    assert_eq!(document["type"], "urn:semel:problem:body-not-kept");
    assert!(
        document.to_string().contains(&LEN.to_string()),
        "{document}"
    );
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_of_the_client_is_not_the_services_silence() {
    let upstream = large().await;
    let gateway = start(impatient(&upstream, |rules| {
        rules.timeout = Duration::from_secs(3);
    }));
    let mut peer = gateway.connect().await;
    peer.send(post("/pay", "k", "{}")).await;
    // Longer than the service may be silent, and than a fixed patience of a few seconds.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let response = peer.response().await.expect("all of the response");
    assert_eq!((response.status(), response.body.len()), (201, LEN));
    is_settled(&gateway, &upstream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_loses_its_response_and_the_record_is_settled() {
    let upstream = large().await;
    let gateway = start(impatient(&upstream, |rules| rules.client_stall = SHORT));
    let mut peer = gateway.connect().await;
    peer.send(post("/pay", "k", "{}")).await;
    is_settled(&gateway, &upstream).await;
    // What was on its way arrives, and the client sees that it is not all.
    assert!(peer.response().await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_hangs_up_in_a_response_leaves_the_record_settled() {
    for read_some in [false, true] {
        let upstream = large().await;
        let gateway = start(impatient(&upstream, |_| {}));
        let mut peer = gateway.connect().await;
        peer.send(post("/pay", "k", "{}")).await;
        peer.head().await.unwrap();
        if read_some {
            peer.exactly(100_000).await.unwrap();
        }
        drop(peer);
        is_settled(&gateway, &upstream).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_the_client_resets_or_stalls_leaves_the_record_settled() {
    for reset in [true, false] {
        let upstream = large().await;
        let gateway = start(impatient(&upstream, |rules| {
            if !reset {
                rules.client_stall = SHORT;
            }
        }));
        let client = Client::connect(gateway.addr).await;
        let mut asked = request("POST", "/pay", "{}");
        let headers = asked.headers_mut();
        headers.insert("idempotency-key", "k".parse().unwrap());
        headers.insert("content-type", "application/json".parse().unwrap());
        let response = client.begin(asked).await.unwrap();
        assert_eq!(response.status(), 201);
        let stalled = (!reset).then_some(response);
        is_settled(&gateway, &upstream).await;
        drop(stalled);
    }
}

#[tokio::test]
async fn a_client_that_leaves_before_a_large_answer_begins_changes_nothing() {
    let gate = Gate::closed();
    let script = gate.clone();
    let upstream = Upstream::start(move |_request, mut peer| {
        let gate = script.clone();
        async move {
            gate.pass().await;
            let head = format!("HTTP/1.1 201 Created\r\nX-Id: 7\r\nContent-Length: {LEN}\r\n\r\n");
            peer.send(head).await;
            peer.send(vec![b'x'; LEN]).await;
            Some(peer)
        }
    })
    .await;
    let gateway = start(impatient(&upstream, |_| {}));
    let mut peer = gateway.connect().await;
    peer.send(post("/pay", "k", "{}")).await;
    upstream.arrived(1).await;
    drop(peer);
    gate.open();
    is_settled(&gateway, &upstream).await;
}

#[tokio::test]
async fn a_service_that_goes_on_sending_may_take_longer_than_the_timeout() {
    let upstream = Upstream::start(|_request, mut peer| async move {
        peer.send("HTTP/1.1 201 Created\r\nContent-Length: 4\r\n\r\n")
            .await;
        for _ in 0..4 {
            // The pauses are the subject: each is shorter than the timeout, together they are longer.
            tokio::time::sleep(Duration::from_millis(700)).await;
            peer.send("x").await;
        }
        Some(peer)
    })
    .await;
    for max in [2, 100] {
        let gateway = start(guarding(upstream.url(), |rules| {
            rules.timeout = Duration::from_secs(2);
            rules.response_bytes_max = max;
        }));
        let first = gateway.post("/pay", "k", "{}").await;
        assert_eq!((first.status(), first.text()), (201, "xxxx".to_owned()));
        assert!(gateway.post("/pay", "k", "{}").await.is_replay(), "{max}");
    }
}

#[tokio::test]
async fn a_service_that_falls_silent_in_its_answer_leaves_the_outcome_unknown() {
    let upstream = Upstream::start(|_request, mut peer| async move {
        peer.send("HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nhalf")
            .await;
        peer.rest().await;
        None
    })
    .await;
    for max in [2, 100] {
        let gateway = start(guarding(upstream.url(), |rules| {
            rules.timeout = SHORT;
            rules.response_bytes_max = max;
        }));
        let mut peer = gateway.connect().await;
        peer.send(post("/pay", "k", "{}")).await;
        let first = peer.response().await;
        match max {
            // It was on its way already, and breaks off.
            2 => assert!(first.is_none()),
            _ => assert_eq!(
                first.unwrap().problem(),
                (504, "upstream-timeout".to_owned())
            ),
        }
        let next = outcome(&gateway).await;
        assert_eq!(next.problem(), (409, "outcome-unknown".to_owned()), "{max}");
    }
    assert_eq!(upstream.effects(), 2);
}
