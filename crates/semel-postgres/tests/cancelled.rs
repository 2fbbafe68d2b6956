//! Callers that go away before they hear.

mod support;

use std::time::Duration;

use semel_core::store::{ClaimRequest, Takeover};
use semel_core::{Fingerprint, Identity, LeaseTerm, Store, StoreExt};
use support::Schema;

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: Identity::parse("acme", "cancelled@1", key).expect("a valid identity"),
        fingerprint: Fingerprint::of_bytes(b"1"),
        lease: LeaseTerm::new(Duration::from_secs(60)).expect("a valid term"),
        takeover: Takeover::Never,
    }
}

/// A claim that nobody heard of was not used: it is given back, long before its lease ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_caller_left_is_given_back() {
    let schema = Schema::new();
    let store = std::sync::Arc::new(schema.open().await);
    let keys: Vec<String> = (0..40).map(|n| format!("k-{n}")).collect();
    for (n, key) in keys.iter().enumerate() {
        let (by_caller, request) = (store.clone(), request(key));
        let caller = tokio::spawn(async move { by_caller.claim(vec![request]).await });
        // Before it is sent, while it is on its way, after it was granted: at each of them some leave.
        tokio::time::sleep(Duration::from_micros(50 * n as u64)).await;
        caller.abort();
        if let Ok(Ok(answers)) = caller.await {
            // This one heard in time; giving it back is its own business.
            let semel_core::store::ClaimAnswer::Granted(lease) = &answers[0] else {
                panic!("expected a grant, found {answers:?}");
            };
            store.release_one(lease.claim.clone()).await.unwrap();
        }
    }
    for key in &keys {
        let gone = async {
            while store
                .look_up_one(request(key).identity)
                .await
                .unwrap()
                .is_some()
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
        assert!(gone.is_ok(), "{key} is still claimed");
    }
    let answers = store
        .claim(keys.iter().map(|key| request(key)).collect())
        .await
        .unwrap();
    assert!(
        answers
            .iter()
            .all(|a| matches!(a, semel_core::store::ClaimAnswer::Granted(_)))
    );
}
