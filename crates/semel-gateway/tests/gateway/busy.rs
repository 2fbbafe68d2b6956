//! Duplicates that come while the first is still running.

use std::time::Duration;

use semel_http::rules::{Busy, BusyStatus};

use crate::support::gateway::post;
use crate::support::{Gate, OK, Running, Upstream, guarding, start};

async fn running(busy: Busy) -> (Gate, Upstream, Running) {
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
    let gateway = start(guarding(upstream.url(), |rules| rules.in_progress = busy));
    (gate, upstream, gateway)
}

#[tokio::test]
async fn a_duplicate_waits_for_the_first_and_gets_its_answer() {
    let patient = Busy {
        wait: Duration::from_secs(60),
        status: BusyStatus::Conflict,
    };
    let (gate, upstream, gateway) = running(patient).await;
    let mut first = gateway.connect().await;
    first.send(post("/pay", "k", "{}")).await;
    upstream.arrived(1).await;
    let mut second = gateway.connect().await;
    second.send(post("/pay", "k", "{}")).await;
    crate::support::until(|| gateway.handle.load().in_flight == 2).await;
    gate.open();
    assert!(!first.response().await.unwrap().is_replay());
    assert!(second.response().await.unwrap().is_replay());
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn a_duplicate_is_told_to_come_back_as_the_route_says() {
    for (status, code) in [
        (BusyStatus::Conflict, 409),
        (BusyStatus::TooEarly, 425),
        (BusyStatus::Accepted, 202),
    ] {
        for wait in [Duration::ZERO, Duration::from_millis(20)] {
            let (gate, upstream, gateway) = running(Busy { wait, status }).await;
            let mut first = gateway.connect().await;
            first.send(post("/pay", "k", "{}")).await;
            upstream.arrived(1).await;
            let refused = gateway.post("/pay", "k", "{}").await;
            assert_eq!(refused.problem(), (code, "in-progress".to_owned()));
            assert!(refused.header("retry-after").is_some());
            // Another request with the key is a mistake even while the first runs.
            let mistaken = gateway.post("/pay", "k", "{\"other\":1}").await;
            assert_eq!(mistaken.problem(), (422, "key-reused".to_owned()));
            gate.open();
            assert_eq!(first.response().await.unwrap().status(), 200);
            assert!(gateway.post("/pay", "k", "{}").await.is_replay());
            assert_eq!(upstream.effects(), 1);
        }
    }
}
