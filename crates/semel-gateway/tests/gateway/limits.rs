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
async fn connections_above_the_limit_wait_for_one_to_end() {
    let upstream = Upstream::answering(OK).await;
    let mut config = config(upstream.url());
    config.limits.connections_max = 1;
    let gateway = start(config);
    let mut first = gateway.connect().await;
    first.send(get("/first/1")).await;
    first.response().await.unwrap();
    let mut second = gateway.connect().await;
    second.send(get("/second")).await;
    first.send(get("/first/2")).await;
    first.response().await.unwrap();
    drop(first);
    assert_eq!(second.response().await.unwrap().status(), 200);
    let seen: Vec<_> = upstream
        .seen()
        .iter()
        .map(|seen| seen.target().to_owned())
        .collect();
    assert_eq!(seen, ["GET /first/1", "GET /first/2", "GET /second"]);
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
