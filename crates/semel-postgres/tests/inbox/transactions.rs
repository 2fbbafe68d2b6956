//! Marker, effect and intents in one transaction of the user's own.

use std::sync::Arc;

use semel_core::inbox::{Finished, Intent, Plan, Progress, Receipt, State, Taken};
use semel_core::{Inbox, StoreExt};
use semel_postgres::tx::Tables;

use crate::support::Schema;
use crate::verbs::{arrivals, claimed, completed, id, ids, message_to, plan, received};

fn target() -> Plan {
    Plan::new("intent:provider@1".parse().unwrap())
}

fn intent(id: &str) -> Intent {
    Intent {
        plan: Arc::new(target()),
        message: message_to(&target(), id),
    }
}

async fn balance(schema: &Schema) -> i64 {
    let sql = format!("SELECT cents FROM {}.account", schema.name);
    schema
        .client()
        .await
        .query_one(&sql, &[])
        .await
        .unwrap()
        .get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn marker_effect_and_intents_commit_or_roll_back_together() {
    let schema = Schema::new();
    let store = schema.open().await;
    let tables = Tables::new(&schema.config());
    let mut client = schema.client().await;
    let account = format!(
        "CREATE TABLE {s}.account AS SELECT 0::bigint AS cents",
        s = schema.name
    );
    client.batch_execute(&account).await.unwrap();
    let deposit = format!("UPDATE {}.account SET cents = cents + 100", schema.name);
    received(&store, &plan(), &ids(1)).await;
    let job = claimed(&store, &plan(), 1).await.remove(0);
    for commits in [false, true] {
        let mut tx = client.transaction().await.unwrap();
        tx.execute(&deposit, &[]).await.unwrap();
        let end = completed(&job, vec![intent("mail")]);
        let finished = tables.finish(&mut tx, &plan(), &[end]).await.unwrap();
        assert_eq!(finished, [Finished::Done]);
        match commits {
            true => tx.commit().await.unwrap(),
            false => tx.rollback().await.unwrap(),
        }
        let record = store.look_up_one(job.claim.identity.clone()).await.unwrap();
        assert_eq!(record.is_some(), commits);
        assert_eq!(balance(&schema).await, if commits { 100 } else { 0 });
        let sent = store
            .message(intent("mail").message.identity().clone())
            .await;
        assert_eq!(sent.unwrap().is_some(), commits);
        if !commits {
            let state = store
                .message(job.claim.identity.clone())
                .await
                .unwrap()
                .unwrap();
            assert_eq!(state.entry.state, State::InProgress);
        }
    }
    let jobs = claimed(&store, &target(), 10).await;
    assert_eq!(jobs.iter().map(id).collect::<Vec<_>>(), ["mail"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_end_that_is_late_leaves_the_users_transaction_whole() {
    let schema = Schema::new();
    let store = schema.open().await;
    let tables = Tables::new(&schema.config());
    received(&store, &plan(), &ids(1)).await;
    let job = claimed(&store, &plan(), 1).await.remove(0);
    crate::verbs::complete(&store, &plan(), std::slice::from_ref(&job)).await;
    let mut late = completed(&job, vec![intent("late")]);
    late.claim.fence = semel_core::Fence::new(999_999);
    let mut client = schema.client().await;
    let mut tx = client.transaction().await.unwrap();
    let finished = tables.finish(&mut tx, &plan(), &[late]).await.unwrap();
    assert_eq!(finished, [Finished::Lost]);
    tx.execute("SELECT 1", &[]).await.unwrap();
    tx.commit().await.unwrap();
    assert!(claimed(&store, &target(), 1).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_are_received_in_a_transaction_are_there_when_it_commits() {
    let schema = Schema::new();
    let store = schema.open().await;
    let tables = Tables::new(&schema.config());
    let mut client = schema.client().await;
    for commits in [false, true] {
        let mut tx = client.transaction().await.unwrap();
        let receipts = tables.receive(&mut tx, &arrivals(&plan(), &ids(3))).await;
        let new = Receipt::Stored {
            state: State::Received,
        };
        assert_eq!(receipts.unwrap(), [new; 3]);
        assert!(claimed(&store, &plan(), 10).await.is_empty());
        match commits {
            true => tx.commit().await.unwrap(),
            false => tx.rollback().await.unwrap(),
        }
    }
    store.wake(&plan().consumer);
    assert_eq!(claimed(&store, &plan(), 10).await.len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_is_fenced_leaves_the_users_transaction_whole() {
    let schema = Schema::new();
    let store = schema.open().await;
    let tables = Tables::new(&schema.config());
    let take = || async {
        let names = vec!["1".to_owned(), "2".to_owned()];
        store
            .take_positions("orders".to_owned(), names)
            .await
            .unwrap()
    };
    let (older, newer) = (take().await, take().await);
    let progress = |taken: &Taken| Progress {
        source: "orders".to_owned(),
        partition: taken.partition.clone(),
        position: "7".to_owned(),
        epoch: taken.epoch,
    };
    let mut client = schema.client().await;
    let mut late = arrivals(&plan(), &ids(3));
    late.positions = vec![progress(&newer[0]), progress(&older[1])];
    let mut tx = client.transaction().await.unwrap();
    tables.receive(&mut tx, &late).await.unwrap_err();
    tx.execute("SELECT 1", &[]).await.unwrap();
    tx.commit().await.unwrap();
    assert!(claimed(&store, &plan(), 10).await.is_empty());
    assert!(take().await.iter().all(|taken| taken.position.is_none()));
}
