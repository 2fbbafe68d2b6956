//! Callers that come at once, and callers that go away.

use std::collections::BTreeMap;

use semel_core::{Identity, State, StoreExt};
use semel_testkit::faulty::{Fault, Faulty};
use semel_testkit::gate::Gate;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::http;
use crate::server::{Server, about};

#[tokio::test(flavor = "multi_thread")]
async fn of_many_claims_at_once_one_is_granted() {
    let server = Server::start().await;
    for key in ["a", "b", "c", "d"] {
        let mut claims = JoinSet::new();
        for _ in 0..32 {
            let (address, body) = (server.address, about(key, json!({})));
            claims.spawn(async move { http::post(address, "/api/v1/claims", body).await });
        }
        let mut statuses = BTreeMap::new();
        while let Some(claimed) = claims.join_next().await {
            *statuses.entry(claimed.unwrap().status).or_insert(0) += 1;
        }
        assert_eq!(statuses, BTreeMap::from([(201, 1), (409, 31)]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_owners_only_the_one_with_the_live_fence_settles() {
    let server = Server::start().await;
    let first = server.fence("k").await;
    server.wait(31);
    let takeover = about("k", json!({ "takeover": "allowed" }));
    let second = server.post("/api/v1/claims", takeover).await.json()["fence"]
        .as_u64()
        .unwrap();
    let settle = |fence: u64| {
        let outcome = json!({ "fence": fence, "verdict": "succeeded", "body": fence.to_string() });
        let (address, body) = (server.address, about("k", outcome));
        tokio::spawn(async move { http::post(address, "/api/v1/claims/settle", body).await })
    };
    let (lost, won) = tokio::join!(settle(first), settle(second));
    assert_eq!((lost.unwrap().status, won.unwrap().status), (409, 200));
    let replayed = server.claim("k").await.json();
    assert_eq!(replayed["outcome"]["body"]["text"], second.to_string());
}

/// From now on the store waits at this gate before it does anything.
fn hold(faulty: &Faulty) -> Gate {
    let gate = Gate::closed();
    faulty.set_all(Fault::Gated(gate.clone()));
    gate
}

/// Sends a claim, and hangs up once the store has it.
async fn claim_and_hang_up(server: &Server, gate: &Gate, more: serde_json::Value) {
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let claim = http::post_bytes("/api/v1/claims", &about("k", more).to_string());
    stream.write_all(&claim).await.unwrap();
    gate.reached().await;
    drop(stream);
}

/// Waits until the server has noticed, and let go of its claim.
///
/// The history is read before the state: a record whose lease has ended looks unknown before it is taken over, too,
/// so a state read first could be the one from before the claim.
async fn until(server: &Server, wanted: &str) {
    let identity = Identity::parse("acme", "payments@1", "k").unwrap();
    loop {
        let history = server.store.history(identity.clone()).await.unwrap();
        let found = server.store.look_up_one(identity.clone()).await.unwrap();
        let state = found.as_ref().map_or("absent", |found| found.state.name());
        if !history.is_empty() && state == wanted {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_claim_whose_caller_hung_up_is_given_back() {
    let (server, faulty) = Server::faulty().await;
    let gate = hold(&faulty);
    claim_and_hang_up(&server, &gate, json!({})).await;
    // The server sees the hang-up before the store answers: nothing else is ready to run.
    let (mut probe, request) = (
        TcpStream::connect(server.address).await.unwrap(),
        b"GET /healthz HTTP/1.1\r\nConnection: close\r\n\r\n",
    );
    probe.write_all(request).await.unwrap();
    tokio::io::AsyncReadExt::read_to_end(&mut probe, &mut Vec::new())
        .await
        .unwrap();
    faulty.heal_all();
    gate.open();
    until(&server, "absent").await;
    assert_eq!(server.fence("k").await, 2);
}

#[tokio::test]
async fn a_takeover_whose_caller_hung_up_is_unknown_again() {
    let (server, faulty) = Server::faulty().await;
    server.fence("k").await;
    server.wait(31);
    let gate = hold(&faulty);
    claim_and_hang_up(&server, &gate, json!({ "takeover": "allowed" })).await;
    assert_eq!(http::get(server.address, "/healthz").await.status, 200);
    faulty.heal_all();
    gate.open();
    until(&server, "unknown").await;
    let refused = server.claim("k").await;
    assert_eq!(refused.problem(), "outcome-unknown");
    assert_eq!(refused.json()["fence"], 2);
    assert_eq!(refused.json()["cause"], "run-undecided");
}

#[tokio::test]
async fn a_settle_whose_caller_hung_up_is_still_on_record() {
    let (server, faulty) = Server::faulty().await;
    let fence = server.fence("k").await;
    let gate = hold(&faulty);
    let settle = about("k", json!({ "fence": fence, "verdict": "succeeded" }));
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let settle = http::post_bytes("/api/v1/claims/settle", &settle.to_string());
    stream.write_all(&settle).await.unwrap();
    gate.reached().await;
    drop(stream);
    assert_eq!(http::get(server.address, "/healthz").await.status, 200);
    faulty.heal_all();
    gate.open();
    let identity = Identity::parse("acme", "payments@1", "k").unwrap();
    loop {
        let found = server.store.look_up_one(identity.clone()).await.unwrap();
        if matches!(found.unwrap().state, State::Settled(_)) {
            return;
        }
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn requests_that_have_begun_are_answered_before_the_end() {
    let (server, faulty) = Server::faulty().await;
    let gate = hold(&faulty);
    let (address, claim) = (server.address, about("k", json!({})));
    let claimed = tokio::spawn(async move { http::post(address, "/api/v1/claims", claim).await });
    gate.reached().await;
    let stopped = tokio::spawn(server.stop());
    while TcpStream::connect(address).await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert!(!stopped.is_finished());
    gate.open();
    assert_eq!(claimed.await.unwrap().status, 201);
    stopped.await.unwrap();
}
