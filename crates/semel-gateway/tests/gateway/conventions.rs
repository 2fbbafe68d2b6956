//! Profiles of protocols and vendors, over sockets: what their clients see, and what runs again.

use semel_http::rules::Unknown;
use semel_http::{Profile, Rules};
use serde_json::Value;

use crate::support::{Gate, OK, Upstream, guarding, reply, start};

fn of(profile: Profile) -> impl FnOnce(&mut Rules) {
    move |rules| *rules = profile.rules(rules.scope.clone())
}

fn post(key: &str, request: &str, body: &str) -> String {
    let len = body.len();
    format!(
        "POST /pay HTTP/1.1\r\nHost: shop.example\r\nContent-Type: application/json\r\n{key}{request}Content-Length: {len}\r\n\r\n{body}"
    )
}

const KEY: &str = "Idempotency-Key: k\r\n";

#[tokio::test]
async fn acp_refuses_in_the_protocols_words_and_repeats_what_it_was_asked_with() {
    let upstream = Upstream::answering(reply("201 Created", "Request-Id: theirs\r\n", "{}")).await;
    let gateway = start(guarding(upstream.url(), of(Profile::Acp)));
    let missing = gateway.call(post("", "Request-Id: r-0\r\n", "{}")).await;
    let body: Value = serde_json::from_slice(&missing.body).unwrap();
    assert_eq!(missing.status(), 400);
    assert_eq!(missing.header("content-type"), Some("application/json"));
    assert_eq!(missing.header("request-id"), Some("r-0"));
    assert_eq!(
        (&body["type"], &body["code"]),
        (
            &"invalid_request".into(),
            &"idempotency_key_required".into()
        )
    );
    for (id, is_replay) in [("r-1", false), ("r-2", true)] {
        let answer = gateway
            .call(post(KEY, &format!("Request-Id: {id}\r\n"), "{}"))
            .await;
        assert_eq!((answer.status(), answer.is_replay()), (201, is_replay));
        assert_eq!(answer.header("request-id"), Some(id));
        assert_eq!(answer.header("idempotency-key"), Some("k"));
    }
    // Without an id of its own a replay has none, and not the first one's.
    assert_eq!(
        gateway.call(post(KEY, "", "{}")).await.header("request-id"),
        None
    );
    let reused = gateway
        .call(post(KEY, "Request-Id: r-3\r\n", "{\"a\":1}"))
        .await;
    let body: Value = serde_json::from_slice(&reused.body).unwrap();
    assert_eq!(
        (reused.status(), &body["code"]),
        (422, &"idempotency_conflict".into())
    );
    assert_eq!(reused.header("idempotency-key"), Some("k"));
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn acp_says_that_the_first_request_is_in_flight() {
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
    let gateway = start(guarding(upstream.url(), |rules| {
        *rules = Profile::Acp.rules(rules.scope.clone());
        rules.in_progress.wait = std::time::Duration::ZERO;
    }));
    let mut first = gateway.connect().await;
    first.send(post(KEY, "", "{}")).await;
    upstream.arrived(1).await;
    let second = gateway.call(post(KEY, "", "{}")).await;
    let body: Value = serde_json::from_slice(&second.body).unwrap();
    assert_eq!(
        (second.status(), &body["code"]),
        (409, &"idempotency_in_flight".into())
    );
    assert_eq!(second.header("retry-after"), Some("1"));
    gate.open();
    assert_eq!(first.response().await.unwrap().status(), 200);
}

#[tokio::test]
async fn acp_keeps_no_server_error_and_runs_it_again_only_where_the_route_says_so() {
    let failing = || Upstream::answering(reply("500 Internal Server Error", "", "{}"));
    let held = failing().await;
    let gateway = start(guarding(held.url(), of(Profile::Acp)));
    gateway.call(post(KEY, "", "{}")).await;
    let again = gateway.call(post(KEY, "", "{}")).await;
    let body: Value = serde_json::from_slice(&again.body).unwrap();
    assert_eq!(
        (again.status(), &body["type"]),
        (409, &"processing_error".into())
    );
    assert_eq!(held.effects(), 1);
    let resuming = failing().await;
    let gateway = start(guarding(resuming.url(), |rules| {
        *rules = Profile::Acp.rules(rules.scope.clone());
        rules.unknown = Unknown::Rerun;
    }));
    for _ in 0..2 {
        assert_eq!(gateway.call(post(KEY, "", "{}")).await.status(), 500);
    }
    assert_eq!(resuming.effects(), 2);
}

#[tokio::test]
async fn stripe_v2_replays_successes_and_tries_again_what_failed() {
    for (status, headers, effects, second) in [
        ("200 OK", "", 1, 200),
        ("402 Payment Required", "", 2, 402),
        ("409 Conflict", "", 2, 409),
        ("422 Unprocessable Entity", "", 2, 422),
        ("503 Service Unavailable", "Retry-After: 1\r\n", 2, 503),
        // It may have happened: the route's policy decides, and holds it.
        ("500 Internal Server Error", "", 1, 409),
        ("502 Bad Gateway", "", 1, 409),
    ] {
        let upstream = Upstream::answering(reply(status, headers, "{}")).await;
        let gateway = start(guarding(upstream.url(), of(Profile::StripeV2)));
        gateway.call(post(KEY, "", "{}")).await;
        let again = gateway.call(post(KEY, "", "{}")).await;
        assert_eq!(again.status(), second, "{status}");
        assert_eq!(upstream.effects(), effects, "{status}");
    }
}

#[tokio::test]
async fn stripe_v2_tries_an_unknown_outcome_to_completion_where_the_route_says_so() {
    let count = std::sync::atomic::AtomicUsize::new(0);
    let upstream = Upstream::start(move |_request, mut peer| {
        let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async move {
            let status = ["500 Internal Server Error", "400 Bad Request", "200 OK"];
            peer.send(reply(status[number.min(2)], "", "{}")).await;
            Some(peer)
        }
    })
    .await;
    let gateway = start(guarding(upstream.url(), |rules| {
        *rules = Profile::StripeV2.rules(rules.scope.clone());
        rules.unknown = Unknown::Rerun;
    }));
    for (status, is_replay) in [(500, false), (400, false), (200, false), (200, true)] {
        let answer = gateway.call(post(KEY, "", "{}")).await;
        assert_eq!((answer.status(), answer.is_replay()), (status, is_replay));
    }
    assert_eq!(upstream.effects(), 3);
}
