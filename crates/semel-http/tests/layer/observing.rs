//! Observe mode: everything passes, and what was seen is counted.

use std::sync::Arc;

use semel_core::store::{Answers, Layer, Verb};
use semel_core::{Store, Tenant};
use semel_http::observe::{Client, Finding, Report};
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

    fn count(&self, finding: Finding) -> u64 {
        self.0.report.count(finding)
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
        (Finding::First, 2),
        (Finding::Duplicate, 1),
        (Finding::Mismatch, 1),
        (Finding::SuspiciousKey, 1),
        (Finding::KeyMissing, 1),
        (Finding::KeyInvalid, 1),
        (Finding::Concurrent, 0),
    ] {
        assert_eq!(seen.count(finding), count, "{finding:?}");
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
    assert_eq!(seen.count(Finding::BodyTooLarge), 2);
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

/// A store that never hears how a request ended.
#[derive(Debug)]
struct Deaf<S>(S);

impl<S: Store> Layer for Deaf<S> {
    fn beneath(&self) -> &dyn Store {
        &self.0
    }

    fn around<'a, A: Send + 'a>(
        &'a self,
        verb: Verb,
        _: usize,
        call: impl FnOnce() -> Answers<'a, A> + Send + 'a,
    ) -> Answers<'a, A> {
        match verb {
            Verb::Settle => Box::pin(std::future::pending()),
            _ => call(),
        }
    }
}

#[tokio::test]
async fn a_duplicate_right_after_the_first_has_ended_is_not_concurrent() {
    let seen = Waiting::default();
    let observe = |rules: &mut semel_http::Rules| rules.mode = Mode::Observe;
    let service = Service::on(Deaf, observe, seen.clone()).await;
    for _ in 0..3 {
        assert_eq!(service.pay("k", "1").await.status, 201);
    }
    for _ in 0..3 {
        seen.seen().await;
    }
    assert_eq!(seen.count(Finding::First), 1);
    assert_eq!(seen.count(Finding::Duplicate), 2);
    assert_eq!(seen.count(Finding::Concurrent), 0);
}

#[tokio::test]
async fn a_duplicate_while_the_first_runs_is_concurrent() {
    let seen = Waiting::default();
    let observe = |rules: &mut semel_http::Rules| rules.mode = Mode::Observe;
    let service = Service::watched(observe, seen.clone()).await;
    let slow = Asked::pay("k", "1").at("/slow");
    let both = async { tokio::join!(service.send(&slow), service.send(&slow)) };
    let let_go = async {
        // Both run before either may end.
        let began = service.shop.began.acquire_many(2).await;
        began.unwrap().forget();
        service.shop.permits.add_permits(2);
    };
    tokio::join!(both, let_go);
    seen.seen().await;
    seen.seen().await;
    assert_eq!(seen.count(Finding::First), 1);
    assert_eq!(seen.count(Finding::Concurrent), 1);
}

#[tokio::test]
async fn clients_are_told_apart_and_their_keys_can_be_found() {
    let seen = Waiting::default();
    let service = Service::watched(|rules| rules.mode = Mode::Observe, seen.clone()).await;
    for (caller, key) in [("a", "k-1"), ("a", "k-2"), ("b", "k-3")] {
        let credential = format!("Bearer {caller}");
        let asked = Asked::pay(key, "1").with("Authorization", &credential);
        assert_eq!(service.send(&asked).await.status, 201);
        seen.seen().await;
    }
    let rows = seen.0.report.rows();
    let public = Client::Known(Tenant::public());
    assert!(rows.iter().all(|(_, client, _)| *client != public));
    let suspicious = |row: &(_, _, semel_http::observe::Seen)| {
        let key = row.2.suspicious.as_ref();
        key.map(ToString::to_string)
    };
    let mut suspicious: Vec<_> = rows.iter().map(suspicious).collect();
    suspicious.sort();
    // The same request of another client is nothing to be suspicious of.
    assert_eq!(suspicious, [None, Some("k-2".to_owned())]);
}
