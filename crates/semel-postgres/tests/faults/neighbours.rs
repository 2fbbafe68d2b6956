//! Other users of the same server: open transactions, and items that spoil the statement of a batch.

use futures_util::future::join_all;
use semel_core::{Kind, Store, StoreExt};
use uuid::Uuid;

use crate::support::Schema;
use crate::support::verbs::{granted, identity, lease_of, request};

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
