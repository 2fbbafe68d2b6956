//! Fences grow per identity, also where the server has lost the last numbers of its sequence.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod support;

use std::collections::BTreeSet;

use futures_util::future::join_all;
use semel_core::store::SettleAnswer;
use semel_core::{Store, StoreExt};
use semel_postgres::PostgresStore;
use semel_postgres::tx::Tables;
use support::Schema;
use support::verbs::{granted, kinds, lease_of, request, settle, settle_for, until};
use tokio_postgres::Client;

/// The largest number that programs in every language can read from JSON.
const READABLE: u64 = 1 << 53;

/// What is left of the sequence when a standby is promoted that has not heard of the last numbers.
async fn lose_numbers(client: &Client, s: &str) {
    let lose = format!("SELECT setval('{s}.semel_fence', 1)");
    client.batch_execute(&lose).await.unwrap();
}

async fn swept(store: &PostgresStore, client: &Client, s: &str) {
    let count = format!("SELECT count(*) FROM {s}.semel_records");
    until("the record is swept", async || {
        store.sweep(100).await.unwrap();
        client
            .query_one(&count, &[])
            .await
            .unwrap()
            .get::<_, i64>(0)
            == 0
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fences_grow_when_the_sequence_has_lost_its_last_numbers() {
    for how in ["released", "swept", "lost"] {
        let schema = Schema::new();
        let (store, client, s) = (schema.open().await, schema.client().await, &schema.name);
        let mut highest = 0;
        for round in 0..3 {
            let lease = granted(&store, "k").await;
            let fence = lease.claim.fence.get();
            assert!(fence > highest, "{how}, {round}: {fence} after {highest}");
            assert!(fence < READABLE, "{fence}");
            highest = fence;
            match how {
                "released" => drop(store.release_one(lease.claim).await.unwrap()),
                "swept" => {
                    let settled = settle_for(&lease.claim, 1, false);
                    store.settle_one(settled).await.unwrap();
                    swept(&store, &client, s).await;
                }
                _ => {
                    let lose = format!("DELETE FROM {s}.semel_records");
                    client.batch_execute(&lose).await.unwrap();
                }
            }
            lose_numbers(&client, s).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fence_is_above_that_of_the_row_whatever_the_time_is() {
    let schema = Schema::new();
    let (store, mut client, s) = (schema.open().await, schema.client().await, &schema.name);
    for by in ["the store", "a transaction"] {
        let lease = granted(&store, by).await;
        store.release_one(lease.claim).await.unwrap();
        // The server that granted it was ahead of this one's time.
        let ahead =
            format!("UPDATE {s}.semel_records SET fence = 4000000000000000 WHERE key = '{by}'");
        client.batch_execute(&ahead).await.unwrap();
        let answer = match by {
            "the store" => store.claim_one(request(by)).await.unwrap(),
            _ => {
                let mut tx = client.transaction().await.unwrap();
                let tables = Tables::new(&schema.config());
                let answer = tables.claim(&mut tx, &request(by)).await.unwrap();
                tx.commit().await.unwrap();
                answer
            }
        };
        assert_eq!(lease_of(answer).claim.fence.get(), 4_000_000_000_000_001);
    }
}

/// The claim is lost with the old server, and its owner does not know.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_of_a_claim_that_was_lost_is_kept_as_a_late_one() {
    let schema = Schema::new();
    let (store, client, s) = (schema.open().await, schema.client().await, &schema.name);
    for again in [false, true] {
        let key = format!("k-{again}");
        let lost = granted(&store, &key).await;
        let lose = format!("DELETE FROM {s}.semel_records");
        client.batch_execute(&lose).await.unwrap();
        lose_numbers(&client, s).await;
        if again {
            granted(&store, &key).await;
        }
        let answer = store.settle_one(settle(&lost.claim, "done")).await.unwrap();
        assert_eq!(answer, SettleAnswer::Late);
        assert_eq!(kinds(&store, &key).await.len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_who_raise_the_sequence_at_once_draw_different_fences() {
    let schema = Schema::new();
    let store = schema.open().await;
    let s = &schema.name;
    let clients = [
        schema.client().await,
        schema.client().await,
        schema.client().await,
        schema.client().await,
    ];
    let draw = format!("SELECT {s}.semel_draw() FROM generate_series(1, 500)");
    let mut all = BTreeSet::new();
    for _ in 0..5 {
        lose_numbers(&clients[0], s).await;
        for rows in join_all(clients.iter().map(|client| client.query(&draw, &[]))).await {
            let drawn: Vec<i64> = rows.unwrap().iter().map(|row| row.get(0)).collect();
            assert!(drawn.is_sorted(), "{drawn:?}");
            all.extend(drawn);
        }
    }
    assert_eq!(all.len(), 5 * 4 * 500);
    drop(store);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_raised_the_sequence_and_stays_open_keeps_nobody_from_claiming() {
    let schema = Schema::new();
    let (store, mut client, s) = (schema.open().await, schema.client().await, &schema.name);
    let other = schema.client().await;
    lose_numbers(&other, s).await;
    let mut tx = client.transaction().await.unwrap();
    let tables = Tables::new(&schema.config());
    tables.claim(&mut tx, &request("theirs")).await.unwrap();
    lose_numbers(&other, s).await;
    granted(&store, "ours").await;
    tx.rollback().await.unwrap();
}
