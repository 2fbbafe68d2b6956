//! The wire breaks in the middle of a call, or the caller goes away.

use std::sync::Arc;

use semel_core::inbox::{Finished, Receipt, State};
use semel_core::{Inbox, StoreExt};
use semel_postgres::PostgresStore;
use semel_testkit::proxy::Proxy;

use crate::support::verbs::{address, through, until};
use crate::support::{Schema, url};
use crate::verbs::{arrivals, ask, claimed, complete, completed, ids, plan, received};

/// A store with one connection, which goes through a proxy and has spoken before.
async fn behind_proxy(schema: &Schema) -> (Proxy, PostgresStore) {
    let proxy = Proxy::start(address(&url())).await;
    let config = schema.config_at(&through(&schema.url, &proxy));
    let store = config.connections(1).connect().await.unwrap();
    received(&store, &plan(), &["warm".to_owned()]).await;
    let jobs = claimed(&store, &plan(), 1).await;
    complete(&store, &plan(), &jobs).await;
    (proxy, store)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finish_whose_answer_was_lost_is_done() {
    let schema = Schema::new();
    let (proxy, store) = behind_proxy(&schema).await;
    for bytes in [0, 1, 20] {
        received(&store, &plan(), &[format!("k{bytes}")]).await;
        let jobs = claimed(&store, &plan(), 1).await;
        let cut = proxy.counts().cut;
        proxy.cut_after(bytes);
        complete(&store, &plan(), &jobs).await;
        assert_eq!(proxy.counts().cut, cut + 1, "the connection was cut");
        let identity = jobs[0].claim.identity.clone();
        let detail = store.message(identity.clone()).await.unwrap().unwrap();
        assert_eq!(detail.entry.state, State::Completed);
        assert_eq!(detail.attempts, [], "nothing is late");
        let record = store.look_up_one(identity).await.unwrap().unwrap();
        assert_eq!(record.fence, jobs[0].claim.fence);
    }
}

/// A claim whose answer was lost finds its batch again: nothing waits for a lease to end, and nothing is held that never began.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_answer_was_lost_finds_its_own() {
    let schema = Schema::new();
    let (proxy, store) = behind_proxy(&schema).await;
    for bytes in [0, 1, 20, 200] {
        let names: Vec<String> = (0..3).map(|n| format!("k{bytes}-{n}")).collect();
        received(&store, &plan(), &names).await;
        let cut = proxy.counts().cut;
        proxy.cut_after(bytes);
        let jobs = claimed(&store, &plan(), 10).await;
        assert_eq!(proxy.counts().cut, cut + 1, "the connection was cut");
        assert_eq!(jobs.len(), 3, "cut after {bytes}");
        assert!(jobs.iter().all(|job| job.attempt == 1 && !job.reclaimed));
        complete(&store, &plan(), &jobs).await;
    }
}

/// In a lane a finish takes several round trips; it is cut in the middle of each.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_finish_in_a_lane_is_done_once_wherever_it_is_cut() {
    let schema = Schema::new();
    let (proxy, store) = behind_proxy(&schema).await;
    let mut plan = plan();
    plan.order = semel_core::inbox::Order::Arrival {
        on_terminal: semel_core::inbox::OnTerminal::Park,
    };
    let all = ids(40);
    let mut batch = arrivals(&plan, &all);
    for message in &mut batch.messages {
        *message = message.clone().with_lane("lane".parse().unwrap());
    }
    store.receive(batch).await.unwrap();
    for (n, expected) in all.iter().enumerate() {
        let jobs = claimed(&store, &plan, 10).await;
        assert_eq!((jobs.len(), &crate::verbs::id(&jobs[0])), (1, expected));
        proxy.cut_after(n * 25);
        let items = vec![completed(&jobs[0], Vec::new())];
        let finished = store.finish(plan.clone(), items).await.unwrap();
        assert_eq!(finished, [Finished::Done]);
        proxy.resume();
    }
    assert!(claimed(&store, &plan, 10).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receive_whose_answer_was_lost_has_stored_its_messages_once() {
    let schema = Schema::new();
    let (proxy, store) = behind_proxy(&schema).await;
    for bytes in [0, 30, 100, 200, 300] {
        let all: Vec<String> = (0..5).map(|n| format!("{bytes}-{n}")).collect();
        proxy.cut_after(bytes);
        let receipts = store.receive(arrivals(&plan(), &all)).await.unwrap();
        let state = State::Received;
        let known = [Receipt::Stored { state }, Receipt::duplicate(state)];
        assert!(
            receipts
                .iter()
                .all(|receipt| known.contains(&receipt.brief()))
        );
        let jobs = claimed(&store, &plan(), 100).await;
        let found: Vec<String> = jobs.iter().map(crate::verbs::id).collect();
        assert_eq!(found, all);
        complete(&store, &plan(), &jobs).await;
    }
}

/// Nobody works on what was claimed for a caller who left, so nobody waits for the lease to end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_whose_caller_left_is_given_back() {
    let schema = Schema::new();
    let store = Arc::new(schema.open().await);
    received(&store, &plan(), &ids(3)).await;
    // The claim has to wait at the server until its caller has left.
    let client = schema.client().await;
    let hold = format!(
        "BEGIN; LOCK TABLE {}.semel_work IN EXCLUSIVE MODE",
        schema.name
    );
    client.batch_execute(&hold).await.unwrap();
    let claimer = store.clone();
    let caller = tokio::spawn(async move { claimer.claim_batch(ask(&plan(), 3)).await });
    let watcher = schema.client().await;
    let waiting =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
    let like = format!("%FROM {}.semel_work%", schema.name);
    until("the claim waits", async || {
        let count: i64 = watcher.query_one(waiting, &[&like]).await.unwrap().get(0);
        count == 1
    })
    .await;
    caller.abort();
    assert!(caller.await.unwrap_err().is_cancelled());
    client.batch_execute("COMMIT").await.unwrap();
    let returned = format!(
        "SELECT count(*) FROM {}.semel_transitions WHERE cause = 'returned'",
        schema.name
    );
    until("the messages are given back", async || {
        let count: i64 = watcher.query_one(&returned, &[]).await.unwrap().get(0);
        count == 3
    })
    .await;
    let jobs = claimed(&store, &plan(), 3).await;
    assert!(jobs.iter().all(|job| job.attempt == 1) && jobs.len() == 3);
}
