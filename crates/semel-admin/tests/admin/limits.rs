//! Limits of tenants at the claims API. The rates refill once an hour, so that no clock matters.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use semel_admin::{Admin, Config, Metered, Metrics, Parts};
use semel_core::{MemoryStore, Store};
use semel_http::Quotas;
use semel_http::quota::{Quota, Rate, Terms};
use serde_json::json;

use crate::http::{get, post};
use crate::server::about;

#[tokio::test]
async fn a_storm_of_claims_is_refused_and_counted_while_what_is_on_record_is_answered() {
    let metrics = Arc::new(Metrics::new());
    let quotas = Quotas::new(Some(metrics.clone()));
    quotas.set(Terms {
        each: Quota {
            requests: Some(Rate::new(5, Duration::from_secs(3_600))),
            new_keys: Some(Rate::new(1, Duration::from_secs(3_600))),
            ..Quota::NONE
        },
        ..Terms::default()
    });
    let store = Arc::new(MemoryStore::new());
    let mut parts = Parts::new(Metered::new(store.clone(), metrics));
    parts.quotas = quotas;
    let config = Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
        ..Config::default()
    };
    let admin = Admin::bind(&config, parts).await.unwrap();
    let address = admin.address().tcp().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served = tokio::spawn(admin.serve(async { drop(stopped.await) }));
    let claim = |key: &'static str| post(address, "/api/v1/claims", about(key, json!({})));

    assert_eq!(claim("a").await.status, 201);
    let refused = claim("b").await;
    assert_eq!(
        (refused.status, refused.problem()),
        (429, "rate-limited".to_owned())
    );
    assert_eq!(refused.json()["limit"], "new_keys");
    assert!(refused.header("retry-after").is_some());
    // What runs is on record, and needs no new key.
    assert_eq!(claim("a").await.problem(), "in-progress");
    let settle = about("a", json!({ "fence": 1, "verdict": "succeeded" }));
    let settled = post(address, "/api/v1/claims/settle", settle).await;
    assert_eq!(settled.status, 200);
    assert_eq!(claim("a").await.status, 200);
    assert_eq!(claim("c").await.json()["limit"], "new_keys");
    assert_eq!(claim("a").await.json()["limit"], "requests");
    assert_eq!(store.stats().await.unwrap().settled, 1);
    let said = get(address, "/metrics").await.body;
    for line in [
        "semel_limited_total{limit=\"new_keys\",scope=\"claims-api@1\"} 2",
        "semel_limited_total{limit=\"requests\",scope=\"claims-api@1\"} 1",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    drop(stop);
    served.await.unwrap();
}
