//! Orphaned claims: perhaps granted, to callers that were told an error.

use std::time::Duration;

use semel_core::record::EventKind;
use semel_core::store::ReleaseAnswer;
use semel_core::{Kind, Store, StoreExt};
use semel_testkit::proxy::Proxy;

use crate::support::verbs::{address, granted, identity, kinds, lease_of, request, through, until};
use crate::support::{Schema, url};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_nobody_heard_of_is_given_back_when_the_server_answers_again() {
    let schema = Schema::new();
    let proxy = Proxy::start(address(&url())).await;
    let config = schema.config_at(&through(&schema.url, &proxy));
    let store = config
        .timeout(Duration::from_millis(300))
        .connect()
        .await
        .unwrap();
    granted(&store, "warm").await;
    proxy.hold_replies();
    let error = store.claim_one(request("k")).await.unwrap_err();
    assert_eq!(error.kind(), Kind::Unavailable, "{error}");
    let beside = schema.open().await;
    let record = beside.look_up_one(identity("k")).await.unwrap();
    assert!(
        record.is_some(),
        "the claim was granted, and nobody heard of it"
    );
    proxy.resume();
    until("the claim is given back", async || {
        beside.look_up_one(identity("k")).await.unwrap().is_none()
    })
    .await;
    assert_eq!(kinds(&beside, "k").await, [EventKind::Released]);
    let next = granted(&beside, "k").await;
    assert_eq!(next.attempt, 1, "nothing has run before");
}

/// A lock that the test holds makes the commit of the first try come in the middle of the second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_is_committed_while_it_is_asked_again_is_known_as_ones_own() {
    let schema = Schema::new();
    let proxy = Proxy::start(address(&url())).await;
    // A store that waits for locks as long as the test may take.
    let url = format!(
        "{}?options=-c%20lock_timeout%3D30s",
        through(&schema.url, &proxy)
    );
    let store = schema
        .config_at(&url)
        .connections(2)
        .connect()
        .await
        .unwrap();
    let lease = granted(&store, "k").await;
    assert_eq!(
        store.release_one(lease.claim).await.unwrap(),
        ReleaseAnswer::Released
    );
    let (s, test) = (&schema.name, schema.client().await);
    let lock = i64::from(std::process::id());
    test.batch_execute(&format!(
        "SELECT pg_advisory_lock({lock}); \
         CREATE FUNCTION {s}.late() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN SET LOCAL lock_timeout = 0; PERFORM pg_advisory_xact_lock({lock}); RETURN NULL; END'; \
         CREATE CONSTRAINT TRIGGER late AFTER UPDATE ON {s}.semel_records \
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION {s}.late()"
    ))
    .await
    .unwrap();
    let waiting = |kind: &str| {
        format!(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'semel' AND wait_event_type = 'Lock' \
                 AND wait_event = '{kind}' AND query !~ 'pg_stat_activity' AND datname = current_database() \
                 AND pid IN (SELECT pid FROM pg_locks WHERE relation = '{s}.semel_records'::regclass)"
        )
    };
    let beside = schema.client().await;
    let waits = async |kind: &str| {
        beside
            .query_one(&waiting(kind), &[])
            .await
            .unwrap()
            .get::<_, i64>(0)
            > 0
    };
    let claim = async { store.claim_one(request("k")).await };
    let fault = async {
        until("the commit waits", async || waits("advisory").await).await;
        proxy.cut_all();
        until("the second try waits for the first", async || {
            waits("transactionid").await
        })
        .await;
        test.batch_execute(&format!("SELECT pg_advisory_unlock({lock})"))
            .await
            .unwrap();
    };
    let (answer, ()) = tokio::join!(claim, fault);
    let lease = lease_of(answer.unwrap());
    let record = store.look_up_one(identity("k")).await.unwrap().unwrap();
    assert_eq!((record.fence, record.attempt), (lease.claim.fence, 1));
}

/// The first statement grants, the second one fails for good: only the caller of what failed gets the error.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_fails_in_the_middle_answers_what_was_done() {
    let schema = Schema::new();
    let store = schema.open().await;
    let lease = granted(&store, "broken").await;
    assert_eq!(
        store.release_one(lease.claim).await.unwrap(),
        ReleaseAnswer::Released
    );
    let s = &schema.name;
    let client = schema.client().await;
    client
        .batch_execute(&format!(
            "CREATE FUNCTION {s}.broken() RETURNS trigger LANGUAGE plpgsql AS \
                 'BEGIN RAISE EXCEPTION ''broken'' USING ERRCODE = ''58030''; END'; \
             CREATE TRIGGER broken BEFORE UPDATE ON {s}.semel_records FOR EACH ROW \
                 WHEN (NEW.key = 'broken') EXECUTE FUNCTION {s}.broken()"
        ))
        .await
        .unwrap();
    let asked = ["a", "broken", "b"].map(request);
    let answers = store.claim(asked.into_iter().collect()).await;
    for (place, answer) in answers.into_iter().enumerate() {
        match place {
            1 => assert_eq!(answer.unwrap_err().kind(), Kind::Unavailable),
            _ => drop(lease_of(answer.unwrap())),
        }
    }
    client
        .batch_execute(&format!("DROP TRIGGER broken ON {s}.semel_records"))
        .await
        .unwrap();
    granted(&store, "broken").await;
}
