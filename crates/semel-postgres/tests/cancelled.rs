//! Callers that go away before they hear.

mod support;

use std::sync::Arc;
use std::time::Duration;

use semel_core::store::{ClaimAnswer, ClaimRequest, Takeover};
use semel_core::{Fingerprint, Identity, LeaseTerm, Store, StoreExt};
use semel_postgres::tx::Tables;
use support::Schema;

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: Identity::parse("acme", "cancelled@1", key).expect("a valid identity"),
        fingerprint: Fingerprint::of_bytes(b"1"),
        lease: LeaseTerm::new(Duration::from_secs(60)).expect("a valid term"),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

/// Repeats `look` until it says yes; far longer than it should take, far shorter than the lease.
async fn until(what: &str, look: impl AsyncFn() -> bool) {
    let wait = async {
        while !look().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let waited = tokio::time::timeout(Duration::from_secs(20), wait).await;
    assert!(waited.is_ok(), "{what} did not come about");
}

/// A claim that nobody heard of was not used: it is given back, long before its lease ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_caller_left_is_given_back() {
    let schema = Schema::new();
    let store = Arc::new(schema.open().await);
    // Somebody's open transaction keeps the claim waiting at the server until its caller has left.
    let mut holder = schema.client().await;
    let mut tx = holder.transaction().await.unwrap();
    let held = Tables::new(&schema.config())
        .claim(&mut tx, &request("k"))
        .await
        .unwrap();
    assert!(matches!(held, ClaimAnswer::Granted(_)));
    let by_caller = store.clone();
    let caller = tokio::spawn(async move { by_caller.claim_one(request("k")).await });
    let watcher = schema.client().await;
    let waiting = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%{}.semel_records%'",
        schema.name
    );
    until("the claim waiting", async || {
        let count: i64 = watcher.query_one(&waiting, &[]).await.unwrap().get(0);
        count > 0
    })
    .await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    tx.rollback().await.unwrap();
    until("the claim given back", async || {
        let events = store.history(request("k").identity).await.unwrap();
        events.iter().any(|event| event.kind.name() == "released")
    })
    .await;
    let again = store.claim_one(request("k")).await.unwrap();
    assert!(matches!(again, ClaimAnswer::Granted(_)), "{again:?}");
}
