//! What is too much is refused or made to wait, and said.

use crate::support::gateway::{get, post};
use crate::support::http2::{Client, request};
use crate::support::{Gate, OK, Upstream, config, start};

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

#[tokio::test]
async fn too_many_requests_of_one_kind_are_refused_and_nothing_runs() {
    let gate = Gate::closed();
    let upstream = gated(&gate).await;
    let mut config = config(upstream.url());
    config.limits.in_flight_max = 1;
    let gateway = start(config);
    let mut first = gateway.connect().await;
    first.send(get("/")).await;
    upstream.arrived(1).await;
    let mut guarded = gateway.connect().await;
    guarded.send(post("/", "k", "{}")).await;
    upstream.arrived(2).await;
    for refused in [
        gateway.call(get("/")).await,
        gateway.post("/", "other", "{}").await,
    ] {
        assert_eq!(refused.problem(), (503, "overloaded".to_owned()));
        assert_eq!(refused.header("retry-after"), Some("1"));
    }
    gate.open();
    assert_eq!(first.response().await.unwrap().status(), 200);
    assert_eq!(guarded.response().await.unwrap().status(), 200);
    assert_eq!(gateway.post("/", "other", "{}").await.status(), 200);
    assert_eq!(upstream.effects(), 3);
}

#[tokio::test]
async fn connections_above_the_limit_wait_while_all_are_busy() {
    let gate = Gate::closed();
    let upstream = gated(&gate).await;
    let mut config = config(upstream.url());
    config.limits.connections_max = 1;
    let gateway = start(config);
    let mut first = gateway.connect().await;
    first.send(get("/first")).await;
    upstream.arrived(1).await;
    let mut second = gateway.connect().await;
    second.send(get("/second")).await;
    gate.open();
    assert_eq!(first.response().await.unwrap().status(), 200);
    assert_eq!(second.response().await.unwrap().status(), 200);
    assert!(first.is_closed().await, "it made room once it was idle");
    let seen: Vec<_> = upstream
        .seen()
        .iter()
        .map(|seen| seen.target().to_owned())
        .collect();
    assert_eq!(seen, ["GET /first", "GET /second"]);
}

#[tokio::test]
async fn silent_connections_make_room_the_longest_silent_first() {
    let upstream = Upstream::answering(OK).await;
    let mut config = config(upstream.url());
    config.limits.connections_max = 3;
    let gateway = start(config);
    let mut silent = gateway.connect().await;
    let mut slow = gateway.connect().await;
    slow.send("GET / HTTP/1.1\r\nHost: a\r\nX: ").await;
    let mut idle = gateway.connect().await;
    idle.send(get("/")).await;
    assert_eq!(idle.response().await.unwrap().status(), 200);
    for left in [&mut silent, &mut slow, &mut idle] {
        // Later in milliseconds, which is what silence is counted in.
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
        let mut fresh = gateway.connect().await;
        fresh.send(get("/")).await;
        assert_eq!(fresh.response().await.unwrap().status(), 200);
        assert!(left.is_closed().await);
        std::mem::forget(fresh);
    }
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let upstream = Upstream::answering(OK).await;
    let mut config = config(upstream.url());
    config.limits.header_bytes_max = 8 * 1024;
    config.limits.headers_max = 20;
    let gateway = start(config);
    let large = format!("X: {}\r\n", "x".repeat(9_000));
    for headers in [large, "X: 1\r\n".repeat(21)] {
        let request = format!("GET / HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
        assert_eq!(gateway.call(request).await.status(), 431);
    }
    let client = Client::connect(gateway.addr).await;
    let mut asked = request("GET", "/", "");
    asked
        .headers_mut()
        .insert("x", "x".repeat(9_000).parse().unwrap());
    let refused = client.call(asked).await;
    assert!(refused.is_err() || refused.unwrap().head.status == 431);
    assert_eq!(upstream.effects(), 0);
}
