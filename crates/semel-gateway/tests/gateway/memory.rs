//! Bodies cost about their bytes, all of them together have a limit, and what they held is given back.

use semel_http::Memory;

use crate::support::gateway::post;
use crate::support::{Gate, OK, Peer, Running, Upstream, guarding, start, until};

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

async fn begun(gateway: &Running, request: impl AsRef<[u8]>) -> Peer {
    let mut peer = gateway.connect().await;
    peer.send(request).await;
    peer
}

fn held(gateway: &Running) -> usize {
    gateway.handle.budgets().memory().held()
}

fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line
        .and_then(|line| line.trim().strip_suffix(" kB"))
        .unwrap();
    kib.parse::<usize>().unwrap() * KIB
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_in_one_byte_chunks_costs_about_its_bytes() {
    const BODIES: usize = 16;
    const BYTES: usize = 256 * KIB;
    let gate = Gate::closed();
    // It reads no body: what it would keep of it is not the gateway's.
    let script = gate.clone();
    let upstream = Upstream::raw(move |mut peer| {
        let gate = script.clone();
        async move {
            peer.head().await.unwrap();
            gate.pass().await;
        }
    })
    .await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    let chunks = "1\r\nx\r\n".repeat(4 * KIB);
    let before = resident();
    let mut senders = tokio::task::JoinSet::new();
    for n in 0..BODIES {
        let head = post("/pay", &format!("k{n}"), "")
            .replace("Content-Length: 0", "Transfer-Encoding: chunked");
        let (mut peer, chunks) = (gateway.connect().await, chunks.clone());
        senders.spawn(async move {
            peer.send(head).await;
            for _ in 0..BYTES / (4 * KIB) {
                peer.send(&chunks).await;
            }
            peer.send("0\r\n\r\n").await;
            peer
        });
    }
    upstream.connected(BODIES).await;
    let (sent, after) = (BODIES * BYTES, resident());
    assert!(held(&gateway) <= sent, "{} of {sent}", held(&gateway));
    // Other tests of this process cost something too; one piece kept for each byte would cost 132 MiB.
    let grown = after.saturating_sub(before);
    assert!(grown < 20 * sent, "{grown} for {sent}");
    drop(senders.join_all().await);
    gate.open();
    until(|| held(&gateway) == 0).await;
}

#[tokio::test]
async fn bodies_above_the_budget_are_refused_and_small_ones_are_not() {
    let upstream = Upstream::answering(OK).await;
    let mut config = guarding(upstream.url(), |_| {});
    config.memory = Memory::new(MIB);
    let gateway = start(config);
    let large = "x".repeat(700 * KIB);
    // Its last byte is missing.
    let request = post("/pay", "first", &large);
    let mut first = begun(&gateway, &request[..request.len() - 1]).await;
    until(|| held(&gateway) == 700 * KIB).await;
    let refused = gateway.post("/pay", "second", &large).await;
    assert_eq!(refused.problem(), (503, "overloaded".to_owned()));
    assert_eq!(refused.header("retry-after"), Some("1"));
    let said: serde_json::Value = serde_json::from_slice(&refused.body).unwrap();
    assert_eq!(said["budget"], "buffered_bytes");
    assert_eq!(gateway.post("/pay", "small", "{}").await.status(), 200);
    first.send("x").await;
    assert_eq!(first.response().await.unwrap().status(), 200);
    until(|| held(&gateway) == 0).await;
    assert_eq!(gateway.post("/pay", "second", &large).await.status(), 200);
    assert_eq!(upstream.effects(), 3);
}

#[tokio::test]
async fn an_announced_length_reserves_nothing() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    let silent = post("/pay", "k", "").replace("Content-Length: 0", "Content-Length: 1048576");
    let _silent = begun(&gateway, silent).await;
    let receiving = || gateway.handle.budgets().all()[1].1.used();
    until(|| receiving() == 1).await;
    assert_eq!(held(&gateway), 0);
}

#[tokio::test]
async fn an_outcome_is_kept_although_the_memory_is_full() {
    let body = "x".repeat(256 * KIB);
    let upstream = Upstream::answering(crate::support::reply("201 Created", "", &body)).await;
    let mut config = guarding(upstream.url(), |_| {});
    config.memory = Memory::new(64 * KIB);
    let gateway = start(config);
    for is_replay in [false, true] {
        let answer = gateway.post("/pay", "k", "{}").await;
        assert_eq!((answer.status(), answer.is_replay()), (201, is_replay));
        assert_eq!(answer.body.len(), body.len());
    }
    assert_eq!(upstream.effects(), 1);
    until(|| held(&gateway) == 0).await;
}

#[tokio::test]
async fn replays_that_are_not_read_keep_no_operation_out() {
    let body = "x".repeat(16 * MIB);
    let upstream = Upstream::answering(crate::support::reply("200 OK", "", &body)).await;
    let mut config = guarding(upstream.url(), |rules| {
        rules.response_bytes_max = 16 * MIB;
    });
    config.memory = Memory::new(64 * MIB);
    let gateway = start(config);
    assert_eq!(gateway.post("/pay", "k", "{}").await.status(), 200);
    let mut unread = Vec::new();
    let refused = loop {
        let mut peer = begun(&gateway, post("/pay", "k", "{}")).await;
        match peer.head().await.unwrap() {
            head if head.status() == 200 => unread.push(peer),
            refused => break refused,
        }
        assert!(unread.len() < 20, "no replay was refused");
    };
    assert_eq!(refused.status(), 503);
    assert_eq!(gateway.post("/pay", "other", "{}").await.status(), 200);
    drop(unread);
    until(|| held(&gateway) == 0).await;
    assert!(gateway.post("/pay", "k", "{}").await.is_replay());
    assert_eq!(upstream.effects(), 2);
}

#[tokio::test]
async fn an_answer_is_counted_until_its_client_has_read_it() {
    let body = "x".repeat(16 * MIB);
    let upstream = Upstream::answering(crate::support::reply("200 OK", "", &body)).await;
    let gateway = start(guarding(upstream.url(), |rules| {
        rules.response_bytes_max = 16 * MIB;
    }));
    for _first_and_replay in 0..2 {
        let mut peer = begun(&gateway, post("/pay", "k", "{}")).await;
        let head = peer.head().await.unwrap();
        assert_eq!(head.status(), 200);
        // More than what sockets take over.
        assert!(held(&gateway) > 4 * MIB, "{}", held(&gateway));
        assert_eq!(peer.exactly(16 * MIB).await.unwrap().len(), 16 * MIB);
        until(|| held(&gateway) == 0).await;
    }
}
