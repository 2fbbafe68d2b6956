//! Arrivals that meet the end of the same message.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use semel_core::inbox::{Finished, Order, Plan};
use semel_core::{Inbox, Store};
use tokio::task::JoinSet;

use crate::support::Schema;
use crate::verbs::{arrivals, claimed, complete, completed, id, ids, plan};

/// The same few messages arrive again and again while workers complete them: each runs once.
async fn hammer(plan: Plan) {
    const MESSAGES: usize = 200;
    const RECEIVERS: usize = 4;
    let schema = Schema::new();
    let stores = [schema.open().await, schema.open().await].map(Arc::new);
    let ran: Arc<Mutex<HashMap<String, usize>>> = Arc::default();
    let over = Arc::new(AtomicBool::new(false));
    let mut workers = JoinSet::new();
    for n in 0..3 {
        let (store, plan) = (stores[n % 2].clone(), plan.clone());
        let (ran, over) = (ran.clone(), over.clone());
        workers.spawn(async move {
            loop {
                let last = over.load(Ordering::SeqCst);
                let jobs = claimed(&store, &plan, 5).await;
                if jobs.is_empty() && last {
                    return;
                }
                for job in &jobs {
                    *ran.lock().unwrap().entry(id(job)).or_default() += 1;
                }
                complete(&store, &plan, &jobs).await;
            }
        });
    }
    let mut receivers = JoinSet::new();
    for n in 0..RECEIVERS {
        let (store, plan) = (stores[n % 2].clone(), plan.clone());
        receivers.spawn(async move {
            let all = ids(MESSAGES);
            for first in 0..MESSAGES {
                // A window that moves over the messages, so that all receivers and workers are at the same few.
                let window = &all[first..MESSAGES.min(first + 4)];
                store.receive(arrivals(&plan, window)).await.unwrap();
            }
        });
    }
    receivers.join_all().await;
    over.store(true, Ordering::SeqCst);
    workers.join_all().await;
    let ran = ran.lock().unwrap();
    assert_eq!(ran.len(), MESSAGES);
    assert!(ran.values().all(|count| *count == 1), "{ran:?}");
    let identities = ids(MESSAGES);
    let identities = arrivals(&plan, &identities).messages;
    let identities = identities.iter().map(|m| m.identity().clone()).collect();
    let records = stores[0].look_up(identities).await.unwrap();
    assert!(records.iter().all(Option::is_some));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_keep_arriving_while_they_are_completed_run_once() {
    hammer(plan()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_in_the_order_of_arrival() {
    let on_terminal = semel_core::inbox::OnTerminal::Park;
    let mut plan = plan();
    plan.order = Order::Arrival { on_terminal };
    hammer(plan).await;
}

/// Both insert, one waits for the other, and looks again.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_receive_that_waited_for_a_finish_takes_its_work_back() {
    let schema = Schema::new();
    let store = Arc::new(schema.open().await);
    let (plan, all) = (plan(), ids(1));
    crate::verbs::received(&store, &plan, &all).await;
    let jobs = claimed(&store, &plan, 1).await;
    let mut client = schema.client().await;
    let mut tx = client.transaction().await.unwrap();
    let tables = semel_postgres::tx::Tables::new(&schema.config());
    // The finish is done and not committed: what arrives now has to wait for it.
    let ends = [completed(&jobs[0], Vec::new())];
    let finished = tables.finish(&mut tx, &plan, &ends).await.unwrap();
    assert_eq!(finished, [Finished::Done]);
    // The message is known as long as the finish is not committed; the insert is made in a way that does not look first.
    let digest = uuid::Uuid::from_bytes(jobs[0].ticket.identity.digest().short());
    let insert = format!(
        "INSERT INTO {s}.semel_work (digest, expires_ms, number, received_ms, fence, changed_ms, due_ms, attempts, generation, \
         state, replay, stepped, consumer, fingerprint) \
         VALUES ('{digest}', 0, 0, 0, 0, 0, 0, 0, 0, 0, false, false, 'mailer@1', '') ON CONFLICT DO NOTHING",
        s = schema.name
    );
    let other = schema.client().await;
    let waiting = tokio::spawn(async move { other.execute(&insert, &[]).await });
    let watcher = schema.client().await;
    let blocked =
        "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
    let like = format!("INSERT INTO {}.semel_work%", schema.name);
    crate::support::verbs::until("the insert waits", async || {
        let count: i64 = watcher.query_one(blocked, &[&like]).await.unwrap().get(0);
        count == 1
    })
    .await;
    tx.commit().await.unwrap();
    assert_eq!(
        waiting.await.unwrap().unwrap(),
        1,
        "PostgreSQL lets it in: only a second look helps"
    );
    // What the store does in that place is held to it by the hammer; here its second look is shown to see the record.
    let records = store.look_up(vec![jobs[0].ticket.identity.clone()]).await;
    assert!(records.unwrap()[0].is_some());
}
