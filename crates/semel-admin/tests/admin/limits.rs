//! Limits of tenants at the claims API. The rates refill once an hour, so that no clock matters.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use semel_admin::{Admin, Config, Metered, Metrics, Parts};
use semel_core::{MemoryStore, Store};
use semel_http::Quotas;
use semel_http::quota::{Quota, Rate, Terms};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::task::{JoinHandle, JoinSet};

use crate::http::{Response, get, post};
use crate::server::about;

const HOUR: Duration = Duration::from_secs(3_600);

/// A server whose tenants are limited.
struct Limited {
    address: SocketAddr,
    store: Arc<MemoryStore>,
    metrics: Arc<Metrics>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<()>,
}

impl Limited {
    async fn start(each: Quota) -> Self {
        let metrics = Arc::new(Metrics::new());
        let quotas = Quotas::new(Some(metrics.clone()));
        quotas.set(Terms {
            each,
            ..Terms::default()
        });
        let store = Arc::new(MemoryStore::new());
        let mut parts = Parts::new(Metered::new(store.clone(), metrics.clone()));
        parts.quotas = quotas;
        let config = Config {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
            ..Config::default()
        };
        let admin = Admin::bind(&config, parts).await.unwrap();
        let address = admin.address().tcp().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        let served = tokio::spawn(admin.serve(async { drop(stopped.await) }));
        Self {
            address,
            store,
            metrics,
            stop,
            served,
        }
    }

    async fn claim(&self, key: &str) -> Response {
        self.post("", key, json!({})).await
    }

    async fn post(&self, verb: &str, key: &str, more: Value) -> Response {
        let path = format!("/api/v1/claims{verb}");
        post(self.address, &path, about(key, more)).await
    }

    async fn stop(self) {
        drop(self.stop);
        self.served.await.unwrap();
    }
}

#[tokio::test]
async fn a_storm_of_claims_is_refused_and_counted_while_what_is_on_record_is_answered() {
    let server = Limited::start(Quota {
        requests: Some(Rate::new(5, HOUR)),
        new_keys: Some(Rate::new(1, HOUR)),
        ..Quota::NONE
    })
    .await;
    assert_eq!(server.claim("a").await.status, 201);
    let refused = server.claim("b").await;
    assert_eq!(
        (refused.status, refused.problem()),
        (429, "rate-limited".to_owned())
    );
    assert_eq!(refused.json()["limit"], "new_keys");
    assert!(refused.header("retry-after").is_some());
    // What runs is on record, and needs no new key.
    assert_eq!(server.claim("a").await.problem(), "in-progress");
    let settle = json!({ "fence": 1, "verdict": "succeeded" });
    assert_eq!(server.post("/settle", "a", settle).await.status, 200);
    assert_eq!(server.claim("a").await.status, 200);
    assert_eq!(server.claim("c").await.json()["limit"], "new_keys");
    assert_eq!(server.claim("a").await.json()["limit"], "requests");
    assert_eq!(server.store.stats().await.unwrap().settled, 1);
    let said = get(server.address, "/metrics").await.body;
    for line in [
        "semel_limited_total{limit=\"new_keys\",scope=\"claims-api@1\"} 2",
        "semel_limited_total{limit=\"requests\",scope=\"claims-api@1\"} 1",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    server.stop().await;
}

#[tokio::test]
async fn claims_that_wait_leave_the_new_keys_to_others() {
    let server = Limited::start(Quota {
        new_keys: Some(Rate::new(3, HOUR)),
        ..Quota::NONE
    })
    .await;
    assert_eq!(server.claim("slow").await.status, 201);
    let mut waiting = JoinSet::new();
    for _ in 0..9 {
        let (address, body) = (server.address, about("slow", json!({ "wait": "30s" })));
        waiting.spawn(async move { post(address, "/api/v1/claims", body).await });
    }
    let line = "semel_budget_used{budget=\"claims_waiting\"} 9\n";
    while !server.metrics.text().contains(line) {
        tokio::task::yield_now().await;
    }
    assert_eq!(server.claim("a").await.status, 201);
    let release = server.post("/release", "slow", json!({ "fence": 1 })).await;
    assert_eq!(release.status, 200);
    // One of those that waited is granted the key anew, and is charged for it.
    let granted = waiting.join_next().await.unwrap().unwrap();
    assert_eq!(granted.status, 201, "{granted:?}");
    assert_eq!(server.claim("b").await.json()["limit"], "new_keys");
}

#[tokio::test]
async fn what_a_settle_stores_is_charged_once_and_what_comes_late_is_charged() {
    let server = Limited::start(Quota {
        stored_bytes: Some(Rate::new(100, HOUR)),
        ..Quota::NONE
    })
    .await;
    let mut fences = Vec::new();
    for key in ["a", "b"] {
        let granted = server.claim(key).await;
        assert_eq!(granted.status, 201);
        fences.push(granted.json()["fence"].as_u64().unwrap());
    }
    let settle = |key: usize, body: &str| json!({ "fence": fences[key], "verdict": "succeeded", "body": body });
    // 60 of 100 bytes, however often its caller repeats it.
    for _ in 0..3 {
        let settled = server
            .post("/settle", "a", settle(0, &"x".repeat(60)))
            .await;
        assert_eq!(settled.status, 200);
    }
    assert_eq!(server.claim("c").await.status, 201);
    // Another outcome under the same claim is kept for the audit.
    let late = server
        .post("/settle", "a", settle(0, &"y".repeat(60)))
        .await;
    assert_eq!(late.problem(), "late-outcome");
    let refused = server.claim("d").await;
    assert_eq!(
        (refused.status, refused.problem()),
        (429, "quota-exceeded".to_owned())
    );
    assert_eq!(refused.json()["limit"], "stored_bytes");
    let wait: u64 = refused.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=756).contains(&wait), "{wait}");
    // What was claimed may still be settled.
    let settled = server.post("/settle", "b", settle(1, "done")).await;
    assert_eq!(settled.status, 200);
    let stats = server.store.stats().await.unwrap();
    assert_eq!((stats.settled, stats.running), (2, 1));
    server.stop().await;
}
