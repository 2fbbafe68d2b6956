//! Clients that hang up.

use crate::support::gateway::post;
use crate::support::{Gate, OK, Running, Upstream, config, start, until};

async fn gated() -> (Gate, Upstream, Running) {
    let gate = Gate::closed();
    let script = gate.clone();
    let upstream = Upstream::start(move |_request, mut peer| {
        let gate = script.clone();
        async move {
            gate.pass().await;
            peer.send(OK).await;
            Some(peer)
        }
    })
    .await;
    let gateway = start(config(upstream.url()));
    (gate, upstream, gateway)
}

#[tokio::test]
async fn a_client_that_leaves_before_its_request_is_whole_runs_nothing() {
    let (gate, upstream, gateway) = gated().await;
    gate.open();
    let whole = post("/pay", "k", "{\"amount\":1}");
    for len in [whole.len() - 1, whole.len() - 12, 40] {
        let mut peer = gateway.connect().await;
        peer.send(&whole[..len]).await;
        drop(peer);
    }
    until(|| gateway.handle.load().connections == 0).await;
    assert_eq!(upstream.effects(), 0);
    assert!(!gateway.call(&whole).await.is_replay());
}

#[tokio::test]
async fn a_client_that_leaves_during_the_call_finds_the_result_later() {
    let (gate, upstream, gateway) = gated().await;
    let mut peer = gateway.connect().await;
    peer.send(post("/pay", "k", "{}")).await;
    upstream.arrived(1).await;
    drop(peer);
    until(|| gateway.handle.load().connections == 0).await;
    assert_eq!(gateway.handle.load().in_flight, 1, "the run goes on");
    gate.open();
    until(|| gateway.handle.load().in_flight == 0).await;
    let response = gateway.post("/pay", "k", "{}").await;
    assert_eq!(
        (response.text().as_str(), response.is_replay()),
        ("ok", true)
    );
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn a_client_that_leaves_without_reading_finds_the_result_later() {
    let (gate, upstream, gateway) = gated().await;
    gate.open();
    let mut peer = gateway.connect().await;
    peer.send(post("/pay", "k", "{}")).await;
    upstream.arrived(1).await;
    until(|| gateway.handle.load().in_flight == 0).await;
    drop(peer);
    assert!(gateway.post("/pay", "k", "{}").await.is_replay());
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn a_client_that_retries_on_a_new_connection_gets_the_first_result() {
    let (gate, upstream, gateway) = gated().await;
    let mut impatient = gateway.connect().await;
    impatient.send(post("/pay", "k", "{}")).await;
    upstream.arrived(1).await;
    drop(impatient);
    let mut retry = gateway.connect().await;
    retry.send(post("/pay", "k", "{}")).await;
    until(|| gateway.handle.load().in_flight == 2).await;
    gate.open();
    assert!(retry.response().await.unwrap().is_replay());
    assert_eq!(upstream.effects(), 1);
}
