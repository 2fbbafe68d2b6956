//! The wire breaks: in the middle of a reply, and after the commit but before the answer.

use std::time::Duration;

use semel_core::store::{ReleaseAnswer, SettleAnswer};
use semel_core::{State, StoreExt};
use semel_postgres::PostgresStore;
use semel_testkit::proxy::Proxy;

use crate::support::verbs::{Books, address, granted, identity, kinds, settle, through};
use crate::support::{Schema, url};

/// A store with one connection, which goes through a proxy and has spoken before.
async fn behind_proxy(schema: &Schema) -> (Proxy, PostgresStore) {
    let proxy = Proxy::start(address(&url())).await;
    let config = schema.config_at(&through(&schema.url, &proxy));
    let store = config
        .connections(1)
        .timeout(Duration::from_secs(5))
        .connect()
        .await
        .unwrap();
    let lease = granted(&store, "warm").await;
    let settled = store.settle_one(settle(&lease.claim, "done")).await;
    assert_eq!(settled.unwrap(), SettleAnswer::Settled);
    (proxy, store)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_answer_was_lost_is_known_as_ones_own() {
    let (schema, books) = (Schema::new(), Books::new());
    let (proxy, store) = behind_proxy(&schema).await;
    for bytes in [0, 1, 20, 60] {
        let key = format!("k{bytes}");
        let cut = proxy.counts().cut;
        proxy.cut_after(bytes);
        let lease = granted(&store, &key).await;
        assert_eq!(proxy.counts().cut, cut + 1, "the connection was cut");
        assert_eq!(lease.attempt, 1);
        books.ledger.effect(&key, lease.claim.fence.get()).unwrap();
        let settled = store.settle_one(settle(&lease.claim, "done")).await;
        assert_eq!(settled.unwrap(), SettleAnswer::Settled);
        assert_eq!(kinds(&store, &key).await, []);
        assert_eq!(books.ledger.count(&key).unwrap(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_settle_whose_answer_was_lost_is_settled() {
    let schema = Schema::new();
    let (proxy, store) = behind_proxy(&schema).await;
    for bytes in [0, 1, 20] {
        let key = format!("k{bytes}");
        let lease = granted(&store, &key).await;
        let cut = proxy.counts().cut;
        proxy.cut_after(bytes);
        let settled = store.settle_one(settle(&lease.claim, "done")).await;
        assert_eq!(settled.unwrap(), SettleAnswer::Settled);
        assert_eq!(proxy.counts().cut, cut + 1, "the connection was cut");
        assert_eq!(kinds(&store, &key).await, [], "nothing is late");
        let record = store.look_up_one(identity(&key)).await.unwrap().unwrap();
        assert!(matches!(record.state, State::Settled(_)));
    }
}

/// A claim of what was released takes several round trips; it is cut in the middle of each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_under_a_lock_is_granted_once_wherever_it_is_cut() {
    let schema = Schema::new();
    let (proxy, store) = behind_proxy(&schema).await;
    let (mut highest, mut cuts) = (0, 0);
    for bytes in (0..2_000).step_by(61) {
        let lease = granted(&store, "k").await;
        assert!(lease.claim.fence.get() > highest, "fences grow");
        let released = store.release_one(lease.claim).await.unwrap();
        assert_eq!(released, ReleaseAnswer::Released);
        let cut = proxy.counts().cut;
        proxy.cut_after(bytes);
        let lease = granted(&store, "k").await;
        proxy.resume();
        cuts += proxy.counts().cut - cut;
        let record = store.look_up_one(identity("k")).await.unwrap().unwrap();
        assert_eq!(record.fence, lease.claim.fence, "the one that is on record");
        assert_eq!(lease.attempt, 1);
        highest = lease.claim.fence.get();
        assert_eq!(
            store.release_one(lease.claim).await.unwrap(),
            ReleaseAnswer::Released
        );
        if proxy.counts().cut == cut {
            break;
        }
    }
    assert!(cuts >= 5, "expected several cuts, found {cuts}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_release_is_done_once_wherever_it_is_cut() {
    let schema = Schema::new();
    let (proxy, store) = behind_proxy(&schema).await;
    let mut cuts = 0;
    for bytes in (0..2_000).step_by(61) {
        let key = format!("k{bytes}");
        let lease = granted(&store, &key).await;
        let cut = proxy.counts().cut;
        proxy.cut_after(bytes);
        let released = store.release_one(lease.claim).await.unwrap();
        proxy.resume();
        assert_eq!(released, ReleaseAnswer::Released);
        assert_eq!(
            kinds(&store, &key).await.len(),
            1,
            "one event, however often it was sent"
        );
        if proxy.counts().cut == cut {
            break;
        }
        cuts += 1;
    }
    assert!(cuts >= 5, "expected several cuts, found {cuts}");
}
