//! A replica is promoted: it is found, what it knows holds, and what it never received can run again.

use semel_core::store::{ClaimAnswer, SettleAnswer};
use semel_core::{Fence, StoreExt};
use semel_redis::{Config, RedisStore};

use crate::pair::Pair;
use crate::{done, granted, request, settle, tell};

async fn connect(pair: &Pair) -> RedisStore {
    let config = Config::from_url(&pair.url()).unwrap();
    config.sweep_every(None).connect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demoted_primary_is_left_for_the_new_one() {
    let pair = Pair::start().await;
    let store = connect(&pair).await;
    done(&store, "done").await;
    let claim = granted(&store, "running").await;
    pair.replicated().await;
    pair.promote();
    // The connection stays open, to a server that answers READONLY from here on.
    pair.demote();
    let settled = store.settle_one(settle(&claim)).await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
    assert_eq!(pair.proxy.counts().connections, 2);
    granted(&store, "new").await;
    let replay = store.claim_one(request("done")).await.unwrap();
    assert!(matches!(replay, ClaimAnswer::Settled(_)), "{replay:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_leaves_a_demoted_primary_too() {
    let pair = Pair::start().await;
    let store = connect(&pair).await;
    granted(&store, "warm").await;
    pair.replicated().await;
    pair.promote();
    pair.demote();
    granted(&store, "new").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fences_grow_over_a_promotion_although_the_new_clock_is_behind() {
    let pair = Pair::start().await;
    let store = connect(&pair).await;
    let now = granted(&store, "warm").await.fence.get();
    // As if the primary's clock were an hour ahead of the replica's.
    let ahead = format!("{:016}", now + 3_600_000_000);
    let meta = ["HSET", "{semel:b000}:meta", "fence", &ahead];
    tell(&mut pair.primary_node(), &meta);
    let released = granted(&store, "released").await;
    store.release_one(released.clone()).await.unwrap();
    let running = granted(&store, "running").await;
    pair.replicated().await;
    pair.primary.kill();
    pair.promote();
    let next = granted(&store, "released").await;
    assert!(next.fence > running.fence && running.fence > released.fence);
    assert!(released.fence > Fence::new(now + 3_600_000_000));
    let answer = store.claim_one(request("running")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { fence, .. } if fence == running.fence));
    let settled = store.settle_one(settle(&running)).await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_promoted_replica_never_received_can_run_again_under_a_higher_fence() {
    let pair = Pair::start().await;
    let store = connect(&pair).await;
    // The replica is cut off first, as by a network that fails before the primary does.
    tell(&mut pair.replica_node(), &["REPLICAOF", "NO", "ONE"]);
    let lost = granted(&store, "lost").await;
    pair.primary.kill();
    pair.promote();
    let again = granted(&store, "lost").await;
    assert!(again.fence > lost.fence);
    let late = store.settle_one(settle(&lost)).await.unwrap();
    assert_eq!(late, SettleAnswer::Late, "the old owner changes nothing");
    let settled = store.settle_one(settle(&again)).await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
}
