//! Requests of one kind use up the places of their kind and no others.

use std::time::Duration;

use semel_gateway::{Config, Limits};
use semel_http::rules::{Busy, BusyStatus, MinRate};

use crate::support::gateway::{get, post};
use crate::support::message::Message;
use crate::support::{Gate, OK, Peer, Running, Upstream, guarding, start, until};

const UPGRADE: &str =
    "GET /chat HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const SWITCHED: &str =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";
const STALLED_UPLOAD: &str =
    "PUT /files HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n";

/// Answers at once, but to the key `slow` only when the gate is open; a request for a websocket gets one.
async fn service(gate: &Gate) -> Upstream {
    let gate = gate.clone();
    Upstream::start(move |request, mut peer| {
        let gate = gate.clone();
        async move {
            if request.header("upgrade").is_some() {
                peer.send(SWITCHED).await;
                peer.rest().await;
                return None;
            }
            if request.header("idempotency-key") == Some("slow") {
                gate.pass().await;
            }
            peer.send(OK).await;
            Some(peer)
        }
    })
    .await
}

/// Duplicates wait for as long as the test takes, and one request of each kind is let in.
fn one_of_each(upstream: &Upstream, change: impl FnOnce(&mut Limits)) -> Config {
    let mut config = guarding(upstream.url(), |rules| {
        rules.in_progress = Busy {
            wait: Duration::from_secs(600),
            status: BusyStatus::Conflict,
        };
    });
    config.limits.in_flight_max = 1;
    change(&mut config.limits);
    config
}

fn used(gateway: &Running, name: &str) -> usize {
    let all = gateway.handle.budgets().all();
    let found = all.iter().find(|(budget, _)| *budget == name);
    found.expect("a budget of this name").1.used()
}

/// What a full budget says.
fn assert_full(refused: &Message, budget: &str) {
    assert_eq!(refused.problem(), (503, "overloaded".to_owned()));
    assert_eq!(refused.header("retry-after"), Some("1"));
    let said: serde_json::Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!(said["budget"], budget);
}

async fn begun(gateway: &Running, request: impl AsRef<[u8]>) -> Peer {
    let mut peer = gateway.connect().await;
    peer.send(request).await;
    peer
}

/// A guarded request that says more than it sends.
fn stalled(key: &str) -> String {
    post("/pay", key, "{}").replace("Content-Length: 2", "Content-Length: 20")
}

#[tokio::test]
async fn idle_tunnels_keep_no_request_out() {
    let upstream = service(&Gate::closed()).await;
    let gateway = start(one_of_each(&upstream, |_| {}));
    let mut tunnel = begun(&gateway, UPGRADE).await;
    assert_eq!(tunnel.head().await.unwrap().status(), 101);
    assert_full(&gateway.call(UPGRADE).await, "tunnels");
    assert_eq!(gateway.call(get("/")).await.status(), 200);
    assert_eq!(gateway.post("/pay", "k", "{}").await.status(), 200);
    drop(tunnel);
    until(|| used(&gateway, "tunnels") == 0).await;
    let mut tunnel = begun(&gateway, UPGRADE).await;
    assert_eq!(tunnel.head().await.unwrap().status(), 101);
}

#[tokio::test]
async fn stalled_uploads_that_pass_through_keep_no_payment_out() {
    let upstream = service(&Gate::closed()).await;
    let gateway = start(one_of_each(&upstream, |_| {}));
    let upload = begun(&gateway, STALLED_UPLOAD).await;
    until(|| used(&gateway, "passing") == 1).await;
    assert_full(&gateway.call(get("/")).await, "passing");
    assert_eq!(gateway.post("/pay", "k", "{}").await.status(), 200);
    drop(upload);
    until(|| used(&gateway, "passing") == 0).await;
    assert_eq!(gateway.call(get("/")).await.status(), 200);
}

#[tokio::test]
async fn stalled_guarded_bodies_keep_no_payment_out() {
    let upstream = service(&Gate::closed()).await;
    let gateway = start(one_of_each(&upstream, |_| {}));
    let mut slow = begun(&gateway, stalled("one")).await;
    until(|| used(&gateway, "receiving") == 1).await;
    // A body that comes with its head needs no place, another that stalls does.
    assert_eq!(gateway.post("/pay", "k", "{}").await.status(), 200);
    assert_full(&gateway.call(stalled("two")).await, "receiving");
    slow.send(" ".repeat(18)).await;
    assert_eq!(slow.response().await.unwrap().status(), 200);
    assert_eq!(used(&gateway, "receiving"), 0);
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test]
async fn waiting_duplicates_hold_no_run() {
    let gate = Gate::closed();
    let upstream = service(&gate).await;
    let gateway = start(one_of_each(&upstream, |limits| {
        limits.runs_max = Some(2);
        limits.waiting_max = Some(3);
    }));
    let mut first = begun(&gateway, post("/pay", "slow", "{}")).await;
    upstream.arrived(1).await;
    let mut duplicates = Vec::new();
    for waiting in 1..=3 {
        duplicates.push(begun(&gateway, post("/pay", "slow", "{}")).await);
        until(|| used(&gateway, "waiting") == waiting).await;
    }
    assert_eq!(used(&gateway, "runs"), 1);
    assert_eq!(gateway.post("/pay", "k", "{}").await.status(), 200);
    assert_full(&gateway.post("/pay", "slow", "{}").await, "waiting");
    gate.open();
    assert!(!first.response().await.unwrap().is_replay());
    for mut duplicate in duplicates {
        assert!(duplicate.response().await.unwrap().is_replay());
    }
    assert_eq!((used(&gateway, "waiting"), used(&gateway, "runs")), (0, 0));
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test]
async fn a_key_that_many_wait_for_is_in_progress_for_the_next() {
    let gate = Gate::closed();
    let upstream = service(&gate).await;
    let gateway = start(one_of_each(&upstream, |limits| {
        limits.in_flight_max = 10;
        limits.waiting_per_key_max = 1;
    }));
    let mut first = begun(&gateway, post("/pay", "slow", "{}")).await;
    upstream.arrived(1).await;
    let mut duplicate = begun(&gateway, post("/pay", "slow", "{}")).await;
    until(|| used(&gateway, "waiting") == 1).await;
    let next = gateway.post("/pay", "slow", "{}").await;
    assert_eq!(next.problem(), (409, "in-progress".to_owned()));
    assert!(next.header("retry-after").is_some());
    gate.open();
    assert_eq!(first.response().await.unwrap().status(), 200);
    assert!(duplicate.response().await.unwrap().is_replay());
}

#[tokio::test]
async fn when_all_runs_are_taken_nothing_runs_but_replays_and_the_rest_go_on() {
    let gate = Gate::closed();
    let upstream = service(&gate).await;
    let gateway = start(one_of_each(&upstream, |_| {}));
    assert_eq!(gateway.post("/pay", "done", "{}").await.status(), 200);
    let mut slow = begun(&gateway, post("/pay", "slow", "{}")).await;
    upstream.arrived(2).await;
    assert_full(&gateway.post("/pay", "k", "{}").await, "runs");
    assert!(gateway.post("/pay", "done", "{}").await.is_replay());
    assert_eq!(gateway.call(get("/")).await.status(), 200);
    // Another request with a known key gets no replay, whatever is full.
    let mistaken = gateway.post("/pay", "done", "{\"other\":1}").await;
    assert_full(&mistaken, "runs");
    gate.open();
    assert_eq!(slow.response().await.unwrap().status(), 200);
    assert_eq!(gateway.post("/pay", "k", "{}").await.status(), 200);
    assert_eq!(upstream.effects(), 4);
}

#[tokio::test]
async fn a_body_that_arrives_too_slowly_ends_although_it_never_stands_still() {
    let upstream = service(&Gate::closed()).await;
    let gateway = start(guarding(upstream.url(), |rules| {
        rules.body_timeout = Duration::from_secs(3_600);
        rules.body_pace = MinRate {
            bytes_per_second: 1_000_000,
            grace: Duration::from_millis(400),
        };
    }));
    let head = post("/pay", "k", "").replace("Content-Length: 0", "Content-Length: 100000");
    let (mut reads, mut writes) =
        tokio::io::split(tokio::net::TcpStream::connect(gateway.addr).await.unwrap());
    let trickle = tokio::spawn(async move {
        use tokio::io::AsyncWriteExt;
        writes.write_all(head.as_bytes()).await.unwrap();
        while writes.write_all(b" ").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    let mut answer = Vec::new();
    let _ = tokio::io::AsyncReadExt::read_to_end(&mut reads, &mut answer).await;
    let answer = String::from_utf8(answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 408"), "{answer}");
    assert!(answer.contains("body-timeout"), "{answer}");
    trickle.abort();
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn a_reload_changes_the_places() {
    let gate = Gate::closed();
    let upstream = service(&gate).await;
    let mut config = one_of_each(&upstream, |_| {});
    let gateway = start(config.clone());
    config.listen = "127.0.0.1:0".parse().unwrap();
    let mut slow = begun(&gateway, post("/pay", "slow", "{}")).await;
    upstream.arrived(1).await;
    assert_full(&gateway.post("/pay", "k", "{}").await, "runs");
    config.limits.runs_max = Some(2);
    gateway.handle.reload(&config).unwrap();
    assert_eq!(gateway.post("/pay", "k", "{}").await.status(), 200);
    gate.open();
    assert_eq!(slow.response().await.unwrap().status(), 200);
}
