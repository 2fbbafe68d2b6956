//! What the service's answers mean for the record.

use std::sync::Arc;

use axum::body::Bytes;
use axum::http::{Request, Response};
use http_body_util::BodyExt;
use semel_core::{MemoryStore, Once};
use semel_http::event::Nobody;
use semel_http::{Admission, Body, Failure, Guard, Profile, Rules, Upstream};

use crate::support::{Asked, Service};

#[tokio::test]
async fn statuses_are_kept_released_or_unknown() {
    let service = Service::start(|_| {}).await;
    for (status, again, effects) in [
        ("200", "replay", 1),
        ("404", "replay", 1),
        ("500", "replay", 1),
        ("429", "runs", 2),
        ("503", "outcome-unknown", 1),
        ("502", "outcome-unknown", 1),
        ("599", "outcome-unknown", 1),
    ] {
        let before = service.effects();
        let asked = Asked::pay(status, "").with("X-Status", status);
        let first = service.send(&asked).await;
        assert_eq!(first.status.to_string(), status);
        let second = service.send(&asked).await;
        let found = match second.is_replay() {
            true => "replay".to_owned(),
            false if second.status == first.status => "runs".to_owned(),
            false => second.problem(),
        };
        assert_eq!(
            (found.as_str(), service.effects() - before),
            (again, effects),
            "{status}"
        );
    }
}

#[tokio::test]
async fn a_503_that_asks_for_a_retry_runs_again_and_others_are_unknown() {
    let service = Service::start(|_| {}).await;
    let asked = Asked::pay("k", "")
        .with("X-Status", "503")
        .with("X-Retry-After", "1");
    for effects in [1, 2] {
        let answer = service.send(&asked).await;
        assert_eq!((answer.status, service.effects()), (503, effects));
    }
    // The header says nothing about an answer that is unknown in itself.
    let asked = Asked::pay("gateway", "")
        .with("X-Status", "502")
        .with("X-Retry-After", "1");
    service.send(&asked).await;
    let again = service.send(&asked).await;
    assert_eq!(
        (again.problem(), service.effects()),
        ("outcome-unknown".into(), 3)
    );
}

#[tokio::test]
async fn a_vendors_invitation_to_retry_counts_only_with_a_refusal() {
    for (profile, invitation) in [
        (Profile::Stripe, "stripe-should-retry"),
        (Profile::Adyen, "transient-error"),
    ] {
        for (status, runs_again) in [
            ("402", true),
            ("500", false),
            ("502", false),
            ("201", false),
        ] {
            let once = Once::new(MemoryStore::new());
            let guard = Guard::new(
                &once,
                profile.rules("payments@1".parse().unwrap()),
                Arc::new(Nobody),
            );
            let mut ran = 0;
            for _ in 0..2 {
                let request = Request::post("/pay").header("idempotency-key", "k");
                let request = request.body(Body::empty()).unwrap();
                let Admission::Guarded(admitted) = guard.admit(request, &[]).await else {
                    panic!("it has a key");
                };
                let response = admitted.run(Inviting { status, invitation }).await;
                let replayed = response.headers().contains_key("idempotent-replayed");
                ran += usize::from(response.status().as_str() == status && !replayed);
            }
            assert_eq!(ran == 2, runs_again, "{profile:?} {status}");
        }
    }
}

/// A service that answers so, and invites a retry.
struct Inviting {
    status: &'static str,
    invitation: &'static str,
}

impl Upstream for Inviting {
    type Body = Body;

    async fn call(self, _request: Request<Body>) -> Result<Response<Body>, Failure> {
        let response = Response::builder().status(self.status);
        let response = response.header(self.invitation, "true");
        Ok(response.body(Body::empty()).unwrap())
    }
}

#[tokio::test]
async fn the_service_may_decide_and_its_word_stays_inside() {
    let service = Service::start(|_| {}).await;
    for (status, word, replays) in [
        ("502", "final", true),
        ("201", "retryable", false),
        ("201", "nonsense", true),
    ] {
        let key = format!("{status}-{word}");
        let asked = Asked::pay(&key, "")
            .with("X-Status", status)
            .with("X-Outcome", word);
        let first = service.send(&asked).await;
        assert_eq!(first.all("semel-outcome"), [""; 0]);
        let second = service.send(&asked).await;
        assert_eq!(second.is_replay(), replays, "{key}");
        assert_eq!(second.all("semel-outcome"), [""; 0]);
    }
}

#[tokio::test]
async fn a_response_at_the_cap_is_kept_and_one_byte_more_is_not() {
    let service = Service::start(|rules| rules.response_bytes_max = 64 * 1024).await;
    let at = Asked::pay("at", "").with("X-Bytes", "65536");
    service.send(&at).await;
    let replay = service.send(&at).await;
    assert_eq!((replay.status, replay.body.len()), (201, 65_536));
    let above = Asked::pay("above", "").with("X-Bytes", "65537");
    let first = service.send(&above).await;
    assert_eq!(
        (first.status, first.body.matches('x').count()),
        (201, 65_537)
    );
    let replay = service.send(&above).await;
    assert_eq!(
        (replay.status, replay.problem()),
        (201, "body-not-kept".into())
    );
    assert!(
        replay.is_replay() && replay.body.contains("65537"),
        "{}",
        replay.body
    );
    assert_eq!(service.effects(), 2);
}

/// A service that answers at once.
struct AtOnce;

impl Upstream for AtOnce {
    type Body = Body;

    async fn call(self, _request: Request<Body>) -> Result<Response<Body>, Failure> {
        let response = Response::builder().status(201);
        Ok(response.body(Body::from(Bytes::from("too large"))).unwrap())
    }
}

/// On one thread and a store in memory, the beginning of the response and the end of its run come at
/// the same moment.
#[tokio::test]
async fn a_response_that_ends_as_soon_as_it_is_too_large_is_never_lost() {
    let once = Once::new(MemoryStore::new());
    let mut rules = Rules::new("payments@1".parse().unwrap());
    rules.response_bytes_max = 3;
    let guard = Guard::new(&once, rules, Arc::new(Nobody));
    for n in 0..100 {
        let request = Request::post("/pay").header("idempotency-key", n);
        let request = request.body(Body::empty()).unwrap();
        let Admission::Guarded(admitted) = guard.admit(request, &[]).await else {
            panic!("it has a key");
        };
        let response = admitted.run(AtOnce).await;
        assert_eq!(response.status(), 201, "{n}");
        let body = response.into_body().collect().await.unwrap();
        assert_eq!(body.to_bytes(), "too large", "{n}");
    }
}

#[tokio::test]
async fn what_must_not_be_stored_is_not() {
    let service = Service::start(|_| {}).await;
    let asked = Asked::pay("k", "secret").with("X-Outcome", "no-store");
    let first = service.send(&asked).await;
    assert_eq!(first.body, "effect 1 of secret");
    let again = service.send(&asked).await;
    assert_eq!(
        (again.status, again.problem()),
        (201, "body-not-kept".into())
    );
    assert!(again.is_replay() && !again.body.contains("secret"));
    assert_eq!(service.effects(), 1);
}

#[tokio::test]
async fn a_profile_speaks_its_vendors_language() {
    let service = Service::start(|rules| {
        *rules = Profile::Stripe.rules(rules.scope.clone());
        rules.tell_expiry = true;
    })
    .await;
    let first = service.pay("k", "1").await;
    let again = service.pay("k", "1").await;
    let reused = service.pay("k", "2").await;
    assert_eq!(first.all("idempotency-key"), ["k"]);
    assert_eq!(first.all("idempotency-expires").len(), 1);
    assert_eq!(again.all("idempotency-expires").len(), 1);
    assert_eq!(
        (reused.status, reused.problem()),
        (400, "key-reused".into())
    );
    assert!(reused.body.contains("idempotency_error"), "{}", reused.body);
}
