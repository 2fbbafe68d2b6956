//! Shutting down without breaking what is in flight.

use std::sync::Arc;
use std::time::Duration;

use semel_core::{Identity, MemoryStore, State, StoreExt};
use semel_testkit::faulty::{Fault, Faulty};
use tokio::net::TcpStream;

use crate::support::gateway::{get, post};
use crate::support::http2::{Client, request};
use crate::support::{Gate, OK, Running, Upstream, config, start, start_on, until};

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

/// Waits until nobody listens any more.
async fn refuses(gateway: &Running) {
    let address = gateway.addr;
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_is_in_flight_finishes_and_nothing_new_is_taken() {
    let gate = Gate::closed();
    let upstream = gated(&gate).await;
    let mut gateway = start(config(upstream.url()));
    let (mut busy, mut idle) = (gateway.connect().await, gateway.connect().await);
    busy.send(get("/")).await;
    upstream.arrived(1).await;
    gateway.stop();
    refuses(&gateway).await;
    assert!(idle.is_closed().await);
    gate.open();
    let response = busy.response().await.unwrap();
    assert_eq!(response.text(), "ok");
    assert_eq!(response.header("connection"), Some("close"));
    assert!(busy.is_closed().await);
    assert_eq!(gateway.drained().await.cut_off, 0);
}

#[tokio::test]
async fn http2_clients_are_told_to_go_away_and_finish() {
    let gate = Gate::closed();
    let upstream = gated(&gate).await;
    let mut gateway = start(config(upstream.url()));
    let client = std::sync::Arc::new(Client::connect(gateway.addr).await);
    let calling = client.clone();
    let call = tokio::spawn(async move { calling.call(request("GET", "/", "")).await });
    upstream.arrived(1).await;
    gateway.stop();
    refuses(&gateway).await;
    gate.open();
    assert_eq!(&call.await.unwrap().unwrap().body[..], b"ok");
    let client = std::sync::Arc::into_inner(client).unwrap();
    assert!(client.connection.await.unwrap(), "it ends without an error");
    assert_eq!(gateway.drained().await.cut_off, 0);
}

#[tokio::test]
async fn what_does_not_finish_in_time_is_cut_off_and_counted() {
    let upstream = gated(&Gate::closed()).await;
    let mut config = config(upstream.url());
    config.timeouts.drain = Duration::from_millis(50);
    let mut gateway = start(config);
    let mut peer = gateway.connect().await;
    peer.send(get("/")).await;
    upstream.arrived(1).await;
    gateway.stop();
    assert!(peer.is_closed().await);
    assert_eq!(gateway.drained().await.cut_off, 1);
}

#[tokio::test]
async fn a_run_whose_client_has_left_is_waited_for() {
    let gate = Gate::closed();
    let upstream = gated(&gate).await;
    let mut gateway = start(config(upstream.url()));
    let mut peer = gateway.connect().await;
    peer.send(post("/pay", "k", "{}")).await;
    upstream.arrived(1).await;
    drop(peer);
    gateway.stop();
    refuses(&gateway).await;
    let store = gateway.store.clone();
    gate.open();
    assert_eq!(gateway.drained().await.cut_off, 0);
    let identity = Identity::parse("public", "POST /{*rest}", "k").unwrap();
    let record = store.look_up_one(identity).await.unwrap().unwrap();
    assert!(matches!(record.state, State::Settled(_)), "{record:?}");
}

#[tokio::test]
async fn an_outcome_that_is_not_on_record_yet_is_waited_for() {
    let gate = Gate::closed();
    let upstream = gated(&gate).await;
    let store = Faulty::new(Arc::new(MemoryStore::new()));
    let mut gateway = start_on(config(upstream.url()), store.clone());
    let mut peer = gateway.connect().await;
    peer.send(post("/pay", "k", "{}")).await;
    upstream.arrived(1).await;
    store.set_all(Fault::Away);
    gate.open();
    // The client has its answer, and knows that the record is not settled yet.
    peer.response().await.unwrap();
    drop(peer);
    gateway.stop();
    let handle = gateway.handle.clone();
    until(|| handle.load().in_flight == 0).await;
    store.heal_all();
    assert_eq!(gateway.drained().await.not_recorded, 0);
    let identity = Identity::parse("public", "POST /{*rest}", "k").unwrap();
    let record = store.look_up_one(identity).await.unwrap().unwrap();
    assert!(matches!(record.state, State::Settled(_)), "{record:?}");
}

#[tokio::test]
async fn a_tunnel_is_cut_off_at_the_end_of_the_drain() {
    let upstream = Upstream::start(|_request, mut peer| async move {
        let switched =
            "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n";
        peer.send(switched).await;
        peer.rest().await;
        None
    })
    .await;
    let mut config = config(upstream.url());
    config.timeouts.drain = Duration::from_millis(50);
    let mut gateway = start(config);
    let mut peer = gateway.connect().await;
    peer.send("GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")
        .await;
    assert_eq!(peer.head().await.unwrap().status(), 101);
    gateway.stop();
    assert!(peer.is_closed().await);
    assert_eq!(gateway.drained().await.cut_off, 1);
}
