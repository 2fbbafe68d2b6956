//! Handlers that finish a message in their own transaction: effect, end and intents commit together.

use std::sync::Arc;
use std::sync::Mutex;

use rusqlite::TransactionBehavior::Immediate;
use semel_core::inbox::{Finished, State};
use semel_core::{Inbox, Outcome};
use semel_inbox::intents::Target;
use semel_inbox::{Done, Failure, handler_fn};
use semel_sqlite::inbox::finish_in;

use crate::providers::Provider;
use crate::support::{Rig, consumer, identity, message, quick};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn effect_end_and_intents_commit_together() {
    let (rig, provider) = (Rig::new(), Provider::start(|_| None).await);
    let connection = rusqlite::Connection::open(rig.dir.path().join("semel.db")).unwrap();
    connection
        .busy_timeout(std::time::Duration::from_secs(180))
        .unwrap();
    connection
        .execute_batch("CREATE TABLE account (balance INTEGER); INSERT INTO account VALUES (0)")
        .unwrap();
    let connection = Arc::new(Mutex::new(connection));
    let database = connection.clone();
    let handler = handler_fn(move |ctx| {
        let database = database.clone();
        async move {
            ctx.intent("pay", "charge", "{}")?;
            let mut database = database.lock().unwrap();
            let tx = database.transaction_with_behavior(Immediate)?;
            tx.execute("UPDATE account SET balance = balance + 100", [])?;
            if ctx.attempt() == 1 {
                return Err(Failure::retryable("the transaction is rolled back"));
            }
            let finish = ctx.finish(Outcome::succeeded("100"))?;
            match finish_in(&tx, ctx.plan(), &finish)? {
                Finished::Done => tx.commit()?,
                Finished::Lost => tx.rollback()?,
            }
            Ok(Done::in_transaction())
        }
    });
    let target = Target::new("pay", &provider.server.url("/charges")).unwrap();
    let engine = rig.engine().target(target.retry(quick(3)));
    let engine = engine.consumer(consumer("deposits"), handler);
    let running = engine.build().unwrap().start();
    rig.receive(message("deposits", "d-1", "{}")).await;
    rig.until(&identity("deposits", "d-1"), State::Completed)
        .await;
    let charge = identity("intent:pay", "deposits@1:d-1:charge");
    rig.until(&charge, State::Completed).await;
    running.shutdown().await;
    let balance: i64 = connection
        .lock()
        .unwrap()
        .query_row("SELECT balance FROM account", [], |row| row.get(0))
        .unwrap();
    assert_eq!(balance, 100);
    assert_eq!(provider.charges(), 1);
    let finished = rig.seen.finished.lock().unwrap().clone();
    let states: Vec<State> = finished
        .iter()
        .filter(|(id, _)| id == "d-1")
        .map(|(_, end)| end.state)
        .collect();
    assert_eq!(states, [State::FailedRetryable, State::Completed]);
    let detail = rig.store.message(identity("deposits", "d-1")).await;
    let late = detail.unwrap().unwrap().attempts;
    assert!(late.iter().all(|attempt| !attempt.late));
}
