//! Many handles on one file, and the protocol inside the user's own transaction.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, Transaction, TransactionBehavior};
use semel_core::record::Claim;
use semel_core::store::{
    ClaimAnswer, ClaimRequest, ReleaseAnswer, SettleAnswer, SettleRequest, StoreExt, Takeover,
};
use semel_core::{Fingerprint, Identity, LeaseTerm, Outcome, Retention};
use semel_sqlite::{Config, SqliteStore, claim_in, release_in, settle_in, tx};
use tempfile::TempDir;
use tokio::task::JoinSet;

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: Identity::parse("t", "sharing@1", key).unwrap(),
        fingerprint: Fingerprint::none(),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

fn settle_request(claim: Claim) -> SettleRequest {
    SettleRequest {
        claim,
        outcome: Outcome::succeeded("done"),
        took: Duration::ZERO,
        retention: Retention::default(),
    }
}

fn store(dir: &TempDir) -> SqliteStore {
    Config::new(dir.path().join("shared.db"))
        .sweep_every(None)
        .open()
        .unwrap()
}

/// The user's own connection, with a table of the user's.
fn account(dir: &TempDir) -> Connection {
    let mut connection = Connection::open(dir.path().join("shared.db")).unwrap();
    connection.busy_timeout(Duration::from_secs(5)).unwrap();
    tx::install(&mut connection).unwrap();
    let sql = "CREATE TABLE IF NOT EXISTS account (balance INTEGER NOT NULL);
               INSERT INTO account SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM account)";
    connection.execute_batch(sql).unwrap();
    connection
}

fn begin(connection: &mut Connection) -> Transaction<'_> {
    connection
        .transaction_with_behavior(TransactionBehavior::Immediate)
        .unwrap()
}

fn balance(connection: &Connection) -> i64 {
    connection
        .query_row("SELECT balance FROM account", [], |row| row.get(0))
        .unwrap()
}

/// Adds 100 to the account unless the message was handled before.
fn deposit(tx: &Transaction<'_>, key: &str) -> ClaimAnswer {
    let answer = claim_in(tx, &request(key)).unwrap();
    if let ClaimAnswer::Granted(lease) = &answer {
        tx.execute("UPDATE account SET balance = balance + 100", [])
            .unwrap();
        let settled = settle_in(tx, &settle_request(lease.claim.clone())).unwrap();
        assert_eq!(settled, SettleAnswer::Settled);
    }
    answer
}

#[tokio::test]
async fn a_storm_over_two_handles_has_exactly_one_winner_per_key() {
    let dir = tempfile::tempdir().unwrap();
    let handles = [Arc::new(store(&dir)), Arc::new(store(&dir))];
    let mut storm = JoinSet::new();
    for n in 0..400 {
        let store = handles[n % 2].clone();
        storm.spawn(async move {
            (
                n / 2 % 20,
                store.claim_one(request(&format!("k-{}", n / 2 % 20))).await,
            )
        });
    }
    let mut grants = [0; 20];
    let mut fences = Vec::new();
    for (key, answer) in storm.join_all().await {
        if let ClaimAnswer::Granted(lease) = answer.unwrap() {
            grants[key] += 1;
            fences.push(lease.claim.fence);
        }
    }
    assert_eq!(grants, [1; 20]);
    fences.sort_unstable();
    fences.dedup();
    assert_eq!(fences.len(), 20, "a fence was drawn twice");
}

#[test]
fn marker_and_effect_commit_together() {
    let dir = tempfile::tempdir().unwrap();
    let mut connection = account(&dir);
    for _delivery in 0..3 {
        let tx = begin(&mut connection);
        deposit(&tx, "msg-1");
        tx.commit().unwrap();
    }
    assert_eq!(balance(&connection), 100);
}

#[test]
fn a_rollback_leaves_neither_marker_nor_effect() {
    let dir = tempfile::tempdir().unwrap();
    let mut connection = account(&dir);
    let first = begin(&mut connection);
    let ClaimAnswer::Granted(rolled_back) = deposit(&first, "msg-1") else {
        panic!("expected a grant");
    };
    drop(first);
    assert_eq!(balance(&connection), 0);
    let second = begin(&mut connection);
    let ClaimAnswer::Granted(lease) = deposit(&second, "msg-1") else {
        panic!("the rolled back claim must not be in the way");
    };
    assert_eq!(lease.attempt, rolled_back.attempt);
    second.commit().unwrap();
    assert_eq!(balance(&connection), 100);
}

#[tokio::test]
async fn store_and_transaction_share_one_record_space() {
    let dir = tempfile::tempdir().unwrap();
    let store = store(&dir);
    let mut connection = account(&dir);

    // What the transaction settled, the store replays.
    let tx = begin(&mut connection);
    deposit(&tx, "from-tx");
    tx.commit().unwrap();
    let answer = store.claim_one(request("from-tx")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Settled(_)));

    // What the store runs, the transaction sees running, and may settle with its fence.
    let ClaimAnswer::Granted(lease) = store.claim_one(request("from-store")).await.unwrap() else {
        panic!("expected a grant");
    };
    let tx = begin(&mut connection);
    let answer = claim_in(&tx, &request("from-store")).unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { .. }));
    let settled = settle_in(&tx, &settle_request(lease.claim.clone())).unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
    tx.commit().unwrap();
    let again = store.settle_one(settle_request(lease.claim)).await.unwrap();
    assert_eq!(again, SettleAnswer::Settled);
}

#[test]
fn a_claim_can_be_released_in_a_transaction() {
    let dir = tempfile::tempdir().unwrap();
    let mut connection = account(&dir);
    let tx = begin(&mut connection);
    let ClaimAnswer::Granted(lease) = claim_in(&tx, &request("k")).unwrap() else {
        panic!("expected a grant");
    };
    assert_eq!(
        release_in(&tx, &lease.claim).unwrap(),
        ReleaseAnswer::Released
    );
    assert_eq!(
        release_in(&tx, &lease.claim).unwrap(),
        ReleaseAnswer::Released
    );
    tx.commit().unwrap();
}

#[tokio::test]
async fn a_cancelled_claim_leaves_a_lease_that_ends_and_nobody_else_runs_until_then() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(store(&dir));
    for n in 0..50 {
        let key = format!("k-{n}");
        let short = ClaimRequest {
            lease: LeaseTerm::new(Duration::from_millis(30)).unwrap(),
            ..request(&key)
        };
        // Cancelled at a different moment each time: queued, being written, or answered.
        let claim = store.claim_one(short.clone());
        let _ = tokio::time::timeout(Duration::from_micros(n * 40), claim).await;
        let rerun = ClaimRequest {
            takeover: Takeover::Allowed,
            ..short
        };
        let next = async {
            loop {
                match store.claim_one(rerun.clone()).await.unwrap() {
                    ClaimAnswer::Granted(lease) => break lease,
                    ClaimAnswer::Running { lease_left, .. } => tokio::time::sleep(lease_left).await,
                    other => panic!("expected running or a grant, found {other:?}"),
                }
            }
        };
        let lease = tokio::time::timeout(Duration::from_secs(10), next)
            .await
            .expect("no key stays locked");
        assert!(lease.attempt <= 2);
    }
}

#[test]
fn a_verb_that_fails_in_a_transaction_leaves_the_record_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let mut connection = account(&dir);
    let tx = begin(&mut connection);
    let ClaimAnswer::Granted(lease) = claim_in(&tx, &request("k")).unwrap() else {
        panic!("expected a grant");
    };
    tx.commit().unwrap();
    // The file may not grow any more: the outcome does not fit, the rest would.
    let pages: i64 = connection
        .pragma_query_value(None, "page_count", |row| row.get(0))
        .unwrap();
    connection
        .pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()))
        .unwrap();
    let large = SettleRequest {
        outcome: Outcome::succeeded(vec![7; 100_000]),
        ..settle_request(lease.claim.clone())
    };
    let tx = begin(&mut connection);
    let error = settle_in(&tx, &large).unwrap_err();
    assert_eq!(error.kind(), semel_core::Kind::DiskFull, "{error}");
    // Whether there is anything left to commit is SQLite's choice; half a verb is not.
    let _ = tx.commit();
    let tx = begin(&mut connection);
    let answer = claim_in(&tx, &request("k")).unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { .. }), "{answer:?}");
}
