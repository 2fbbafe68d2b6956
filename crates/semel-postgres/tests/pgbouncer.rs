//! The store behind PgBouncer in transaction mode: every transaction may come to another session.

mod support;

use std::time::Duration;

use futures_util::future::join_all;
use semel_core::store::all;
use semel_core::{Kind, OnUnknown, Once, Store, StoreExt};
use semel_postgres::PostgresStore;
use semel_testkit::storm::{Storm, policy};
use support::Schema;
use support::bouncer::Bouncer;
use support::verbs::{request, settle_for, short, until};

/// A store that reaches `schema` through a pooler, as its manual says.
async fn open(schema: &Schema, bouncer: &Bouncer) -> PostgresStore {
    let url = format!("{}?prepare=off", bouncer.url);
    schema
        .config_at(&url)
        .connect()
        .await
        .expect("the pooler lets it through")
}

mod conformance {
    use std::sync::Arc;

    use semel_testkit::conformance::Subject;

    use super::support::Schema;
    use super::support::bouncer::Bouncer;

    async fn fresh() -> Subject {
        let (bouncer, schema) = (Bouncer::start(""), Schema::new());
        let store = super::open(&schema, &bouncer).await;
        Subject::in_real_time(Arc::new(store)).keeping((schema, bouncer))
    }

    semel_testkit::conformance!("PostgreSQL behind PgBouncer", fresh().await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_through_a_pooler_of_two_connections_is_done_once() {
    let bouncer = Bouncer::start("");
    for on_unknown in [OnUnknown::Hold, OnUnknown::Rerun] {
        let schema = Schema::new();
        let mut nodes = Vec::new();
        for _ in 0..3 {
            let store = open(&schema, &bouncer).await;
            nodes.push(Once::new(store).with_policy(policy(on_unknown)));
        }
        let tally = Storm::new(60, 3).rage(nodes, async |_| ()).await;
        tally.assert_once();
        assert_eq!(tally.told_done + tally.unknown, 60, "{tally:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_starts_anew_loses_nothing() {
    let mut bouncer = Bouncer::start("");
    let schema = Schema::new();
    let store = open(&schema, &bouncer).await;
    let kept = support::verbs::granted(&store, "kept").await;
    bouncer.restart();
    support::verbs::granted(&store, "next").await;
    let settled = store
        .settle_one(settle_for(&kept.claim, 60_000, false))
        .await;
    assert_eq!(settled.unwrap(), semel_core::store::SettleAnswer::Settled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_sweep_works_through_a_pooler() {
    let (bouncer, schema) = (Bouncer::start(""), Schema::new());
    let (one, two) = (open(&schema, &bouncer).await, open(&schema, &bouncer).await);
    let requests = (0..200).map(|n| request(&format!("k{n}"))).collect();
    let claims = all(one.claim(requests).await).unwrap();
    let claims = claims.into_iter().map(support::verbs::lease_of);
    let settles = claims
        .map(|lease| settle_for(&lease.claim, 1, false))
        .collect();
    all(two.settle(settles).await).unwrap();
    support::verbs::lease_of(one.claim_one(short("ends", 1)).await.unwrap());
    let (mut deleted, mut ended) = (0, 0);
    until("everything is swept", async || {
        let (a, b) = tokio::join!(one.sweep(50), two.sweep(50));
        for swept in [a.unwrap(), b.unwrap()] {
            deleted += swept.deleted;
            ended += swept.leases_ended;
        }
        (deleted, ended) == (200, 1)
    })
    .await;
    assert!(!one.notes().await.unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_forgets_the_parameter_is_told_of_it() {
    let (bouncer, schema) = (Bouncer::start(""), Schema::new());
    let error = schema.config_at(&bouncer.url).connect().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    assert!(error.to_string().contains("prepare=off"), "{error}");
}

/// A pooler that swallows the settings lets a store in; what it does to prepared statements must be explained, and must
/// grant nothing twice.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn prepared_statements_that_a_pooler_loses_are_explained() {
    let (bouncer, schema) = (
        Bouncer::start("ignore_startup_parameters = options"),
        Schema::new(),
    );
    let config = schema
        .config_at(&bouncer.url)
        .timeout(Duration::from_millis(100));
    // The tables are made without the pooler's help.
    drop(schema.open().await);
    let mut errors = Vec::new();
    let Ok(store) = config.connect().await.map_err(|error| errors.push(error)) else {
        return assert!(
            errors
                .iter()
                .all(|error| error.to_string().contains("prepare=off"))
        );
    };
    for round in 0..20 {
        let keys: Vec<String> = (0..8).map(|n| format!("k{round}-{n}")).collect();
        let asked = keys.iter().map(|key| async {
            let claimed = store.claim_one(request(key)).await;
            let looked = store.look_up_one(support::verbs::identity(key)).await;
            [claimed.err(), looked.err()]
        });
        errors.extend(join_all(asked).await.into_iter().flatten().flatten());
    }
    for error in errors {
        assert!(error.to_string().contains("prepare=off"), "{error}");
    }
}
