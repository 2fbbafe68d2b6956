//! Replays of records that another door settled, and of answers that are larger than a record.

use std::time::Duration;

use semel_core::store::{ClaimAnswer, ClaimRequest, SettleRequest, StoreExt, Takeover};
use semel_core::{Body, Fingerprint, Headers, Identity, LeaseTerm, Outcome, Retention, Verdict};
use semel_http::fingerprint::By;

use crate::support::{Answer, Asked, Service};

/// Settles `key` as the claims API would.
async fn settle(service: &Service, key: &str, status: u16, headers: &[(&str, &str)], body: Body) {
    let store = service.once.store();
    let request = ClaimRequest {
        identity: Identity::parse("public", "payments@1", key).unwrap(),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    };
    let ClaimAnswer::Granted(lease) = store.claim_one(request).await.unwrap() else {
        panic!("a first claim is granted");
    };
    let headers = headers
        .iter()
        .map(|(n, v)| ((*n).to_owned(), (*v).to_owned().into()));
    let request = SettleRequest {
        claim: lease.claim,
        outcome: Outcome {
            verdict: Verdict::Succeeded,
            status,
            headers: Headers::new(headers.collect()).unwrap(),
            body,
        },
        took: Duration::ZERO,
        retention: Retention::default(),
    };
    store.settle_one(request).await.unwrap();
}

async fn service(cookies: bool) -> Service {
    Service::start(|rules| {
        rules.fingerprint = By::Off;
        rules.replay_cookies = cookies;
    })
    .await
}

async fn replay(service: &Service, key: &str) -> Answer {
    let answer = service.pay(key, "").await;
    assert!(answer.is_replay(), "{answer:?}");
    answer
}

#[tokio::test]
async fn a_replay_carries_nothing_of_another_connection_day_or_session() {
    let kept = || Body::Kept("done".into());
    let headers = [
        ("Content-Type", "text/plain"),
        ("Connection", "close, X-Hop, content-type"),
        ("X-Hop", "1"),
        ("Keep-Alive", "timeout=5"),
        ("Transfer-Encoding", "chunked"),
        ("Upgrade", "h2c"),
        ("Proxy-Authenticate", "Basic"),
        ("Content-Length", "999"),
        ("Date", "Thu, 01 Jan 1970 00:00:00 GMT"),
        ("Set-Cookie", "session=1"),
        ("Semel-Outcome", "final"),
        ("Idempotent-Replayed", "false"),
        (":trailer:semel-outcome", "final"),
        ("X-Kept", "1"),
    ];
    for cookies in [false, true] {
        let service = service(cookies).await;
        settle(&service, "k", 201, &headers, kept()).await;
        let answer = replay(&service, "k").await;
        assert_eq!((answer.status, answer.body.as_str()), (201, "done"));
        for name in [
            "x-hop",
            "keep-alive",
            "transfer-encoding",
            "upgrade",
            "proxy-authenticate",
            "semel-outcome",
            "trailer",
        ] {
            assert_eq!(answer.all(name), [""; 0], "{name}");
        }
        assert_eq!(answer.all("content-type"), ["text/plain"]);
        assert_eq!(answer.all("x-kept"), ["1"]);
        assert_eq!(answer.all("content-length"), ["4"]);
        assert!(!answer.all("date").iter().any(|date| date.contains("1970")));
        let expected: &[&str] = if cookies { &["session=1"] } else { &[] };
        assert_eq!(answer.all("set-cookie"), expected);
        assert_eq!(service.effects(), 0);
    }
}

#[tokio::test]
async fn a_stored_status_that_no_client_could_be_given_is_told_by_the_verdict() {
    let service = service(false).await;
    for (stored, told, body) in [
        (0, 200, "done"),
        (100, 200, "done"),
        (101, 200, "done"),
        (103, 200, "done"),
        (600, 200, "done"),
        (999, 200, "done"),
        (204, 204, ""),
        (205, 205, ""),
        (304, 304, ""),
        (404, 404, "done"),
    ] {
        let key = format!("k{stored}");
        settle(&service, &key, stored, &[], Body::Kept("done".into())).await;
        let answer = replay(&service, &key).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (told, body),
            "{stored}"
        );
    }
    settle(&service, "omitted", 204, &[], Body::omitted(b"done")).await;
    let answer = replay(&service, "omitted").await;
    assert_eq!((answer.status, answer.body.as_str()), (204, ""));
}

#[tokio::test]
async fn a_header_that_is_too_large_drops_only_itself_from_replays() {
    let service = Service::start(|_| {}).await;
    for (key, bytes) in [("above", "70000"), ("nearly", "65500")] {
        let asked = Asked::pay(key, "").with("X-Large", bytes);
        let first = service.send(&asked).await;
        assert_eq!(first.all("a-large").len(), 1);
        let again = replay_of(&service, &asked).await;
        assert_eq!(again.all("a-large"), [""; 0], "{key}");
        assert_eq!(again.all("x-after-large"), ["kept"], "{key}");
        assert_eq!(again.all("location"), ["/pay/1"], "{key}");
        assert_eq!(again.all("content-type"), first.all("content-type"));
    }
}

async fn replay_of(service: &Service, asked: &Asked<'_>) -> Answer {
    let answer = service.send(asked).await;
    assert!(answer.is_replay(), "{answer:?}");
    answer
}
