//! Bodies draw from the memory that all doors share.

use std::net::SocketAddr;
use std::sync::Arc;

use semel_admin::{Admin, Config, Metered, Metrics, Parts};
use semel_core::MemoryStore;
use semel_http::Memory;
use serde_json::json;

use crate::http::{get, post};
use crate::server::about;

#[tokio::test]
async fn a_call_that_has_no_room_is_refused_and_the_metrics_say_what_is_used() {
    let (metrics, memory) = (Arc::new(Metrics::new()), Memory::new(1_000));
    for (name, budget) in memory.budgets() {
        metrics.watch_budget(name, budget);
    }
    let store = Metered::new(Arc::new(MemoryStore::new()), metrics);
    let mut parts = Parts::new(store);
    parts.memory = memory.clone();
    let config = Config {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
        ..Config::default()
    };
    let admin = Admin::bind(&config, parts).await.unwrap();
    let address = admin.address().tcp().unwrap();
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let served = tokio::spawn(admin.serve(async { drop(stopped.await) }));
    let claim = |key: &'static str| post(address, "/api/v1/claims", about(key, json!({})));

    let others = memory.hold(990);
    let refused = claim("k").await;
    assert_eq!(
        (refused.status, refused.problem()),
        (503, "overloaded".to_owned())
    );
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(refused.json()["budget"], "buffered_bytes");
    let said = get(address, "/metrics").await.body;
    for line in [
        "semel_budget_used{budget=\"buffered_bytes\"} 990",
        "semel_budget_limit{budget=\"buffered_bytes\"} 1000",
    ] {
        assert!(said.contains(line), "{line} in {said}");
    }
    drop(others);
    assert_eq!(claim("k").await.status, 201);
    assert_eq!(memory.held(), 0);
    drop(stop);
    served.await.unwrap();
}
