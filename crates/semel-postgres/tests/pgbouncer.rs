//! The store behind PgBouncer in transaction mode: every transaction may come to another session.

mod support;

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

    use semel_testkit::conformance::{Ability, Handle, Subject};

    use super::support::bouncer::Bouncer;
    use super::support::{Schema, hold_up};

    async fn fresh() -> Subject {
        let schema = Arc::new(Schema::new());
        let servers = Arc::new((schema.clone(), Bouncer::start("")));
        let opened = servers.clone();
        let open = move || {
            let servers = opened.clone();
            async move { Handle::of(super::open(&servers.0, &servers.1).await) }
        };
        let subject = Subject::opened(open).await.keeping(servers);
        subject
            .stalled_by(move || hold_up(schema.clone()))
            .declining(&[Ability::Clock, Ability::Outcomes])
    }

    semel_testkit::conformance!("PostgreSQL behind PgBouncer", fresh().await);
    semel_testkit::conformance_of_sharing!("PostgreSQL behind PgBouncer", fresh().await);
    semel_testkit::conformance_of_durability!("PostgreSQL behind PgBouncer", fresh().await);
    semel_testkit::conformance_of_stalls!("PostgreSQL behind PgBouncer", fresh().await);
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

/// A pooler refuses the settings that come with a connection, or swallows them where that is configured. The store finds out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_is_found_by_a_store_that_is_not_told_of_it() {
    for extra in ["", "ignore_startup_parameters = options"] {
        let (bouncer, schema) = (Bouncer::start(extra), Schema::new());
        let mut nodes = Vec::new();
        for _ in 0..3 {
            let store = schema.config_at(&bouncer.url).connect().await.unwrap();
            nodes.push(Once::new(store).with_policy(policy(OnUnknown::Hold)));
        }
        let tally = Storm::new(60, 3).rage(nodes, async |_| ()).await;
        tally.assert_once();
        assert_eq!(tally.told_done + tally.unknown, 60, "{tally:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pooler_that_takes_no_options_says_so() {
    let (bouncer, schema) = (Bouncer::start(""), Schema::new());
    let url = format!("{}?options=-c%20work_mem%3D8MB", bouncer.url);
    let error = schema.config_at(&url).connect().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    assert!(error.to_string().contains("takes no options"), "{error}");
}
