//! Arrivals that meet the end of the same message.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use semel_core::inbox::{Order, Plan, Receipt, State};
use semel_core::store::all;
use semel_core::{Inbox, Store};
use tokio::task::JoinSet;

use crate::support::Schema;
use crate::support::verbs::PATIENCE;
use crate::verbs::{arrivals, claimed, complete, id, ids, plan};

/// The same few messages arrive again and again while workers complete them: each runs once.
async fn hammer(plan: Plan) {
    const MESSAGES: usize = 200;
    const RECEIVERS: usize = 4;
    let schema = Schema::new();
    let open = async || Arc::new(schema.config().timeout(PATIENCE).connect().await.unwrap());
    let stores = [open().await, open().await];
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
    let ran = ran.lock().unwrap().clone();
    assert_eq!(ran.len(), MESSAGES);
    assert!(ran.values().all(|count| *count == 1), "{ran:?}");
    let identities = ids(MESSAGES);
    let identities = arrivals(&plan, &identities).messages;
    let identities = identities.iter().map(|m| m.identity().clone()).collect();
    let records = all(stores[0].look_up(identities).await).unwrap();
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

/// Between the look and the insert somebody else receives, runs and completes the same message: a trigger brings the record at
/// that very moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_settled_between_the_look_and_the_insert_is_taken_back() {
    let schema = Schema::new();
    let store = schema.open().await;
    let (plan, all) = (plan(), ids(3));
    let print = arrivals(&plan, &all).messages[1].fingerprint();
    let print: String = print
        .as_bytes()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let digest = arrivals(&plan, &all).messages[1]
        .identity()
        .digest()
        .short();
    let digest = uuid::Uuid::from_bytes(digest);
    let client = schema.client().await;
    client
        .batch_execute(&format!(
            "CREATE FUNCTION {s}.meanwhile() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             IF NEW.digest = '{digest}' THEN \
             INSERT INTO {s}.semel_records (digest, fence, claimed_ms, nonce, state, attempt, version, tenant, scope, key, \
                 fingerprint, expires_ms, settled_ms, took_ms, flags, status) \
             VALUES (NEW.digest, 1, 1, 0, 2, 1, 1, 'public', 'mailer', 'm-1', decode('{print}', 'hex'), \
                 9000000000000, 1, 1, 0, 0); END IF; RETURN NEW; END $$; \
             CREATE TRIGGER meanwhile BEFORE INSERT ON {s}.semel_work FOR EACH ROW EXECUTE FUNCTION {s}.meanwhile()",
            s = schema.name
        ))
        .await
        .unwrap();
    let receipts = store.receive(arrivals(&plan, &all)).await.unwrap();
    let (new, done) = (State::Received, State::Completed);
    let new = Receipt::Stored { state: new };
    let receipts: Vec<_> = receipts.into_iter().map(Receipt::brief).collect();
    assert_eq!(receipts, [new, Receipt::duplicate(done), new]);
    let jobs = claimed(&store, &plan, 10).await;
    assert_eq!(jobs.iter().map(id).collect::<Vec<_>>(), ["m-0", "m-2"]);
}
