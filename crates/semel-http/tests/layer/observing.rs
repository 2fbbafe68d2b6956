//! Observe mode: everything passes, and what was seen is counted.

use std::sync::Arc;

use semel_core::Scope;
use semel_http::observe::Report;
use semel_http::rules::Mode;
use semel_http::{Event, RequestObserver};
use tokio::sync::Semaphore;

use crate::support::{Asked, Service};

/// A report that can be waited for: observations end beside the requests.
#[derive(Clone)]
struct Waiting(Arc<Seen>);

struct Seen {
    report: Report,
    count: Semaphore,
}

impl Default for Waiting {
    fn default() -> Self {
        Self(Arc::new(Seen {
            report: Report::default(),
            count: Semaphore::new(0),
        }))
    }
}

impl RequestObserver for Waiting {
    fn saw(&self, event: &Event<'_>) {
        self.0.report.saw(event);
        self.0.count.add_permits(1);
    }
}

impl Waiting {
    async fn seen(&self) {
        self.0.count.acquire().await.unwrap().forget();
    }

    fn count(&self, finding: &str) -> u64 {
        let scope: Scope = "payments@1".parse().unwrap();
        self.0.report.tallies()[&scope.to_string()][finding]
    }
}

#[tokio::test]
async fn everything_passes_and_is_counted() {
    let seen = Waiting::default();
    let service = Service::watched(|rules| rules.mode = Mode::Observe, seen.clone()).await;
    for (key, body) in [
        ("k", "1"),
        ("k", "1"),
        ("k", "2"),
        ("new", "1"),
        ("other", "3"),
    ] {
        let answer = service.pay(key, body).await;
        assert_eq!((answer.status, answer.is_replay()), (201, false));
        seen.seen().await;
    }
    let without = Asked {
        path: "/pay",
        headers: vec![],
        body: "",
    };
    assert_eq!(service.send(&without).await.status, 201);
    seen.seen().await;
    assert_eq!(service.pay(&"k".repeat(300), "").await.status, 201);
    seen.seen().await;
    assert_eq!(service.effects(), 7);
    for (finding, count) in [
        ("observed-first", 2),
        ("observed-duplicate", 1),
        ("observed-mismatch", 1),
        ("observed-suspicious-key", 1),
        ("observed-key-missing", 1),
        ("observed-key-invalid", 1),
        ("observed-concurrent", 0),
    ] {
        assert_eq!(seen.count(finding), count, "{finding}");
    }
}

#[tokio::test]
async fn a_body_above_the_limit_passes_whole() {
    let seen = Waiting::default();
    let observe = |rules: &mut semel_http::Rules| {
        rules.mode = Mode::Observe;
        rules.request_bytes_max = 4;
    };
    let service = Service::watched(observe, seen.clone()).await;
    let answer = service.pay("k", "123456789").await;
    assert_eq!(answer.body, "effect 1 of 123456789");
    let chunked = "POST /pay HTTP/1.1\r\nHost: shop\r\nConnection: close\r\nIdempotency-Key: c\r\n\
                   Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n4\r\n6789\r\n0\r\n\r\n";
    let answer = crate::callers::raw(&service, chunked).await;
    assert_eq!(answer.body, "effect 2 of 123456789");
    seen.seen().await;
    assert_eq!(seen.count("observed-body-too-large"), 2);
}

#[tokio::test]
async fn observing_leaves_the_enforced_scope_alone() {
    let seen = Waiting::default();
    let service = Service::watched(|rules| rules.mode = Mode::Observe, seen.clone()).await;
    service.pay("k", "1").await;
    seen.seen().await;
    let page = service.once.store().list(Default::default()).await.unwrap();
    let scopes = page
        .records
        .iter()
        .map(|record| record.identity.scope().to_string());
    assert_eq!(scopes.collect::<Vec<_>>(), ["observe:payments@1"]);
}
