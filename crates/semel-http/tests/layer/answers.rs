//! The rows of the table of answers.

use std::time::Duration;

use semel_http::rules::{Busy, BusyStatus, Missing};
use semel_http::tenant;

use crate::support::{Asked, Service};

#[tokio::test]
async fn a_duplicate_gets_the_same_answer_and_nothing_runs_again() {
    let service = Service::start(|_| {}).await;
    let first = service.pay("k", "42").await;
    let again = service.pay("\"k\"", "42").await;
    assert_eq!((first.status, first.body.as_str()), (201, "effect 1 of 42"));
    assert_eq!((again.status, &again.body), (201, &first.body));
    assert!(!first.is_replay() && again.is_replay());
    assert_eq!(first.all("x-repeated"), ["a=1", "b=2"]);
    assert_eq!(again.all("x-repeated"), ["a=1", "b=2"]);
    assert_eq!(again.all("content-type"), first.all("content-type"));
    assert_eq!(service.effects(), 1);
}

#[tokio::test]
async fn cookies_are_replayed_only_where_asked() {
    for cookies in [false, true] {
        let service = Service::start(|rules| rules.replay_cookies = cookies).await;
        let first = service.pay("k", "").await;
        let again = service.pay("k", "").await;
        assert_eq!(first.all("set-cookie"), ["a=1", "b=2"]);
        let expected: &[&str] = if cookies { &["a=1", "b=2"] } else { &[] };
        assert_eq!(again.all("set-cookie"), expected);
    }
}

#[tokio::test]
async fn another_request_with_the_key_is_refused() {
    let service = Service::start(|_| {}).await;
    service.pay("k", r#"{"a":1,"b":2}"#).await;
    let reordered = service.pay("k", r#"{"b":2,"a":1}"#).await;
    assert!(reordered.is_replay());
    let other_body = service.pay("k", r#"{"a":1,"b":3}"#).await;
    let other_path = service
        .send(&Asked::pay("k", r#"{"a":1,"b":2}"#).at("/pay?x=1"))
        .await;
    for refused in [other_body, other_path] {
        assert_eq!(
            (refused.status, refused.problem()),
            (422, "key-reused".into())
        );
    }
    assert_eq!(service.effects(), 1);
}

#[tokio::test]
async fn a_missing_key_passes_is_refused_or_is_derived() {
    let without = Asked {
        path: "/pay",
        headers: vec![],
        body: "42",
    };
    for (missing, status, effects) in [
        (Missing::Pass, 201, 2),
        (Missing::Require, 400, 0),
        (Missing::Derive, 201, 1),
    ] {
        let service = Service::start(|rules| {
            rules.missing = missing;
            rules.tenant = tenant::Source::Public;
        })
        .await;
        let (one, two) = (service.send(&without).await, service.send(&without).await);
        assert_eq!((one.status, two.status), (status, status), "{missing:?}");
        assert_eq!(service.effects(), effects, "{missing:?}");
        assert_eq!(two.is_replay(), missing == Missing::Derive);
        if missing == Missing::Require {
            assert_eq!(one.problem(), "key-missing");
            assert!(one.body.contains("idempotency-key"), "{}", one.body);
        }
    }
}

#[tokio::test]
async fn a_bad_key_is_refused() {
    let service = Service::start(|_| {}).await;
    let long = "k".repeat(256);
    for headers in [
        vec![("Idempotency-Key", "")],
        vec![("Idempotency-Key", "\"k")],
        vec![("Idempotency-Key", long.as_str())],
        vec![("Idempotency-Key", "k"), ("Idempotency-Key", "k")],
    ] {
        let asked = Asked {
            path: "/pay",
            headers,
            body: "",
        };
        let answer = service.send(&asked).await;
        assert_eq!(
            (answer.status, answer.problem()),
            (400, "key-invalid".into())
        );
    }
    assert_eq!(service.effects(), 0);
}

#[tokio::test]
async fn a_caller_that_cannot_be_told_is_refused() {
    let service = Service::start(|rules| rules.tenant = tenant::Source::Bearer).await;
    let answer = service.pay("k", "").await;
    assert_eq!(
        (answer.status, answer.problem()),
        (401, "tenant-missing".into())
    );
    let one = service
        .send(&Asked::pay("k", "").with("Authorization", "Bearer 1"))
        .await;
    let two = service
        .send(&Asked::pay("k", "").with("Authorization", "Bearer 2"))
        .await;
    assert!(!one.is_replay() && !two.is_replay());
    assert_eq!(service.effects(), 2);
}

#[tokio::test]
async fn while_the_first_runs_duplicates_get_the_routes_answer() {
    for status in BusyStatus::ALL {
        let busy = Busy {
            wait: Duration::ZERO,
            status,
        };
        let service = Service::start(|rules| rules.in_progress = busy).await;
        let slow = Asked::pay("k", "").at("/slow");
        let first = service.send(&slow);
        let duplicate = async {
            service.shop.began.acquire().await.unwrap().forget();
            let duplicate = service.send(&slow).await;
            service.shop.permits.add_permits(1);
            duplicate
        };
        let (first, duplicate) = tokio::join!(first, duplicate);
        assert_eq!(duplicate.status, status.status().as_u16());
        assert_eq!(duplicate.problem(), "in-progress");
        assert_eq!(duplicate.all("retry-after"), ["1"]);
        assert_eq!((first.status, service.effects()), (200, 1));
    }
}

#[tokio::test]
async fn a_duplicate_that_waits_gets_the_firsts_answer() {
    let service = Service::start(|rules| rules.in_progress.wait = Duration::from_secs(60)).await;
    let slow = Asked::pay("k", "").at("/slow");
    let release = async {
        service.shop.began.acquire().await.unwrap().forget();
        service.shop.permits.add_permits(1);
    };
    let (one, two, ()) = tokio::join!(service.send(&slow), service.send(&slow), release);
    assert_eq!(
        (one.body.as_str(), two.body.as_str()),
        ("slowly done", "slowly done")
    );
    assert_ne!(one.is_replay(), two.is_replay());
    assert_eq!(service.effects(), 1);
}

#[tokio::test]
async fn bodies_up_to_the_limit_are_accepted() {
    let service = Service::start(|rules| rules.request_bytes_max = 8).await;
    assert_eq!(service.pay("at", "12345678").await.status, 201);
    let above = service.pay("above", "123456789").await;
    assert_eq!(
        (above.status, above.problem()),
        (413, "body-too-large".into())
    );
    let chunked = "POST /pay HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nIdempotency-Key: c\r\n\
                   Transfer-Encoding: chunked\r\n\r\n9\r\n123456789\r\n0\r\n\r\n";
    let answer = crate::callers::raw(&service, chunked).await;
    assert_eq!(
        (answer.status, answer.problem()),
        (413, "body-too-large".into())
    );
    let record = service.once.store().list(Default::default()).await.unwrap();
    assert_eq!(record.records.len(), 1, "a refused body leaves no claim");
    assert_eq!(service.effects(), 1);
}
