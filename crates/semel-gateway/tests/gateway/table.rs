//! First requests, replays and mistakes: what a guarded route promises.

use semel_gateway::Route;
use semel_http::rules::Mode;

use crate::support::gateway::post;
use crate::support::upstream::Nowhere;
use crate::support::{OK, Upstream, config, guarding, reply, start};

#[tokio::test]
async fn a_first_request_runs_and_a_second_is_replayed_with_everything() {
    let headers =
        "Location: /orders/7\r\nX-Tag: a\r\nX-Tag: b\r\nContent-Type: application/json\r\n";
    let upstream = Upstream::answering(reply("201 Created", headers, "{\"id\":7}")).await;
    let gateway = start(config(upstream.url()));
    let first = gateway.post("/orders", "k", "{}").await;
    let second = gateway.post("/orders", "k", "{}").await;
    assert_eq!((first.is_replay(), second.is_replay()), (false, true));
    for response in [first, second] {
        assert_eq!(response.start, "HTTP/1.1 201 Created");
        assert_eq!(response.header("location"), Some("/orders/7"));
        assert_eq!(response.all("x-tag"), ["a", "b"]);
        assert_eq!(response.text(), "{\"id\":7}");
        assert_eq!(response.header("content-length"), Some("8"));
    }
    let request = upstream.only();
    assert_eq!(request.header("semel-attempt"), Some("1"));
    assert!(
        request
            .header("semel-fence")
            .unwrap()
            .parse::<u64>()
            .unwrap()
            > 0
    );
    assert_eq!(request.header("idempotency-key"), Some("k"));
    assert_eq!(request.header("x-forwarded-for"), Some("127.0.0.1"));
}

#[tokio::test]
async fn what_is_final_is_replayed_and_what_is_not_runs_again() {
    for (status, is_final) in [
        ("200 OK", true),
        ("302 Found", true),
        ("404 Not Found", true),
        ("500 Internal Server Error", true),
        ("401 Unauthorized", false),
        ("429 Too Many Requests", false),
    ] {
        let upstream = Upstream::answering(reply(status, "", "")).await;
        let gateway = start(config(upstream.url()));
        for _ in 0..2 {
            let response = gateway.post("/", "k", "{}").await;
            assert_eq!(response.start, format!("HTTP/1.1 {status}"));
        }
        assert_eq!(upstream.effects(), if is_final { 1 } else { 2 }, "{status}");
    }
}

#[tokio::test]
async fn a_bad_gateway_behind_the_gateway_leaves_the_outcome_unknown() {
    for status in [
        "502 Bad Gateway",
        "503 Service Unavailable",
        "504 Gateway Timeout",
        "507 Insufficient Storage",
    ] {
        let upstream = Upstream::answering(reply(status, "", "")).await;
        let gateway = start(config(upstream.url()));
        let first = gateway.post("/", "k", "{}").await;
        assert_eq!(first.start, format!("HTTP/1.1 {status}"));
        let second = gateway.post("/", "k", "{}").await;
        assert_eq!(second.problem(), (409, "outcome-unknown".to_owned()));
        assert_eq!(upstream.effects(), 1, "{status}");
    }
}

#[tokio::test]
async fn the_service_has_the_last_word_and_clients_do_not_hear_it() {
    for (word, effects) in [("final", 1), ("retryable", 2), ("no-store", 1)] {
        let headers = format!("Semel-Outcome: {word}\r\n");
        let upstream = Upstream::answering(reply("503 Busy", &headers, "x")).await;
        let gateway = start(config(upstream.url()));
        for _ in 0..2 {
            let response = gateway.post("/", "k", "{}").await;
            assert_eq!(response.header("semel-outcome"), None);
            assert_eq!(response.status(), 503);
        }
        assert_eq!(upstream.effects(), effects, "{word}");
    }
}

#[tokio::test]
async fn another_request_with_the_same_key_is_refused() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    gateway.post("/pay", "k", "{\"amount\":1}").await;
    for (path, body) in [
        ("/pay", "{\"amount\":2}"),
        ("/other", "{\"amount\":1}"),
        ("/pay?x=1", "{\"amount\":1}"),
    ] {
        let response = gateway.post(path, "k", body).await;
        assert_eq!(
            response.problem(),
            (422, "key-reused".to_owned()),
            "{path} {body}"
        );
    }
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn the_same_request_written_differently_is_the_same() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    gateway
        .post("/pay?a=1&b=2", "k", "{\"a\":1,\"b\":[1,2]}")
        .await;
    let again = gateway
        .post("/pay?b=2&a=1", "\"k\"", "{ \"b\": [1, 2], \"a\": 1 }")
        .await;
    assert!(again.is_replay(), "{again:?}");
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn two_callers_with_one_key_are_two_operations() {
    let upstream = Upstream::start(|request, mut peer| async move {
        let who = request
            .header("authorization")
            .unwrap_or("nobody")
            .to_owned();
        peer.send(reply("200 OK", "", &who)).await;
        Some(peer)
    })
    .await;
    let gateway = start(config(upstream.url()));
    for replayed in [false, true] {
        for who in ["Bearer a", "Bearer b", "nobody"] {
            let mut request = post("/pay", "k", "{}");
            if who != "nobody" {
                request = request.replace("\r\n\r\n", &format!("\r\nAuthorization: {who}\r\n\r\n"));
            }
            let response = gateway.call(request).await;
            assert_eq!(
                (response.text().as_str(), response.is_replay()),
                (who, replayed)
            );
        }
    }
    assert_eq!(upstream.effects(), 3);
}

#[tokio::test]
async fn only_the_methods_of_a_route_are_guarded() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(config(upstream.url()));
    for (method, effects) in [
        ("POST", 1),
        ("PATCH", 1),
        ("PUT", 2),
        ("DELETE", 2),
        ("GET", 2),
    ] {
        let before = upstream.effects();
        for _ in 0..2 {
            let request = format!(
                "{method} /x HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nContent-Length: 0\r\n\r\n"
            );
            assert_eq!(gateway.call(request).await.status(), 200);
        }
        assert_eq!(upstream.effects() - before, effects, "{method}");
    }
}

#[tokio::test]
async fn a_path_is_guarded_however_it_is_written() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), |rules| {
        rules.missing = semel_http::rules::Missing::Require;
    }));
    for path in ["/pay", "//pay", "/%70ay", "/p%61y?x=1"] {
        let request = format!("POST {path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n");
        let response = gateway.call(request).await;
        assert_eq!(
            response.problem(),
            (400, "key-missing".to_owned()),
            "{path}"
        );
    }
    assert_eq!(upstream.effects(), 0);
}

#[tokio::test]
async fn an_upstream_that_is_not_reached_leaves_nothing_behind() {
    let upstream = Upstream::answering(OK).await;
    let nowhere = Nowhere::new();
    let mut config = config(&nowhere.url);
    let gateway = start(config.clone());
    for _ in 0..2 {
        let response = gateway.post("/pay", "k", "{}").await;
        assert_eq!(response.problem(), (502, "upstream-unreachable".to_owned()));
    }
    config.upstream.url = upstream.url().parse().unwrap();
    gateway.handle.reload(&config).unwrap();
    let response = gateway.post("/pay", "k", "{}").await;
    assert_eq!((response.status(), response.is_replay()), (200, false));
    assert_eq!(upstream.only().header("semel-attempt"), Some("1"));
}

#[tokio::test]
async fn an_observed_route_lets_everything_through() {
    let upstream = Upstream::answering(OK).await;
    let mut config = config(upstream.url());
    config.routes = Route::catch_all();
    for route in &mut config.routes {
        route.rules.mode = Mode::Observe;
    }
    let gateway = start(config);
    for _ in 0..3 {
        let response = gateway.post("/pay", "k", "{}").await;
        assert_eq!((response.status(), response.is_replay()), (200, false));
    }
    assert_eq!(upstream.effects(), 3);
    assert!(
        upstream
            .seen()
            .iter()
            .all(|seen| seen.header("semel-fence").is_none())
    );
}
