//! Answers of the upstream at and beyond the edge of what HTTP allows.

use std::fmt::Write as _;

use tokio::sync::mpsc;

use crate::support::frames::{Act, Frames, head};
use crate::support::gateway::{get, post};
use crate::support::{Gate, OK, Running, Upstream, config, guarding, reply, start};

const SWITCHED: &str =
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n";

fn headers(count: usize) -> String {
    (0..count).fold(String::new(), |mut text, n| {
        write!(text, "X-{n}: {n}\r\n").unwrap();
        text
    })
}

/// The record is unknown, and the client heard a failure with this reason.
async fn is_unknown(gateway: &Running, why: &str) {
    let first = gateway.post("/pay", "k", "{}").await;
    assert_eq!(first.problem(), (502, "upstream-failed".to_owned()));
    assert!(first.text().contains(why), "{}", first.text());
    let next = gateway.post("/pay", "k", "{}").await;
    assert_eq!(next.problem(), (409, "outcome-unknown".to_owned()));
}

#[tokio::test]
async fn an_answer_with_many_headers_is_an_answer() {
    let upstream = Upstream::answering(reply("201 Created", &headers(250), "ok")).await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    for replayed in [false, true] {
        let response = gateway.post("/pay", "k", "{}").await;
        assert_eq!((response.status(), response.is_replay()), (201, replayed));
        assert_eq!(response.header("x-249"), Some("249"));
    }
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn an_http2_answer_with_a_large_head_is_an_answer() {
    let many: Vec<_> = (0..200)
        .map(|n| (format!("x-{n:03}"), "v".repeat(100)))
        .collect();
    let upstream = Frames::start(move |_, stream| Act::Send(head(stream, "201", &many))).await;
    let mut config = guarding(upstream.url(), |_| {});
    config.upstream.h2c = true;
    let gateway = start(config.clone());
    let response = gateway.post("/pay", "k", "{}").await;
    assert_eq!(response.status(), 201);
    assert_eq!(response.header("x-199").map(str::len), Some(100));
    // One that is still too large was processed: we refuse it, not the upstream.
    config.limits.response_header_bytes_max = 8 * 1024;
    is_unknown(&start(config), "").await;
}

#[tokio::test]
async fn an_answer_that_is_too_large_says_so() {
    let upstream = Upstream::answering(reply("201 Created", &headers(20), "ok")).await;
    let mut config = guarding(upstream.url(), |_| {});
    config.limits.response_headers_max = 10;
    is_unknown(&start(config), "head is too large").await;
    let large = format!("X: {}\r\n", "x".repeat(10_000));
    let upstream = Upstream::answering(reply("201 Created", &large, "ok")).await;
    let mut config = guarding(upstream.url(), |_| {});
    config.limits.response_header_bytes_max = 8 * 1024;
    is_unknown(&start(config), "head is too large").await;
}

#[tokio::test]
async fn a_switch_of_protocols_is_no_answer_to_a_guarded_request() {
    let (closed, mut closes) = mpsc::unbounded_channel();
    let upstream = Upstream::start(move |_request, mut peer| {
        let closed = closed.clone();
        async move {
            peer.send(SWITCHED).await;
            closed.send(peer.is_closed().await).unwrap();
            None
        }
    })
    .await;
    let gateway = start(guarding(upstream.url(), |_| {}));
    is_unknown(&gateway, "changed the protocol").await;
    assert!(closes.recv().await.unwrap(), "nothing goes through it");
    // Asking for it does not help: a guarded request never becomes a tunnel.
    let asking = post("/pay", "other", "{}").replace(
        "Host:",
        "Connection: upgrade\r\nUpgrade: websocket\r\nHost:",
    );
    assert_eq!(gateway.call(asking).await.problem().0, 502);
    assert!(closes.recv().await.unwrap());
    let passing = gateway.call(get("/")).await;
    assert_eq!(passing.problem(), (502, "upstream-failed".to_owned()));
    assert!(closes.recv().await.unwrap());
}

#[tokio::test]
async fn statuses_that_say_nothing_leave_the_outcome_unknown() {
    for status in ["600 Odd", "799 Odd", "999 Odd"] {
        // Even if the service calls it final.
        let answer = reply(status, "Semel-Outcome: final\r\n", "ok");
        let upstream = Upstream::answering(answer).await;
        let gateway = start(guarding(upstream.url(), |_| {}));
        is_unknown(&gateway, "expected a status of 200 to 599").await;
        assert_eq!(upstream.effects(), 1);
    }
}

#[tokio::test]
async fn informational_responses_are_not_answers() {
    let hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>; rel=preload\r\n\r\n";
    let answer = format!("HTTP/1.1 100 Continue\r\n\r\n{hints}HTTP/1.1 102 Processing\r\n\r\n{OK}");
    let h1 = Upstream::answering(answer).await;
    let h2 = Frames::start(|_, stream| {
        let link = [("link".to_owned(), "</a>; rel=preload".to_owned())];
        let frames = [
            head(stream, "103", &link),
            head(stream, "102", &[]),
            head(stream, "200", &[]),
        ];
        Act::Send(frames.concat())
    })
    .await;
    for (url, h2c) in [(h1.url(), false), (h2.url(), true)] {
        let mut config = guarding(url, |_| {});
        config.upstream.h2c = h2c;
        let gateway = start(config);
        for replayed in [false, true] {
            let response = gateway.post("/pay", "k", "{}").await;
            assert_eq!((response.status(), response.is_replay()), (200, replayed));
            assert_eq!(response.header("link"), None);
        }
        assert_eq!(gateway.call(get("/")).await.status(), 200);
    }
}

#[tokio::test]
async fn bytes_behind_an_answer_are_never_the_next_answer() {
    let smuggled = "HTTP/1.1 418 Teapot\r\nContent-Length: 5\r\n\r\nwrong";
    for answer in [
        format!("{OK}{smuggled}"),
        // A body where there can be none.
        format!("HTTP/1.1 204 No Content\r\n\r\n{smuggled}"),
        format!("HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n{smuggled}"),
    ] {
        let upstream = Upstream::answering(&*answer).await;
        let gateway = start(guarding(upstream.url(), |_| {}));
        for n in 0..5 {
            let guarded = gateway.post("/pay", &format!("k{n}"), "{}").await;
            let passed = gateway.call(get("/")).await;
            for response in [guarded, passed] {
                assert!(
                    matches!(response.status(), 200 | 204 | 304 | 502),
                    "{response:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn an_answer_that_comes_before_the_request_has_ended_counts() {
    let gate = Gate::closed();
    let script = gate.clone();
    let upstream = Upstream::raw(move |mut peer| {
        let gate = script.clone();
        async move {
            peer.head().await.unwrap();
            peer.send(reply("201 Created", "", "early")).await;
            // The rest of the request is never read.
            gate.pass().await;
        }
    })
    .await;
    let gateway = start(guarding(upstream.url(), |rules| {
        rules.request_bytes_max = 64 * 1024 * 1024;
    }));
    let body = "x".repeat(32 * 1024 * 1024);
    for replayed in [false, true] {
        let response = gateway.post("/pay", "k", &body).await;
        assert_eq!(
            (response.text().as_str(), response.is_replay()),
            ("early", replayed)
        );
    }
    gate.open();
    assert_eq!(upstream.connections(), 1);
}

#[tokio::test]
async fn a_pass_through_hands_on_any_status() {
    let upstream = Upstream::answering(reply("999 Odd", "", "ok")).await;
    let response = start(config(upstream.url())).call(get("/")).await;
    assert_eq!(response.status(), 999);
}
