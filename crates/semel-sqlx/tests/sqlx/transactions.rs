//! Marker and effect in one transaction of the user's own.

use std::time::Duration;

use bytes::Bytes;
use semel_core::store::{
    ClaimAnswer, ClaimRequest, ReleaseAnswer, SettleAnswer, SettleRequest, Takeover,
};
use semel_core::{
    EventKind, Fingerprint, Headers, Identity, Kind, LeaseTerm, Outcome, Retention, State, Store,
    StoreExt,
};

use crate::support::{Account, run};

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
    let account = Account::new().await;
    for delivery in 0..3 {
        let mut tx = account.pool.begin().await.unwrap();
        match account.tables.claim(&mut tx, &request("m")).await.unwrap() {
            ClaimAnswer::Granted(lease) => {
                assert_eq!(delivery, 0);
                run(&account.deposit, &mut tx).await.unwrap();
                let settled = account.tables.settle(&mut tx, &settle(lease.claim)).await;
                assert_eq!(settled.unwrap(), SettleAnswer::Settled);
            }
            other => assert!(matches!(other, ClaimAnswer::Settled(_)), "{other:?}"),
        }
        tx.commit().await.unwrap();
    }
    assert_eq!(account.cents().await, 100);
    let answer = account.store.claim_one(request("m")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Settled(_)), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_takes_the_marker_with_the_effect() {
    let account = Account::new().await;
    let mut tx = account.pool.begin().await.unwrap();
    let answer = account.tables.claim(&mut tx, &request("m")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Granted(_)));
    run(&account.deposit, &mut tx).await.unwrap();
    tx.rollback().await.unwrap();
    assert_eq!(account.cents().await, 0);
    let found = account.store.look_up_one(request("m").identity).await;
    assert!(found.unwrap().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_row_of_a_gateway_is_the_row_of_the_service() {
    let account = Account::new().await;
    let ClaimAnswer::Granted(lease) = account.store.claim_one(request("m")).await.unwrap() else {
        panic!("expected a grant");
    };
    let mut tx = account.pool.begin().await.unwrap();
    let answer = account.tables.claim(&mut tx, &request("m")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Running { fence, .. } if fence == lease.claim.fence));
    let settled = account
        .tables
        .settle(&mut tx, &settle(lease.claim))
        .await
        .unwrap();
    assert_eq!(settled, SettleAnswer::Settled);
    tx.commit().await.unwrap();
    let answer = account.store.claim_one(request("m")).await.unwrap();
    assert!(matches!(answer, ClaimAnswer::Settled(_)), "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_released_claim_is_granted_again_with_a_higher_fence() {
    let account = Account::new().await;
    let mut fences = Vec::new();
    for _ in 0..2 {
        let mut tx = account.pool.begin().await.unwrap();
        let ClaimAnswer::Granted(lease) =
            account.tables.claim(&mut tx, &request("m")).await.unwrap()
        else {
            panic!("expected a grant");
        };
        fences.push(lease.claim.fence);
        let released = account.tables.release(&mut tx, &lease.claim).await.unwrap();
        assert_eq!(released, ReleaseAnswer::Released);
        tx.commit().await.unwrap();
    }
    assert!(fences[0] < fences[1], "{fences:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_column_comes_back_as_it_went_in() {
    let account = Account::new().await;
    let outcome = Outcome {
        status: 201,
        headers: Headers::new(vec![("x-a".to_owned(), Bytes::from_static(b"1"))]).unwrap(),
        ..Outcome::succeeded(vec![0, 159, 146, 150])
    };
    let mut tx = account.pool.begin().await.unwrap();
    let ClaimAnswer::Granted(lease) = account.tables.claim(&mut tx, &request("m")).await.unwrap()
    else {
        panic!("expected a grant");
    };
    let settle = SettleRequest {
        outcome: outcome.clone(),
        ..settle(lease.claim)
    };
    account.tables.settle(&mut tx, &settle).await.unwrap();
    let other = ClaimRequest {
        fingerprint: Fingerprint::of_bytes(b"200"),
        ..request("m")
    };
    let mismatch = account.tables.claim(&mut tx, &other).await.unwrap();
    assert!(matches!(mismatch, ClaimAnswer::Mismatch), "{mismatch:?}");
    let answer = account.tables.claim(&mut tx, &request("m")).await.unwrap();
    tx.commit().await.unwrap();
    let ClaimAnswer::Settled(record) = answer else {
        panic!("expected a settled record, found {answer:?}");
    };
    let State::Settled(settled) = &record.state else {
        panic!("expected an outcome, found {record:?}");
    };
    assert_eq!(settled.outcome, outcome);
    assert_eq!(record.identity, request("m").identity);
    let history = account.store.history(request("m").identity).await.unwrap();
    assert!(matches!(history[..], [ref event] if matches!(event.kind, EventKind::Mismatch(_))));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_another_transaction_holds_is_waited_for_as_long_as_the_user_says() {
    let account = Account::new().await;
    let mut first = account.pool.begin().await.unwrap();
    let answer = account
        .tables
        .claim(&mut first, &request("m"))
        .await
        .unwrap();
    assert!(matches!(answer, ClaimAnswer::Granted(_)));
    let mut second = account.pool.begin().await.unwrap();
    run("SET LOCAL lock_timeout = '10ms'", &mut second)
        .await
        .unwrap();
    let error = account
        .tables
        .claim(&mut second, &request("m"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Locked, "{error}");
    first.rollback().await.unwrap();
}

/// The usual schema is everybody's, so this test only reads what an identity of its own comes to, and rolls back.
#[tokio::test(flavor = "multi_thread")]
async fn the_usual_schema_needs_no_tables() {
    let url = crate::support::url();
    let store = semel_postgres::Config::from_url(&url)
        .unwrap()
        .sweep_every(None)
        .connect()
        .await;
    let account = Account::new().await;
    let mine = request(&account.schema.name);
    let mut tx = account.pool.begin().await.unwrap();
    let answer = semel_sqlx::claim_in(&mut tx, &mine).await.unwrap();
    let ClaimAnswer::Granted(lease) = answer else {
        panic!("expected a grant, found {answer:?}");
    };
    let released = semel_sqlx::release_in(&mut tx, &lease.claim).await.unwrap();
    assert_eq!(released, ReleaseAnswer::Released);
    let settled = semel_sqlx::settle_in(&mut tx, &settle(lease.claim))
        .await
        .unwrap();
    assert_eq!(settled, SettleAnswer::Late);
    tx.rollback().await.unwrap();
    assert!(
        store
            .unwrap()
            .look_up_one(mine.identity)
            .await
            .unwrap()
            .is_none()
    );
}
