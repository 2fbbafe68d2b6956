//! The sweep: as fast as claims come, whatever fails beside it, and without reading again what is kept for long.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod support;

use std::time::Duration;

use semel_core::store::{Resolution, ResolveRequest};
use semel_core::{Store, StoreExt};
use semel_postgres::PostgresStore;
use support::Schema;
use support::verbs::{granted, identity, settle, settle_for, short, until};
use tokio_postgres::Client;

/// A day in milliseconds.
const DAY: i64 = 24 * 60 * 60 * 1_000;

/// Records that were settled an hour ago; their retention ends in `ends` milliseconds from now, an SQL expression over `n`.
async fn settled_before(client: &Client, s: &str, count: usize, ends: &str) {
    let now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    client
        .batch_execute(&format!(
            "INSERT INTO {s}.semel_records \
             (digest, fence, claimed_ms, nonce, state, attempt, version, tenant, scope, key, fingerprint, expires_ms, settled_ms, \
              took_ms, flags, status) \
             SELECT gen_random_uuid(), nextval('{s}.semel_fence'), {now} - 3600000, 0, 2, 1, 1, 'acme', 'payments', 'old-' || n, \
                    sha256(n::text::bytea), {now} + {ends}, {now} - 3600000, 0, 0, 0 \
             FROM generate_series(1, {count}) AS n"
        ))
        .await
        .unwrap();
}

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

async fn records(client: &Client, s: &str) -> i64 {
    number(client, &format!("SELECT count(*) FROM {s}.semel_records")).await
}

/// Sweeps until there is nothing more to do; how many steps that took.
async fn sweep_all(store: &PostgresStore) -> usize {
    let mut steps = 1;
    while store.sweep(1_000).await.unwrap().more {
        steps += 1;
        assert!(steps < 10_000, "a sweep comes to an end");
    }
    steps
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_failure_of_one_part_stops_the_others() {
    for (what, harm, mend) in [
        (
            "events cannot be written",
            "BEGIN; LOCK TABLE {s}.semel_history IN ACCESS EXCLUSIVE MODE",
            "ROLLBACK",
        ),
        (
            "a record cannot be read",
            "UPDATE {s}.semel_records SET fingerprint = 'short' WHERE state = 0",
            "UPDATE {s}.semel_records SET fingerprint = sha256('') WHERE state = 0",
        ),
    ] {
        let schema = Schema::new();
        let (store, client, s) = (schema.open().await, schema.client().await, &schema.name);
        settled_before(&client, s, 500, "-1000").await;
        store.claim_one(short("ended", 1)).await.unwrap();
        let harm = harm.replace("{s}", s);
        client.batch_execute(&harm).await.unwrap();
        let beside = schema.client().await;
        until(what, async || {
            let _ = store.sweep(100).await;
            records(&beside, s).await == 1
        })
        .await;
        let followed = format!("SELECT value FROM {s}.semel_meta WHERE name = 'open_fence'");
        assert!(
            number(&beside, &followed).await >= 500,
            "{what}: it followed"
        );
        assert!(store.sweep(100).await.is_err(), "{what}: it is reported");
        let mend = mend.replace("{s}", s);
        client.batch_execute(&mend).await.unwrap();
        until("the lease is ended", async || {
            store.sweep(100).await.unwrap();
            let state = format!("SELECT count(*) FROM {s}.semel_records WHERE state = 1");
            number(&beside, &state).await == 1
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_server_does_not_finish_in_time_is_tried_with_less() {
    let schema = Schema::new();
    let config = schema.config().timeout(Duration::from_millis(200));
    let config = config.sweep_every(Some(Duration::from_millis(5)));
    let (store, client, s) = (
        config.connect().await.unwrap(),
        schema.client().await,
        &schema.name,
    );
    client
        .batch_execute(&format!(
            "CREATE FUNCTION {s}.slowly() RETURNS trigger LANGUAGE plpgsql AS \
                 'BEGIN PERFORM pg_sleep(0.02); RETURN OLD; END'; \
             CREATE TRIGGER slowly BEFORE DELETE ON {s}.semel_records FOR EACH ROW EXECUTE FUNCTION {s}.slowly()"
        ))
        .await
        .unwrap();
    settled_before(&client, s, 30, "-1000").await;
    until("all are deleted", async || records(&client, s).await == 0).await;
    drop(store);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_for_long_is_not_read_again_and_again() {
    let schema = Schema::new();
    let (store, client, s) = (schema.open().await, schema.client().await, &schema.name);
    let mixed = format!("CASE WHEN n % 4 = 0 THEN {} ELSE -1000 END", 90 * DAY);
    settled_before(&client, s, 20_000, &mixed).await;
    sweep_all(&store).await;
    assert_eq!(records(&client, s).await, 5_000);
    let now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let soon = format!("SELECT count(*) FROM {s}.semel_ranges WHERE walk_ms < {now} + 240000");
    assert_eq!(
        number(&client, &soon).await,
        0,
        "no range is walked over soon"
    );
    let ranges = format!("SELECT count(*) FROM {s}.semel_ranges");
    let ranges = number(&client, &ranges).await;
    assert!(
        (1..=6).contains(&ranges),
        "few records are few ranges, found {ranges}"
    );
    assert_eq!(sweep_all(&store).await, 1, "there is nothing to do");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_waits_for_a_range_or_a_record_that_somebody_holds() {
    let schema = Schema::new();
    let (store, holder, s) = (schema.open().await, schema.client().await, &schema.name);
    settled_before(&holder, s, 6_000, "-1000").await;
    // The first step makes the ranges.
    store.sweep(1).await.unwrap();
    holder
        .batch_execute(&format!(
            "BEGIN; SELECT FROM {s}.semel_ranges ORDER BY upto LIMIT 1 FOR UPDATE; \
             SELECT FROM {s}.semel_records ORDER BY fence DESC LIMIT 10 FOR UPDATE"
        ))
        .await
        .unwrap();
    let client = schema.client().await;
    let left = format!(
        "SELECT count(*) FROM {s}.semel_records WHERE fence > (SELECT min(upto) FROM {s}.semel_ranges)"
    );
    until("all that is free is deleted", async || {
        store.sweep(1_000).await.unwrap();
        number(&client, &left).await == 10
    })
    .await;
    holder.batch_execute("ROLLBACK").await.unwrap();
    until("the rest follows", async || {
        store.sweep(1_000).await.unwrap();
        records(&client, s).await == 0
    })
    .await;
}

/// A transaction of the user's may commit a record long after it drew its fence.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_committed_late_is_found_by_a_later_walk() {
    let schema = Schema::new();
    let (store, client, s) = (schema.open().await, schema.client().await, &schema.name);
    settled_before(&client, s, 100, &DAY.to_string()).await;
    let hide = format!(
        "CREATE TABLE {s}.late AS SELECT * FROM {s}.semel_records ORDER BY fence LIMIT 10; \
         DELETE FROM {s}.semel_records WHERE digest IN (SELECT digest FROM {s}.late); \
         UPDATE {s}.late SET expires_ms = 1"
    );
    client.batch_execute(&hide).await.unwrap();
    sweep_all(&store).await;
    let commit = format!("INSERT INTO {s}.semel_records SELECT * FROM {s}.late");
    client.batch_execute(&commit).await.unwrap();
    sweep_all(&store).await;
    assert_eq!(records(&client, s).await, 100, "no sweep has looked since");
    let pass = format!("UPDATE {s}.semel_ranges SET walk_ms = 0");
    client.batch_execute(&pass).await.unwrap();
    sweep_all(&store).await;
    assert_eq!(records(&client, s).await, 90);
}

/// What runs for long is noted when it is followed, and its range hears when it ends.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_open_when_it_was_followed_is_deleted_when_it_has_expired() {
    let schema = Schema::new();
    let (store, client, s) = (schema.open().await, schema.client().await, &schema.name);
    let (settled, erased) = (
        granted(&store, "settled").await,
        granted(&store, "erased").await,
    );
    store
        .settle_one(settle(&erased.claim, "done"))
        .await
        .unwrap();
    let age = format!("UPDATE {s}.semel_records SET claimed_ms = claimed_ms - 60000");
    client.batch_execute(&age).await.unwrap();
    store.sweep(100).await.unwrap();
    let open = format!("SELECT count(*) FROM {s}.semel_open");
    assert_eq!(number(&client, &open).await, 1);
    store
        .settle_one(settle_for(&settled.claim, 1, false))
        .await
        .unwrap();
    let resolve = ResolveRequest {
        claim: erased.claim.clone(),
        resolution: Resolution::Erase,
        by: semel_core::store::Actor::new("anna").unwrap(),
        reason: None,
    };
    store.resolve_one(resolve).await.unwrap();
    // An hour later, as far as the tables know.
    let pass = format!(
        "UPDATE {s}.semel_open SET look_ms = 0; UPDATE {s}.semel_records SET expires_ms = 1 WHERE state = 3"
    );
    client.batch_execute(&pass).await.unwrap();
    until("both are gone", async || {
        store.sweep(100).await.unwrap();
        records(&client, s).await == 0
    })
    .await;
    assert_eq!(number(&client, &open).await, 0);
    assert!(
        store
            .look_up_one(identity("settled"))
            .await
            .unwrap()
            .is_none()
    );
}

/// A process that dies leaves many at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leases_that_end_together_are_ended_in_as_few_steps_as_it_takes() {
    let schema = Schema::new();
    let (store, client, s) = (schema.open().await, schema.client().await, &schema.name);
    settled_before(&client, s, 600, "0").await;
    let run = format!("UPDATE {s}.semel_records SET state = 0, lease_ms = expires_ms - 1000");
    client.batch_execute(&run).await.unwrap();
    let mut ended = 0;
    for _ in 0..4 {
        ended += store.sweep(1_000).await.unwrap().leases_ended;
    }
    assert_eq!(ended, 600);
    assert_eq!(store.stats().await.unwrap().unknown, 600);
}

/// Tables as the version before made them, with what its sweep had left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_of_an_older_version_are_brought_up_to_date_and_swept() {
    let schema = Schema::new();
    let (client, s) = (schema.client().await, &schema.name);
    let old = [
        include_str!("../migrations/0001_records.sql"),
        include_str!("../migrations/0002_inbox.sql"),
    ]
    .concat()
    .replace("{s}", &format!("{s}."));
    client
        .batch_execute(&format!("CREATE SCHEMA {s}; {old}"))
        .await
        .unwrap();
    settled_before(&client, s, 9_000, "-1000").await;
    settled_before(&client, s, 10, &DAY.to_string()).await;
    let stood = format!(
        "INSERT INTO {s}.semel_meta VALUES ('schema_version', 2), ('open_fence', 8000), ('sweep_fence', 4000)"
    );
    client.batch_execute(&stood).await.unwrap();
    let store = schema.open().await;
    sweep_all(&store).await;
    assert_eq!(records(&client, s).await, 10);
    assert!(granted(&store, "k").await.claim.fence.get() > 9_010);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_space_of_many_deleted_records_is_usable_again_soon() {
    let schema = Schema::new();
    let (client, s) = (schema.client().await, &schema.name);
    let config = schema.config().sweep_every(Some(Duration::from_millis(10)));
    let store = config.connect().await.unwrap();
    settled_before(&client, s, 70_000, "-1000").await;
    let vacuumed = format!(
        "SELECT count(*) FROM pg_stat_user_tables \
         WHERE schemaname = '{s}' AND relname = 'semel_records' AND vacuum_count > 0"
    );
    until("a vacuum", async || number(&client, &vacuumed).await == 1).await;
    drop(store);
}
