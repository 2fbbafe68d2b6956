//! Marker and effect in one transaction of the user's own.

mod support;

use std::time::Duration;

use semel_core::store::{ClaimAnswer, ClaimRequest, SettleAnswer, SettleRequest, Takeover};
use semel_core::{Fingerprint, Identity, LeaseTerm, OnFailure, Outcome, Retention, StoreExt};
use semel_postgres::consumer::{Consumer, Message, Next, Processed};
use semel_postgres::tx::Tables;
use support::Schema;
use tokio_postgres::Client;

/// A store, and an account beside its tables.
async fn account() -> (Schema, semel_postgres::PostgresStore, Client) {
    let schema = Schema::new();
    let store = schema.open().await;
    let client = schema.client().await;
    let name = &schema.name;
    let make = format!(
        "CREATE TABLE {name}.account (cents bigint); INSERT INTO {name}.account VALUES (0)"
    );
    client.batch_execute(&make).await.expect("a table");
    (schema, store, client)
}

async fn cents(schema: &Schema, client: &Client) -> i64 {
    let sql = format!("SELECT cents FROM {}.account", schema.name);
    client
        .query_one(&sql, &[])
        .await
        .expect("an account")
        .get(0)
}

fn deposit(schema: &Schema) -> String {
    format!("UPDATE {}.account SET cents = cents + 100", schema.name)
}

fn request(key: &str) -> ClaimRequest {
    ClaimRequest {
        identity: Identity::parse("acme", "deposits@1", key).expect("a valid identity"),
        fingerprint: Fingerprint::of_bytes(b"100"),
        lease: LeaseTerm::default(),
        takeover: Takeover::Never,
        about: None,
        nonce: None,
    }
}

fn settle(claim: semel_core::Claim) -> SettleRequest {
    SettleRequest {
        claim,
        outcome: Outcome::succeeded("deposited"),
        took: Duration::ZERO,
        retention: Retention::default(),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn marker_and_effect_commit_together_and_the_store_sees_them() {
    let (schema, store, mut client) = account().await;
    let tables = Tables::new(&schema.config());
    for delivery in 0..3 {
        let mut tx = client.transaction().await.unwrap();
        match tables.claim(&mut tx, &request("m")).await.unwrap() {
            ClaimAnswer::Granted(lease) => {
                assert_eq!(delivery, 0);
                tx.execute(&deposit(&schema), &[]).await.unwrap();
                let settled = tables.settle(&mut tx, &settle(lease.claim)).await.unwrap();
                assert_eq!(settled, SettleAnswer::Settled);
            }
            other => assert!(matches!(other, ClaimAnswer::Settled(_)), "{other:?}"),
        }
        tx.commit().await.unwrap();
    }
    assert_eq!(cents(&schema, &client).await, 100);
    let answer = store.claim_one(request("m")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Settled(_)), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_takes_the_marker_with_the_effect() {
    let (schema, store, mut client) = account().await;
    let tables = Tables::new(&schema.config());
    let mut tx = client.transaction().await.unwrap();
    let answer = tables.claim(&mut tx, &request("m")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Granted(_)));
    tx.execute(&deposit(&schema), &[]).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(cents(&schema, &client).await, 0);
    let identity = request("m").identity;
    assert!(store.look_up_one(identity).await.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_row_of_a_gateway_is_the_row_of_the_service() {
    let (schema, store, mut client) = account().await;
    let tables = Tables::new(&schema.config());
    let ClaimAnswer::Granted(lease) = store.claim_one(request("m")).await.unwrap() else {
        panic!("expected a grant");
    };
    let mut tx = client.transaction().await.unwrap();
    let answer = tables.claim(&mut tx, &request("m")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { fence, .. } if fence == lease.claim.fence));
    let settled = tables.settle(&mut tx, &settle(lease.claim)).await.unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
    tx.commit().await.unwrap();
    let answer = store.claim_one(request("m")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Settled(_)), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_deliveries_at_once_take_effect_once() {
    let (schema, _store, client) = account().await;
    let consumer = Consumer::new(&schema.config(), "deposits@1".parse().unwrap()).unwrap();
    let mut deliveries = tokio::task::JoinSet::new();
    for _ in 0..8 {
        let (consumer, deposit) = (consumer.clone(), deposit(&schema));
        deliveries.spawn(async move {
            let message = Message::new("m").unwrap().payload(b"100");
            let processed: Processed<u32, tokio_postgres::Error> = consumer
                .process(&message, async |tx| {
                    tx.execute(&deposit, &[]).await?;
                    Ok(7)
                })
                .await;
            processed
        });
    }
    let processed = deliveries.join_all().await;
    assert!(
        processed.iter().all(Processed::is_acknowledged),
        "{processed:?}"
    );
    let done = processed.iter().filter(|p| matches!(p, Processed::Done(7)));
    assert_eq!(done.count(), 1);
    let again = processed
        .iter()
        .filter(|p| matches!(p, Processed::Duplicate(7)));
    assert_eq!(again.count(), 7);
    assert_eq!(cents(&schema, &client).await, 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_handler_is_run_again_and_a_final_failure_is_not() {
    let (schema, _store, client) = account().await;
    let consumer = Consumer::new(&schema.config(), "deposits@1".parse().unwrap()).unwrap();
    let message = Message::new("m").unwrap().payload(b"100");
    let deposit = deposit(&schema);
    let failing = async |tx: &mut tokio_postgres::Transaction<'_>| {
        tx.execute(&deposit, &[]).await.unwrap();
        Err::<(), _>("no")
    };
    let processed = consumer.process(&message, failing).await;
    assert!(matches!(processed, Processed::Retry("no")), "{processed:?}");
    assert!(matches!(processed.next(), Next::Redeliver { .. }));
    assert_eq!(cents(&schema, &client).await, 0);
    let processed = consumer
        .process_classified(&message, |_| OnFailure::Keep, failing)
        .await;
    assert!(
        matches!(processed, Processed::Failed("no")),
        "{processed:?}"
    );
    let processed = consumer.process(&message, failing).await;
    assert!(
        matches!(processed, Processed::FailedBefore),
        "{processed:?}"
    );
    assert_eq!(processed.next(), Next::Park);
    assert_eq!(cents(&schema, &client).await, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_same_id_with_another_payload_is_parked_and_nothing_runs() {
    let (schema, _store, _client) = account().await;
    let consumer = Consumer::new(&schema.config(), "deposits@1".parse().unwrap()).unwrap();
    let process = async |payload: &[u8]| {
        let message = Message::new("m").unwrap().payload(payload);
        consumer.process(&message, async |_| Ok::<_, ()>(1)).await
    };
    assert!(matches!(process(b"100").await, Processed::Done(1)));
    let conflict = process(b"200").await;
    assert!(matches!(conflict, Processed::Conflict), "{conflict:?}");
    assert_eq!(conflict.next(), Next::Park);
}

#[tokio::test(flavor = "multi_thread")]
async fn two_consumers_never_suppress_each_other() {
    let (schema, _store, _client) = account().await;
    for scope in ["mails@1", "projection@1", "projection@2"] {
        let consumer = Consumer::new(&schema.config(), scope.parse().unwrap()).unwrap();
        let message = Message::new("m").unwrap();
        let processed = consumer.process(&message, async |_| Ok::<_, ()>(1)).await;
        assert!(
            matches!(processed, Processed::Done(1)),
            "{scope}: {processed:?}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_is_cancelled_leaves_nothing_behind() {
    let (schema, store, client) = account().await;
    let consumer = Consumer::new(&schema.config(), "deposits@1".parse().unwrap()).unwrap();
    let message = Message::new("m").unwrap().payload(b"100");
    let deposit = deposit(&schema);
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let cancelled = tokio::spawn({
        let (consumer, message, deposit) = (consumer.clone(), message.clone(), deposit.clone());
        async move {
            consumer
                .process(&message, async |tx| {
                    tx.execute(&deposit, &[]).await.unwrap();
                    begun.send(()).unwrap();
                    std::future::pending::<Result<(), ()>>().await
                })
                .await
        }
    });
    has_begun.await.unwrap();
    cancelled.abort();
    assert!(cancelled.await.unwrap_err().is_cancelled());
    let processed = consumer
        .process(&message, async |tx| tx.execute(&deposit, &[]).await)
        .await;
    assert!(matches!(processed, Processed::Done(1)), "{processed:?}");
    assert_eq!(cents(&schema, &client).await, 100);
    drop(store);
}

/// Where only transactions are used, no store sweeps.
#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_sweeps_what_it_leaves() {
    let (schema, store, client) = account().await;
    drop(store);
    let config = schema.config().sweep_every(Some(Duration::from_millis(10)));
    let consumer = Consumer::new(&config, "deposits@1".parse().unwrap()).unwrap();
    let keep = Retention::delete_after(Duration::from_millis(1)).unwrap();
    let consumer = consumer.retention(keep);
    let deposit = deposit(&schema);
    for id in ["m", "n"] {
        let message = Message::new(id).unwrap();
        let processed: Processed<(), tokio_postgres::Error> = consumer
            .process(&message, async |tx| {
                tx.execute(&deposit, &[]).await.map(drop)
            })
            .await;
        assert!(matches!(processed, Processed::Done(())), "{processed:?}");
    }
    let count = format!("SELECT count(*) FROM {}.semel_records", schema.name);
    support::verbs::until("what was remembered is swept", async || {
        client
            .query_one(&count, &[])
            .await
            .unwrap()
            .get::<_, i64>(0)
            == 0
    })
    .await;
    assert_eq!(cents(&schema, &client).await, 200);
}
