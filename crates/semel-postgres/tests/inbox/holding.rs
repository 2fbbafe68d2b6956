//! Renewals beside other sessions: what they hold or move takes nothing from a live worker.

use semel_core::inbox::{Claim, Job, Renewal};
use semel_core::{Inbox, LeaseTerm};

use crate::support::Schema;
use crate::verbs::{claimed, ids, plan, received};

fn claims(jobs: &[Job]) -> Vec<Claim> {
    jobs.iter().map(|job| job.claim.clone()).collect()
}

/// A row that another session moves between the look and the lock is found where it is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_renewal_finds_rows_that_another_session_moves_meanwhile() {
    let schema = Schema::new();
    let store = schema.open().await;
    received(&store, &plan(), &ids(20)).await;
    let jobs = claimed(&store, &plan(), 20).await;
    let other = schema.client().await;
    let table = format!("{}.semel_work", schema.name);
    let moving = tokio::spawn(async move {
        // Every update gives each row a new place, as a step or a slow renewal does.
        for _ in 0..60 {
            let sql = format!("UPDATE {table} SET stepped = NOT stepped");
            other.batch_execute(&sql).await.unwrap();
        }
    });
    let lease = LeaseTerm::default();
    while !moving.is_finished() {
        let renewed = store.renew(claims(&jobs), lease).await.unwrap();
        let lost = renewed.iter().filter(|one| **one == Renewal::Lost).count();
        assert_eq!(lost, 0, "live claims are never lost");
    }
    moving.await.unwrap();
    let renewed = store.renew(claims(&jobs), lease).await.unwrap();
    assert!(
        renewed.iter().all(|one| *one == Renewal::Held),
        "{renewed:?}"
    );
}

/// One row that a transaction of the user's own holds fails the renewal of no other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_locked_row_fails_the_renewal_of_no_other() {
    let schema = Schema::new();
    let store = schema.open().await;
    received(&store, &plan(), &ids(3)).await;
    let jobs = claimed(&store, &plan(), 3).await;
    let client = schema.client().await;
    let key = jobs[1].claim.identity.key().to_string();
    let hold = format!(
        "BEGIN; SELECT FROM {s}.semel_work w JOIN {s}.semel_messages m USING (digest) \
         WHERE m.key = '{key}' FOR UPDATE OF w",
        s = schema.name
    );
    client.batch_execute(&hold).await.unwrap();
    let renewed = store.renew(claims(&jobs), LeaseTerm::default()).await;
    let (held, busy) = (Renewal::Held, Renewal::Busy);
    assert_eq!(renewed.unwrap(), [held, busy, held]);
    client.batch_execute("ROLLBACK").await.unwrap();
    let renewed = store.renew(claims(&jobs), LeaseTerm::default()).await;
    assert_eq!(renewed.unwrap(), [held, held, held]);
}
