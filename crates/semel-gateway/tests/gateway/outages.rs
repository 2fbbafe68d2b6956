//! Stores that are away: nothing runs that is not on record.

use std::sync::Arc;

use semel_core::MemoryStore;
use semel_sqlite::Config as Sqlite;
use semel_testkit::faulty::{Fault, Faulty};
use tokio::net::TcpSocket;

use crate::support::gateway::{get, post};
use crate::support::{Gate, OK, Upstream, config, start, start_on, until};

#[tokio::test]
async fn nothing_runs_while_the_store_is_away() {
    let upstream = Upstream::answering(OK).await;
    let store = Faulty::new(Arc::new(MemoryStore::new()));
    let gateway = start_on(config(upstream.url()), store.clone());
    gateway.post("/pay", "before", "{}").await;
    store.set_all(Fault::Away);
    for key in ["before", "during"] {
        let response = gateway.post("/pay", key, "{}").await;
        assert_eq!(response.problem(), (503, "store-unavailable".to_owned()));
        assert!(response.header("retry-after").is_some());
    }
    // What nobody guards needs no store.
    assert_eq!(gateway.call(get("/")).await.status(), 200);
    store.heal_all();
    assert!(gateway.post("/pay", "before", "{}").await.is_replay());
    assert_eq!(gateway.post("/pay", "during", "{}").await.status(), 200);
    assert_eq!(upstream.effects(), 3);
}

#[tokio::test]
async fn a_run_that_the_store_left_is_recorded_when_it_is_back() {
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
    let store = Faulty::new(Arc::new(MemoryStore::new()));
    let gateway = start_on(config(upstream.url()), store.clone());
    let mut first = gateway.connect().await;
    first.send(post("/pay", "k", "{}")).await;
    upstream.arrived(1).await;
    store.set_all(Fault::Away);
    gate.open();
    let refused = gateway.post("/pay", "k", "{}").await;
    assert_eq!(refused.problem(), (503, "store-unavailable".to_owned()));
    store.heal_all();
    assert_eq!(first.response().await.unwrap().text(), "ok");
    assert!(gateway.post("/pay", "k", "{}").await.is_replay());
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn a_file_that_is_removed_while_requests_run_costs_no_second_effect() {
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
    let dir = tempfile::TempDir::new().unwrap();
    let store = Sqlite::new(dir.path().join("semel.db")).open().unwrap();
    let gateway = start_on(config(upstream.url()), Arc::new(store));
    let mut first = gateway.connect().await;
    first.send(post("/pay", "k", "{}")).await;
    upstream.arrived(1).await;
    dir.close().unwrap();
    gate.open();
    // Whatever the store says now, an effect that was begun is not begun again.
    let status = first.response().await.unwrap().status();
    assert!(matches!(status, 200 | 503), "{status}");
    for _ in 0..3 {
        let again = gateway.post("/pay", "k", "{}").await;
        assert!(matches!(again.status(), 200 | 409 | 503), "{again:?}");
    }
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn a_service_that_is_back_is_reached_again_without_a_request() {
    // A port that is bound and does not listen refuses connections, and no other program gets it meanwhile.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let gateway = start(config(format!("http://{address}")));
    let unreached = || gateway.handle.upstreams()[0].1;
    for key in ["k-1", "k-2"] {
        let refused = gateway.post("/pay", key, "{}").await;
        assert_eq!(refused.problem(), (502, "upstream-unreachable".to_owned()));
    }
    assert_eq!(unreached(), 2);
    let _listener = socket.listen(8).unwrap();
    until(|| unreached() == 0).await;
}
