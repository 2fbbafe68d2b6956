//! Requests that were never handed to the upstream, or that it refused to process, are released.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use semel_gateway::Config;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::support::frames::{Act, Frames, go_away, head, reset};
use crate::support::gateway::get;
use crate::support::tls::Certificate;
use crate::support::{Gate, PATIENCE, config, guarding, start, until};

const SHORT: Duration = Duration::from_millis(100);

const REFUSED_STREAM: u32 = 7;

fn unreachable() -> (u16, String) {
    (502, "upstream-unreachable".to_owned())
}

/// In front of an HTTP/2 service without TLS.
fn h2c(url: &str) -> Config {
    let mut config = guarding(url, |_| {});
    config.upstream.h2c = true;
    config
}

#[tokio::test]
async fn a_timer_that_ends_before_there_is_a_connection_releases() {
    // Accepts, and never shakes hands.
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let mut config = guarding(url, |rules| rules.timeout = SHORT);
    config.timeouts.connect = PATIENCE;
    config.timeouts.response_head = SHORT;
    config.upstream.ca = Some(Certificate::new().keep());
    let gateway = start(config);
    for _ in 0..2 {
        assert_eq!(
            gateway.post("/pay", "k", "{}").await.problem(),
            unreachable()
        );
    }
    assert_eq!(gateway.call(get("/")).await.problem(), unreachable());
}

/// A service that takes one request at a time on each connection, and answers when the gate opens.
async fn narrow(gate: Gate) -> (String, watch::Receiver<usize>, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (arrived, arrivals) = watch::channel(0);
    let connections = Arc::<AtomicUsize>::default();
    let counted = connections.clone();
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            counted.fetch_add(1, Ordering::SeqCst);
            let (gate, arrived) = (gate.clone(), arrived.clone());
            let service = service_fn(move |_request| {
                let (gate, arrived) = (gate.clone(), arrived.clone());
                async move {
                    arrived.send_modify(|arrived| *arrived += 1);
                    gate.pass().await;
                    Ok::<_, std::convert::Infallible>(Response::new(Full::<Bytes>::from("ok")))
                }
            });
            tokio::spawn(
                http2::Builder::new(TokioExecutor::new())
                    .max_concurrent_streams(1)
                    .serve_connection(TokioIo::new(tcp), service),
            );
        }
    });
    (url, arrivals, connections)
}

#[tokio::test]
async fn a_full_http2_connection_is_joined_by_another() {
    let gate = Gate::closed();
    let (url, mut arrivals, connections) = narrow(gate.clone()).await;
    let gateway = Arc::new(start(h2c(&url)));
    let call = |n: usize| {
        let gateway = gateway.clone();
        tokio::spawn(async move { gateway.post("/pay", &format!("k{n}"), "{}").await })
    };
    let calls: Vec<_> = (0..4).map(call).collect();
    let all = arrivals.wait_for(|arrived| *arrived == 4);
    tokio::time::timeout(PATIENCE, all)
        .await
        .expect("all at once")
        .unwrap();
    gate.open();
    for call in calls {
        assert_eq!(call.await.unwrap().status(), 200);
    }
    assert_eq!(connections.load(Ordering::SeqCst), 4);
}

#[tokio::test]
async fn a_request_that_finds_all_connections_full_is_not_handed_over() {
    let gate = Gate::closed();
    let (url, mut arrivals, connections) = narrow(gate.clone()).await;
    let mut config = h2c(&url);
    config.limits.http2_connections_max = 2;
    config.timeouts.connect = Duration::from_secs(1);
    let gateway = Arc::new(start(config));
    let call = |n: usize| {
        let gateway = gateway.clone();
        tokio::spawn(async move { gateway.post("/pay", &format!("k{n}"), "{}").await })
    };
    let calls: Vec<_> = (0..2).map(call).collect();
    arrivals.wait_for(|arrived| *arrived == 2).await.unwrap();
    assert_eq!(
        gateway.post("/pay", "k", "{}").await.problem(),
        unreachable()
    );
    // One that waits gets the place that another leaves.
    let waiting = call(9);
    until(|| gateway.handle.load().in_flight == 3).await;
    gate.open();
    assert_eq!(waiting.await.unwrap().status(), 200);
    for call in calls {
        assert_eq!(call.await.unwrap().status(), 200);
    }
    let again = gateway.post("/pay", "k", "{}").await;
    assert_eq!((again.status(), again.is_replay()), (200, false));
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_refused_request_is_sent_once_more() {
    // Whatever of its body was sent: the second one does not fit into the window.
    for body in ["{}".to_owned(), "x".repeat(500_000)] {
        let refusals: [fn(u32) -> Vec<u8>; 2] = [
            |stream| reset(stream, REFUSED_STREAM),
            |stream| go_away(stream - 1, 0),
        ];
        for refuse in refusals {
            let upstream = Frames::start(move |n, stream| match n {
                0 => Act::Send(refuse(stream)),
                _ => Act::Send(head(stream, "200", &[])),
            })
            .await;
            let gateway = start(h2c(&upstream.url()));
            let first = gateway.post("/pay", "k", &body).await;
            assert_eq!(
                (first.status(), first.is_replay()),
                (200, false),
                "{first:?}"
            );
            assert!(gateway.post("/pay", "k", &body).await.is_replay());
        }
    }
}

#[tokio::test]
async fn a_request_that_is_refused_again_is_released() {
    let upstream = Frames::start(|n, stream| match n {
        0..4 => Act::Send(reset(stream, REFUSED_STREAM)),
        _ => Act::Send(head(stream, "200", &[])),
    })
    .await;
    let gateway = start(h2c(&upstream.url()));
    for _ in 0..2 {
        assert_eq!(
            gateway.post("/pay", "k", "{}").await.problem(),
            unreachable()
        );
    }
    let last = gateway.post("/pay", "k", "{}").await;
    assert_eq!((last.status(), last.is_replay()), (200, false));
}

#[tokio::test]
async fn what_the_upstream_may_have_processed_stays_unknown() {
    let endings: [fn(u32) -> Act; 5] = [
        // INTERNAL_ERROR, CANCEL, ENHANCE_YOUR_CALM: said after it may have begun.
        |stream| Act::Send(reset(stream, 2)),
        |stream| Act::Send(reset(stream, 8)),
        |stream| Act::Send(reset(stream, 11)),
        // The connection goes away, and this stream was still accepted.
        |stream| Act::Close(go_away(stream, 0)),
        |_| Act::Close(Vec::new()),
    ];
    for (at, end) in endings.into_iter().enumerate() {
        let asked = Arc::<AtomicUsize>::default();
        let counted = asked.clone();
        let upstream = Frames::start(move |_, stream| {
            counted.fetch_add(1, Ordering::SeqCst);
            end(stream)
        })
        .await;
        let gateway = start(h2c(&upstream.url()));
        let first = gateway.post("/pay", "k", "{}").await;
        assert_eq!(first.problem(), (502, "upstream-failed".to_owned()), "{at}");
        let next = gateway.post("/pay", "k", "{}").await;
        assert_eq!(next.problem(), (409, "outcome-unknown".to_owned()), "{at}");
        assert_eq!(asked.load(Ordering::SeqCst), 1, "{at}");
    }
}

#[tokio::test]
async fn a_request_that_passes_is_sent_once_more_too() {
    let upstream = Frames::start(|n, stream| match n {
        0 => Act::Send(reset(stream, REFUSED_STREAM)),
        _ => Act::Send(head(stream, "204", &[])),
    })
    .await;
    let mut config = config(upstream.url());
    config.upstream.h2c = true;
    assert_eq!(start(config).call(get("/")).await.status(), 204);
    assert_eq!(upstream.connections.load(Ordering::SeqCst), 1);
}
