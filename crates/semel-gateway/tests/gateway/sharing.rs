//! Many callers, and many gateways, on one record.

use std::sync::Arc;
use std::time::Duration;

use semel_http::rules::Rules;
use semel_sqlite::Config as Sqlite;

use crate::support::gateway::post;
use crate::support::http2::{Client, request};
use crate::support::{Gate, OK, Upstream, guarding, start, start_on, until};

fn patient(rules: &mut Rules) {
    rules.in_progress.wait = Duration::from_secs(60);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_requests_with_one_key_have_one_effect() {
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
    let mut config = guarding(upstream.url(), patient);
    config.limits.waiting_per_key_max = 1_000;
    let gateway = start(config);
    let mut calls = Vec::new();
    // Four connections, so that no file limit is in the way.
    for _ in 0..4 {
        let client = Arc::new(Client::connect(gateway.addr).await);
        for _ in 0..250 {
            let client = client.clone();
            let mut asked = request("POST", "/pay", "{}");
            asked
                .headers_mut()
                .insert("idempotency-key", "k".parse().unwrap());
            calls.push(tokio::spawn(
                async move { client.call(asked).await.unwrap() },
            ));
        }
    }
    until(|| gateway.handle.load().in_flight == 1_000).await;
    gate.open();
    let mut replays = 0;
    for call in calls {
        let answer = call.await.unwrap();
        assert_eq!(
            (answer.head.status.as_u16(), &answer.body[..]),
            (200, &b"ok"[..])
        );
        replays += usize::from(answer.head.headers.contains_key("idempotent-replayed"));
    }
    assert_eq!((upstream.effects(), replays), (1, 999));
}

#[tokio::test(flavor = "multi_thread")]
async fn two_gateways_on_one_file_run_an_operation_once() {
    let upstream = Upstream::answering(OK).await;
    let dir = tempfile::TempDir::new().unwrap();
    let open = || {
        let store = Sqlite::new(dir.path().join("semel.db")).open().unwrap();
        Arc::new(start_on(guarding(upstream.url(), patient), Arc::new(store)))
    };
    let gateways = [open(), open()];
    let mut calls = Vec::new();
    for n in 0..200 {
        let (gateway, key) = (gateways[n % 2].clone(), format!("k{}", n / 8));
        calls.push(tokio::spawn(async move {
            gateway.call(post("/pay", &key, "{}")).await.status()
        }));
    }
    for call in calls {
        assert_eq!(call.await.unwrap(), 200);
    }
    assert_eq!(upstream.effects(), 25);
    // Each finds what the other has recorded.
    for gateway in &gateways {
        for n in 0..25 {
            assert!(
                gateway
                    .post("/pay", &format!("k{n}"), "{}")
                    .await
                    .is_replay()
            );
        }
    }
    assert_eq!(upstream.effects(), 25);
}

#[tokio::test]
async fn a_gateway_that_starts_again_remembers() {
    let upstream = Upstream::answering(OK).await;
    let dir = tempfile::TempDir::new().unwrap();
    for replayed in [false, true] {
        let store = Sqlite::new(dir.path().join("semel.db")).open().unwrap();
        let mut gateway = start_on(guarding(upstream.url(), patient), Arc::new(store));
        assert_eq!(gateway.post("/pay", "k", "{}").await.is_replay(), replayed);
        gateway.stop();
        gateway.drained().await;
    }
    assert_eq!(upstream.effects(), 1);
}
