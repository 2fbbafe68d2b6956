//! Other users of the same server: open transactions, and items that spoil the statement of a batch.

use std::sync::Arc;

use futures_util::future::join_all;
use semel_core::record::Claim;
use semel_core::store::{ClaimAnswer, RenewAnswer, RenewRequest, SettleAnswer};
use semel_core::{Kind, LeaseTerm, Result, Store, StoreExt};
use semel_postgres::PostgresStore;
use tokio::task::JoinHandle;
use uuid::Uuid;

use crate::support::Schema;
use crate::support::verbs::{granted, identity, lease_of, request, settle, short, until};

/// An uncommitted claim, as a transaction of the user's own makes it.
async fn hold(schema: &Schema, key: &str) -> tokio_postgres::Client {
    let client = schema.client().await;
    let digest = Uuid::from_bytes(identity(key).digest().short());
    client
        .batch_execute(&format!(
            "BEGIN; INSERT INTO {}.semel_records \
             (digest, fence, claimed_ms, lease_ms, nonce, state, attempt, version, tenant, scope, key, fingerprint) \
             VALUES ('{digest}', 1000000, 0, 0, 0, 0, 1, 1, 'acme', 'payments', '{key}', '')",
            schema.name
        ))
        .await
        .expect("an uncommitted claim");
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_transaction_holds_up_only_callers_of_its_own_operation() {
    let schema = Schema::new();
    let store = schema.open().await;
    let user = hold(&schema, "held").await;
    let keys: Vec<String> = (0..30)
        .map(|n| format!("k{n}"))
        .chain(["held".to_owned()])
        .collect();
    let answers = join_all(keys.iter().map(|key| store.claim_one(request(key)))).await;
    // All of them have their answer while the transaction is still open.
    for (key, answer) in keys.iter().zip(answers) {
        match key.as_str() {
            "held" => assert_eq!(answer.unwrap_err().kind(), Kind::Locked),
            _ => drop(lease_of(answer.unwrap())),
        }
    }
    user.batch_execute("ROLLBACK").await.unwrap();
    granted(&store, "held").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_of_many_claims_with_one_that_is_locked_grants_the_others() {
    let schema = Schema::new();
    let store = schema.open().await;
    let user = hold(&schema, "held").await;
    let asked = ["a", "held", "b", "c"].map(request);
    let answers = store.claim(asked.into_iter().collect()).await;
    for (place, answer) in answers.into_iter().enumerate() {
        match place {
            1 => assert_eq!(answer.unwrap_err().kind(), Kind::Locked),
            _ => drop(lease_of(answer.unwrap())),
        }
    }
    user.batch_execute("ROLLBACK").await.unwrap();
    granted(&store, "held").await;
    assert_eq!(store.stats().await.unwrap().unknown, 0);
}

/// A store of one round trip at a time that waits for a lock as long as the test may take: what waits in front of the
/// others holds all of them up.
async fn of_one_lane(schema: &Schema) -> Arc<PostgresStore> {
    let url = format!(
        "{}?lanes=1&timeout=60s&options=-c%20lock_timeout%3D60s",
        schema.url
    );
    let config = schema.config_at(&url).connections(8);
    Arc::new(config.connect().await.expect("the server answers"))
}

/// A transaction of the test's own that has done `statement` to the row of `key`.
async fn hold_row(schema: &Schema, key: &str, statement: &str) -> tokio_postgres::Client {
    let client = schema.client().await;
    let digest = Uuid::from_bytes(identity(key).digest().short());
    let statement = statement.replace("ROWS", &format!("{}.semel_records", schema.name));
    let held = format!("BEGIN; {statement} WHERE digest = '{digest}' ");
    let held = match statement.starts_with("SELECT") {
        true => held + "FOR UPDATE",
        false => held,
    };
    client.batch_execute(&held).await.expect("the row is free");
    client
}

/// Waits until a connection of a store waits for a lock on the records of `schema`.
async fn until_one_waits(schema: &Schema) {
    let client = schema.client().await;
    let ask = format!(
        "SELECT count(*) FROM pg_stat_activity a WHERE a.wait_event_type = 'Lock' AND a.application_name = 'semel' \
             AND a.pid IN (SELECT pid FROM pg_locks WHERE relation = '{}.semel_records'::regclass)",
        schema.name
    );
    until("a statement waits for the lock", async || {
        client.query_one(&ask, &[]).await.unwrap().get::<_, i64>(0) > 0
    })
    .await;
}

/// One caller waits for what a transaction holds, and 64 others do not, whose keys begin with `group`.
async fn others_are_answered<T: Send + std::fmt::Debug + 'static>(
    store: &Arc<PostgresStore>,
    waiting: &JoinHandle<Result<T>>,
    group: &str,
) {
    for round in 0..2 {
        let keys: Vec<String> = (0..64).map(|n| format!("{group}-{round}-{n}")).collect();
        let leases = join_all(keys.iter().map(|key| granted(store.as_ref(), key))).await;
        let settled = leases
            .iter()
            .map(|lease| store.settle_one(settle(&lease.claim, "done")));
        for answer in join_all(settled).await {
            assert_eq!(answer.unwrap(), SettleAnswer::Settled);
        }
    }
    assert!(!waiting.is_finished(), "the lock is still held");
}

fn spawn_claim(store: &Arc<PostgresStore>, key: &'static str) -> JoinHandle<Result<ClaimAnswer>> {
    let store = store.clone();
    tokio::spawn(async move { store.claim_one(request(key)).await })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replays_of_a_record_that_is_locked_are_answered() {
    let schema = Schema::new();
    let store = of_one_lane(&schema).await;
    let lease = granted(store.as_ref(), "done").await;
    let settled = store.settle_one(settle(&lease.claim, "done")).await;
    assert_eq!(settled.unwrap(), SettleAnswer::Settled);
    for statement in [
        "SELECT FROM ROWS",
        "UPDATE ROWS SET attempt = attempt",
        "DELETE FROM ROWS",
    ] {
        let user = hold_row(&schema, "done", statement).await;
        let replays = (0..64).map(|_| store.claim_one(request("done")));
        for answer in join_all(replays).await {
            let answer = answer.unwrap();
            assert!(matches!(answer, ClaimAnswer::Settled(_)), "{answer:?}");
        }
        let both = ["done", statement].map(request);
        let answers = store.claim(both.into_iter().collect()).await;
        assert!(matches!(answers[0], Ok(ClaimAnswer::Settled(_))));
        assert!(matches!(answers[1], Ok(ClaimAnswer::Granted(_))));
        user.batch_execute("ROLLBACK").await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_is_not_committed_keeps_only_its_own_callers_waiting() {
    let schema = Schema::new();
    let store = of_one_lane(&schema).await;
    let user = hold(&schema, "held").await;
    let waiting = spawn_claim(&store, "held");
    until_one_waits(&schema).await;
    others_are_answered(&store, &waiting, "other").await;
    // In one call with others as well, and however many ask for it.
    let more: Vec<_> = (0..20).map(|_| spawn_claim(&store, "held")).collect();
    let asked = ["x", "y"].map(request).into_iter().collect();
    assert!(store.claim(asked).await.iter().all(Result::is_ok));
    others_are_answered(&store, &waiting, "another").await;
    user.batch_execute("ROLLBACK").await.unwrap();
    let mut granted = usize::from(matches!(
        waiting.await.unwrap(),
        Ok(ClaimAnswer::Granted(_))
    ));
    for answer in more {
        match answer.await.unwrap().unwrap() {
            ClaimAnswer::Granted(_) => granted += 1,
            ClaimAnswer::Running { .. } => {}
            other => panic!("expected one grant, found {other:?}"),
        }
    }
    assert_eq!(granted, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_that_must_be_decided_about_and_is_locked_keeps_only_its_own_callers_waiting() {
    let schema = Schema::new();
    let store = of_one_lane(&schema).await;
    lease_of(store.claim_one(short("ended", 1)).await.unwrap());
    let user = hold_row(&schema, "ended", "SELECT FROM ROWS").await;
    until("the lease has ended", async || {
        let record = store.look_up_one(identity("ended")).await.unwrap().unwrap();
        matches!(record.state, semel_core::State::Unknown { .. })
    })
    .await;
    let waiting = spawn_claim(&store, "ended");
    until_one_waits(&schema).await;
    others_are_answered(&store, &waiting, "other").await;
    user.batch_execute("ROLLBACK").await.unwrap();
    let answer = waiting.await.unwrap().unwrap();
    assert!(matches!(answer, ClaimAnswer::Unknown { .. }), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_owner_whose_row_is_locked_keeps_no_other_owner_waiting() {
    let schema = Schema::new();
    let store = of_one_lane(&schema).await;
    let claim = granted(store.as_ref(), "k").await.claim;
    let user = hold_row(&schema, "k", "SELECT FROM ROWS").await;
    let renewing = tokio::spawn(renew(store.clone(), claim.clone()));
    until_one_waits(&schema).await;
    let other = granted(store.as_ref(), "other").await.claim;
    let renewed = renew(store.clone(), other).await.unwrap();
    assert!(matches!(renewed, RenewAnswer::Renewed(_)), "{renewed:?}");
    let settling = tokio::spawn({
        let store = store.clone();
        async move { store.settle_one(settle(&claim, "done")).await }
    });
    others_are_answered(&store, &settling, "other").await;
    user.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(settling.await.unwrap().unwrap(), SettleAnswer::Settled);
    renewing.await.unwrap().unwrap();
}

async fn renew(store: Arc<PostgresStore>, claim: Claim) -> Result<RenewAnswer> {
    let lease = LeaseTerm::default();
    store.renew_one(RenewRequest { claim, lease }).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_that_spoils_the_statement_costs_only_its_own_caller() {
    let schema = Schema::new();
    let store = schema.open().await;
    let s = &schema.name;
    let spoil = format!(
        "CREATE FUNCTION {s}.spoil() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN RAISE EXCEPTION ''spoilt'' USING ERRCODE = ''22000''; END'; \
         CREATE TRIGGER spoil BEFORE INSERT ON {s}.semel_records FOR EACH ROW \
             WHEN (NEW.key = 'spoilt') EXECUTE FUNCTION {s}.spoil()"
    );
    schema.client().await.batch_execute(&spoil).await.unwrap();
    let keys: Vec<String> = (0..20)
        .map(|n| format!("k{n}"))
        .chain(["spoilt".to_owned()])
        .collect();
    let answers = join_all(keys.iter().map(|key| store.claim_one(request(key)))).await;
    for (key, answer) in keys.iter().zip(answers) {
        match key.as_str() {
            "spoilt" => assert_eq!(answer.unwrap_err().kind(), Kind::Internal),
            _ => drop(lease_of(answer.unwrap())),
        }
    }
    assert!(
        store
            .look_up_one(identity("spoilt"))
            .await
            .unwrap()
            .is_none()
    );
}
