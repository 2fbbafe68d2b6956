//! Messages by months: made ahead of time, dropped whole when nobody needs them.

use std::time::Duration;

use semel_core::inbox::State;
use semel_core::{Inbox, Retention, Store};
use tokio_postgres::Client;

use crate::support::Schema;
use crate::verbs::{claimed, complete, ids, plan, received};

/// A month of long ago, and the messages of today in it.
async fn move_back(client: &Client, s: &str) {
    client
        .batch_execute(&format!(
            "CREATE TABLE {s}.semel_messages_2020_03 PARTITION OF {s}.semel_messages \
             FOR VALUES FROM (1583020800000) TO (1585699200000); \
             UPDATE {s}.semel_messages SET expires_ms = 1583020800001; \
             UPDATE {s}.semel_work SET expires_ms = 1583020800001"
        ))
        .await
        .unwrap();
}

async fn exists(client: &Client, s: &str) -> bool {
    let sql = format!("SELECT to_regclass('{s}.semel_messages_2020_03') IS NOT NULL");
    client.query_one(&sql, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_month_goes_when_no_work_refers_to_it() {
    let schema = Schema::new();
    let (store, client) = (schema.open().await, schema.client().await);
    let s = &schema.name;
    received(&store, &plan(), &ids(3)).await;
    let jobs = claimed(&store, &plan(), 2).await;
    complete(&store, &plan(), &jobs).await;
    move_back(&client, s).await;
    // A process that has not looked yet this month does the work.
    schema.open().await.sweep(100).await.unwrap();
    assert!(exists(&client, s).await, "one message still waits");
    let jobs = claimed(&store, &plan(), 10).await;
    assert_eq!(*jobs[0].message.payload(), "payload of m-2");
    complete(&store, &plan(), &jobs).await;
    schema.open().await.sweep(100).await.unwrap();
    assert!(!exists(&client, s).await, "nobody needs it any more");
    // The record is there, and goes on suppressing.
    let detail = store.message(jobs[0].claim.identity.clone()).await.unwrap();
    let detail = detail.expect("known by its record");
    assert_eq!(
        (detail.entry.state, detail.message),
        (State::Completed, None)
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_land_in_the_month_in_which_they_end() {
    let schema = Schema::new();
    let (store, client) = (schema.open().await, schema.client().await);
    for (n, days) in [1, 40, 400].into_iter().enumerate() {
        let mut plan = plan();
        let keep = Duration::from_secs(days * 24 * 60 * 60);
        plan.retention = Retention::delete_after(keep).unwrap();
        received(&store, &plan, &[format!("m-{n}")]).await;
    }
    let s = &schema.name;
    let astray = format!(
        "SELECT count(*) FROM {s}.semel_messages WHERE tableoid::regclass::text <> \
         '{s}.semel_messages_' || to_char(to_timestamp(expires_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY_MM')"
    );
    let astray: i64 = client.query_one(&astray, &[]).await.unwrap().get(0);
    assert_eq!(astray, 0);
    assert_eq!(claimed(&store, &plan(), 10).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sweep_takes_what_belonged_to_messages_that_are_gone() {
    let schema = Schema::new();
    let (store, client) = (schema.open().await, schema.client().await);
    let s = &schema.name;
    let mut plan = plan();
    plan.retention = Retention::delete_after(Duration::from_millis(1)).unwrap();
    received(&store, &plan, &ids(1)).await;
    let jobs = claimed(&store, &plan, 1).await;
    let step = semel_core::inbox::Step::new("charge", "done").unwrap();
    store
        .remember_step(jobs[0].claim.clone(), step)
        .await
        .unwrap();
    let mut late = crate::verbs::completed(&jobs[0], Vec::new());
    late.claim.fence = semel_core::Fence::new(999_999);
    store.finish(plan.clone(), vec![late]).await.unwrap();
    store
        .receive(crate::verbs::arrivals(&plan, &ids(1)))
        .await
        .unwrap();
    let tables = ["semel_steps", "semel_attempts", "semel_duplicates"];
    let count = async |table: &str| -> i64 {
        let sql = format!("SELECT count(*) FROM {s}.{table}");
        client.query_one(&sql, &[]).await.unwrap().get(0)
    };
    store.sweep(100).await.unwrap();
    for table in tables {
        assert_eq!(
            count(table).await,
            1,
            "{table}: its message is being worked on"
        );
    }
    complete(&store, &plan, &jobs).await;
    // Sooner than the sweep would look again by itself.
    for table in tables {
        let sql = format!("UPDATE {s}.{table} SET expires_ms = 1");
        client.batch_execute(&sql).await.unwrap();
    }
    crate::support::verbs::until("all of it is gone", async || {
        store.sweep(100).await.unwrap();
        let mut left = 0;
        for table in tables {
            left += count(table).await;
        }
        left == 0
    })
    .await;
}
