//! Callers fetch outcomes by key, with the credentials of their tenant.

use std::time::Duration;

use http::HeaderName;
use semel_http::outcomes::Place;
use semel_http::rules::{Busy, BusyStatus};
use semel_http::tenant;

use crate::support::message::Message;
use crate::support::{Gate, OK, Running, Upstream, guarding, start, until};

const AT_ONCE: Busy = Busy {
    wait: Duration::ZERO,
    status: BusyStatus::Accepted,
};

fn by_bearer(rules: &mut semel_http::Rules) {
    rules.in_progress = AT_ONCE;
    rules.tenant = tenant::Source::Bearer;
}

/// A gateway whose upstream answers when the gate opens.
async fn running(change: impl FnOnce(&mut semel_http::Rules)) -> (Gate, Upstream, Running) {
    running_within(change, None).await
}

/// The same where so many may wait.
async fn running_within(
    change: impl FnOnce(&mut semel_http::Rules),
    waiting_max: Option<usize>,
) -> (Gate, Upstream, Running) {
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
    let mut config = guarding(upstream.url(), change);
    config.limits.waiting_max = waiting_max;
    let gateway = start(config);
    (gate, upstream, gateway)
}

fn pay(token: &str) -> String {
    format!(
        "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\nAuthorization: Bearer {token}\r\nContent-Length: 2\r\n\r\n{{}}"
    )
}

async fn ask(gateway: &Running, method: &str, target: &str, headers: &str) -> Message {
    let request = format!("{method} {target} HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
    let mut peer = gateway.connect().await;
    peer.send(request).await;
    match method {
        "HEAD" => peer.head().await.unwrap(),
        _ => peer.response().await.unwrap(),
    }
}

async fn get(gateway: &Running, target: &str, token: &str) -> Message {
    ask(
        gateway,
        "GET",
        target,
        &format!("Authorization: Bearer {token}\r\n"),
    )
    .await
}

/// The first request runs, a second one got 202: its location.
async fn accepted(gateway: &Running, upstream: &Upstream) -> (crate::support::Peer, String) {
    let mut first = gateway.connect().await;
    first.send(pay("secret")).await;
    upstream.arrived(1).await;
    let mut second = gateway.connect().await;
    second.send(pay("secret")).await;
    let accepted = second.response().await.unwrap();
    assert_eq!(accepted.problem(), (202, "in-progress".to_owned()));
    assert!(accepted.header("retry-after").is_some());
    let location = accepted.header("location").unwrap().to_owned();
    (first, location)
}

#[tokio::test]
async fn a_202_leads_to_the_outcome_which_is_replayed_verbatim() {
    let (gate, upstream, gateway) = running(by_bearer).await;
    let (mut first, location) = accepted(&gateway, &upstream).await;
    assert!(
        location.starts_with("/.semel/outcomes?scope=POST%20%2Fpay%401&key=k&fingerprint="),
        "{location}"
    );
    let looked = get(&gateway, &location, "secret").await;
    assert_eq!(looked.problem(), (202, "in-progress".to_owned()));
    assert_eq!(looked.header("location"), Some(location.as_str()));
    assert!(looked.header("retry-after").is_some());
    assert_eq!(looked.header("cache-control"), Some("no-store"));
    gate.open();
    let ran = first.response().await.unwrap();
    let fetched = get(&gateway, &location, "secret").await;
    assert_eq!(
        (fetched.status(), fetched.text()),
        (ran.status(), ran.text())
    );
    assert!(fetched.is_replay());
    let head = ask(
        &gateway,
        "HEAD",
        &location,
        "Authorization: Bearer secret\r\n",
    )
    .await;
    assert_eq!((head.status(), head.is_replay()), (200, true));
    // With a secret as credential the key is enough.
    let by_key = get(&gateway, "/.semel/outcomes?scope=POST+/pay&key=k", "secret").await;
    assert!(by_key.is_replay());
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn absent_and_another_tenants_look_the_same() {
    let (gate, upstream, gateway) = running(by_bearer).await;
    let (mut first, location) = accepted(&gateway, &upstream).await;
    let absent = location.replace("key=k", "key=other");
    let elsewhere = location.replace("pay%401", "pay%402");
    for settled in [false, true] {
        let answers = [
            get(&gateway, &location, "another-secret").await,
            get(&gateway, &absent, "secret").await,
            get(&gateway, &elsewhere, "secret").await,
        ];
        for answer in &answers {
            assert_eq!(answer.problem(), (404, "not-found".to_owned()), "{settled}");
            assert_eq!(answer.text(), answers[0].text());
        }
        let anonymous = ask(&gateway, "GET", &location, "").await;
        assert_eq!(anonymous.problem(), (401, "tenant-missing".to_owned()));
        if !settled {
            gate.open();
            first.response().await.unwrap();
        }
    }
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn a_caller_without_a_secret_must_know_what_was_asked() {
    for source in [
        tenant::Source::Public,
        tenant::Source::Header(HeaderName::from_static("x-tenant")),
    ] {
        let upstream = Upstream::answering(OK).await;
        let gateway = start(guarding(upstream.url(), |rules| rules.tenant = source));
        let mut peer = gateway.connect().await;
        let tenant = "X-Tenant: acme\r\n";
        peer.send(format!(
            "POST /pay HTTP/1.1\r\nHost: a\r\nIdempotency-Key: k\r\n{tenant}Content-Length: 2\r\n\r\n{{}}"
        ))
        .await;
        assert_eq!(peer.response().await.unwrap().status(), 200);
        let target = "/.semel/outcomes?scope=POST%20/pay&key=k";
        let by_key = ask(&gateway, "GET", target, tenant).await;
        assert_eq!(by_key.problem().0, 404);
        let wrong = format!("{target}&fingerprint={}", "0".repeat(64));
        assert_eq!(ask(&gateway, "GET", &wrong, tenant).await.problem().0, 404);
    }
}

#[tokio::test]
async fn a_long_poll_is_answered_when_the_run_ends() {
    let (gate, upstream, gateway) = running(by_bearer).await;
    let (mut first, location) = accepted(&gateway, &upstream).await;
    let mut waiting = gateway.connect().await;
    waiting
        .send(format!(
            "GET {location} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\nPrefer: wait=60\r\n\r\n"
        ))
        .await;
    let budgets = gateway.handle.budgets();
    let used = |name: &str| {
        let all = budgets.all();
        let (_, budget) = all.iter().find(|(one, _)| *one == name).unwrap();
        budget.used()
    };
    // It waits in a place for those who wait, and has none among the runs.
    until(|| used("waiting") == 1).await;
    assert_eq!(used("runs"), 1);
    gate.open();
    let answer = waiting.response().await.unwrap();
    assert!(answer.is_replay());
    assert_eq!(answer.header("preference-applied"), Some("wait=30"));
    first.response().await.unwrap();
    until(|| used("waiting") == 0).await;
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn where_no_place_is_free_a_long_poll_is_answered_at_once() {
    let (gate, upstream, gateway) = running_within(by_bearer, Some(1)).await;
    let (mut first, location) = accepted(&gateway, &upstream).await;
    let headers = "Authorization: Bearer secret\r\nPrefer: wait=30\r\n";
    let mut waiting = gateway.connect().await;
    let request = format!("GET {location} HTTP/1.1\r\nHost: a\r\n{headers}\r\n");
    waiting.send(request).await;
    let places = gateway.handle.budgets().all();
    let (_, places) = places.iter().find(|(name, _)| *name == "waiting").unwrap();
    until(|| places.used() == 1).await;
    let answer = ask(&gateway, "GET", &location, headers).await;
    assert_eq!(answer.problem(), (202, "in-progress".to_owned()));
    gate.open();
    assert!(waiting.response().await.unwrap().is_replay());
    first.response().await.unwrap();
}

#[tokio::test]
async fn an_unknown_outcome_says_so_and_nothing_runs() {
    let upstream = Upstream::start(|_request, _peer| async { None }).await;
    let gateway = start(guarding(upstream.url(), by_bearer));
    let mut first = gateway.connect().await;
    first.send(pay("secret")).await;
    assert_eq!(first.response().await.unwrap().status(), 502);
    let target = "/.semel/outcomes?scope=POST%20/pay&key=k";
    for _ in 0..2 {
        let answer = get(&gateway, target, "secret").await;
        assert_eq!(answer.problem(), (409, "outcome-unknown".to_owned()));
    }
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn only_looking_is_allowed_and_only_what_can_be_read() {
    let upstream = Upstream::answering(OK).await;
    let gateway = start(guarding(upstream.url(), by_bearer));
    let target = "/.semel/outcomes?scope=POST%20/pay&key=k";
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let answer = ask(&gateway, method, target, "Content-Length: 0\r\n").await;
        assert_eq!(answer.problem(), (405, "method-not-allowed".to_owned()));
        assert_eq!(answer.header("allow"), Some("GET, HEAD"));
    }
    for query in [
        "",
        "?scope=a",
        "?scope=a&key=b&key=c",
        "?scope=a&key=b&tenant=c",
    ] {
        let answer = get(&gateway, &format!("/.semel/outcomes{query}"), "secret").await;
        assert_eq!(
            answer.problem(),
            (400, "invalid-input".to_owned()),
            "{query}"
        );
    }
    // None of it reached the service; another spelling is the service's own.
    assert_eq!(upstream.effects(), 0);
    assert_eq!(
        get(&gateway, "/.semel/outcomes/", "secret").await.status(),
        200
    );
    assert_eq!(upstream.effects(), 1);
}

#[tokio::test]
async fn the_place_can_be_moved_and_switched_off() {
    let upstream = Upstream::answering(OK).await;
    let mut config = guarding(upstream.url(), by_bearer);
    config.outcomes = Some(Place::new("/status").unwrap());
    let moved = start(config.clone());
    let target = "?scope=POST%20/pay&key=k";
    let at = |path: &str| format!("{path}{target}");
    assert_eq!(get(&moved, &at("/status"), "secret").await.problem().0, 404);
    assert_eq!(
        get(&moved, &at("/.semel/outcomes"), "secret")
            .await
            .status(),
        200
    );
    config.outcomes = None;
    let off = start(config);
    assert_eq!(get(&off, &at("/status"), "secret").await.status(), 200);
    assert_eq!(upstream.effects(), 2);
}
