//! Several machines, one inbox.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use semel_core::Inbox;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::support::Schema;
use crate::support::verbs::PATIENCE;
use crate::verbs::{claimed, complete, id, ids, plan, received};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machines_share_an_inbox_without_overlap() {
    const MESSAGES: usize = 600;
    let schema = Schema::new();
    let stores = [schema.open().await, schema.open().await].map(Arc::new);
    let all = ids(MESSAGES);
    received(&stores[0], &plan(), &all).await;
    let mut workers = JoinSet::new();
    for n in 0..6 {
        let store = stores[n % 2].clone();
        workers.spawn(async move {
            let mut own = Vec::new();
            loop {
                let jobs = claimed(&store, &plan(), 17).await;
                if jobs.is_empty() {
                    return own;
                }
                complete(&store, &plan(), &jobs).await;
                own.extend(jobs.iter().map(id));
            }
        });
    }
    let mut run = workers.join_all().await.concat();
    let left = claimed(&stores[1], &plan(), MESSAGES).await;
    complete(&stores[1], &plan(), &left).await;
    run.extend(left.iter().map(id));
    let distinct: BTreeSet<&String> = run.iter().collect();
    assert_eq!((run.len(), distinct.len()), (MESSAGES, MESSAGES));
}

/// The other machine is told: nobody there has to look.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_wakes_another_machine() {
    let schema = Schema::new();
    let (here, there) = (schema.open().await, schema.open().await);
    let mut wake_up = there.wake_up(&plan().consumer);
    // Whoever begins to listen rings once for what was missed before.
    timeout(PATIENCE, wake_up.woken())
        .await
        .expect("it listens");
    let mut other = there.wake_up(&"somebody-else@1".parse().unwrap());
    for n in 0..3 {
        received(&here, &plan(), &[format!("m-{n}")]).await;
        timeout(PATIENCE, wake_up.woken())
            .await
            .expect("it is woken");
    }
    let heard = timeout(Duration::from_millis(1), other.woken()).await;
    assert!(heard.is_err(), "other consumers sleep on");
}

/// Whoever lost the connection that it listened on makes it again, and looks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_machine_whose_connection_broke_listens_again() {
    let schema = Schema::new();
    let (here, there) = (schema.open().await, schema.open().await);
    let mut wake_up = there.wake_up(&plan().consumer);
    timeout(PATIENCE, wake_up.woken())
        .await
        .expect("it listens");
    let client = schema.client().await;
    let end = format!(
        "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE query = 'LISTEN semel_{}'",
        schema.name
    );
    let ended: i64 = client.query_one(&end, &[]).await.unwrap().get(0);
    assert_eq!(ended, 1);
    timeout(PATIENCE, wake_up.woken())
        .await
        .expect("it is back");
    received(&here, &plan(), &ids(1)).await;
    timeout(PATIENCE, wake_up.woken())
        .await
        .expect("it is woken");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_listens_who_was_not_asked_to() {
    let schema = Schema::new();
    let store = schema.open().await;
    received(&store, &plan(), &ids(10)).await;
    let client = schema.client().await;
    let listening = format!(
        "SELECT count(*) FROM pg_stat_activity WHERE query = 'LISTEN semel_{}'",
        schema.name
    );
    let count: i64 = client.query_one(&listening, &[]).await.unwrap().get(0);
    assert_eq!(count, 0);
}
