//! The tables: made once whoever comes, refused when they are newer, missed when they are gone.

mod support;

use futures_util::future::join_all;
use semel_core::{Inbox, Kind, Store, StoreExt};
use support::Schema;
use support::verbs::{granted, identity, request, settle};

async fn count(schema: &Schema, what: &str) -> i64 {
    let sql = format!("SELECT count(*) FROM {what}").replace("{s}", &schema.name);
    schema
        .client()
        .await
        .query_one(&sql, &[])
        .await
        .expect("a count")
        .get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_stores_at_once_make_the_tables_once() {
    let schema = Schema::new();
    let connected = join_all((0..20).map(|_| schema.config().connections(1).connect())).await;
    let stores: Vec<_> = connected
        .into_iter()
        .map(|store| store.expect("no error"))
        .collect();
    assert_eq!(
        count(
            &schema,
            "{s}.semel_meta WHERE name = 'schema_version' AND value = 8"
        )
        .await,
        1
    );
    let parts = "pg_inherits WHERE inhparent = '{s}.semel_history'::regclass";
    assert_eq!(
        count(&schema, parts).await,
        3,
        "this month, the next and the rest"
    );
    granted(&stores[0], "k").await;
    for store in &stores {
        assert!(store.look_up_one(identity("k")).await.unwrap().is_some());
    }
}

/// Drops the months that the first start has made, as if another one had begun.
async fn drop_months(schema: &Schema) {
    let drop = format!(
        "DO $$ DECLARE month regclass; BEGIN \
         FOR month IN SELECT c.oid FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid \
             WHERE c.relnamespace = '{}'::regnamespace AND c.relkind = 'r' AND c.relname !~ '_rest$' \
         LOOP EXECUTE 'DROP TABLE ' || month; END LOOP; END $$",
        schema.name
    );
    schema
        .client()
        .await
        .batch_execute(&drop)
        .await
        .expect("months can be dropped");
}

const MONTHS: &str = "pg_inherits WHERE inhparent IN \
    ('{s}.semel_history'::regclass, '{s}.semel_archive'::regclass, '{s}.semel_messages'::regclass)";

/// `pg_dump` holds every table for as long as it takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn months_are_made_later_while_somebody_reads_every_table_and_a_start_does_not_wait() {
    let schema = Schema::new();
    drop(schema.open().await);
    drop_months(&schema).await;
    let reader = schema.client().await;
    let read = format!(
        "DO $$ DECLARE held regclass; BEGIN \
         FOR held IN SELECT oid FROM pg_class WHERE relnamespace = '{}'::regnamespace AND relkind IN ('r', 'p') \
         LOOP EXECUTE 'LOCK TABLE ' || held || ' IN ACCESS SHARE MODE'; END LOOP; END $$",
        schema.name
    );
    reader
        .batch_execute(&format!("BEGIN; {read}"))
        .await
        .unwrap();
    let store = schema.config().connect().await.expect("it starts");
    let late = granted(&store, "k").await;
    store.release_one(late.claim.clone()).await.unwrap();
    store.settle_one(settle(&late.claim, "late")).await.unwrap();
    store.sweep(100).await.expect("nothing is wrong");
    assert_eq!(count(&schema, MONTHS).await, 3, "only the rest of each");
    assert_eq!(count(&schema, "{s}.semel_history_rest").await, 2);
    let forget = format!("DELETE FROM {}.semel_history", schema.name);
    schema.client().await.batch_execute(&forget).await.unwrap();
    reader.batch_execute("ROLLBACK").await.unwrap();
    support::verbs::until("the months are made", async || {
        store.sweep(100).await.unwrap();
        count(&schema, MONTHS).await == 9
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_that_take_longer_than_a_call_are_waited_for() {
    let schema = Schema::new();
    let slow = schema.client().await;
    let turn = format!("hashtextextended('semel tables {}', 0)", schema.name);
    let take = format!("SELECT pg_advisory_lock({turn})");
    slow.batch_execute(&take).await.unwrap();
    let config = schema
        .config()
        .timeout(std::time::Duration::from_millis(500));
    let starting = tokio::spawn(async move { config.connect().await });
    // A call is given up a second after its timeout.
    slow.batch_execute("SELECT pg_sleep(2)").await.unwrap();
    let give = format!("SELECT pg_advisory_unlock({turn})");
    slow.batch_execute(&give).await.unwrap();
    let store = starting.await.unwrap().expect("it starts in its turn");
    granted(&store, "k").await;
}

#[tokio::test]
async fn a_process_that_is_slow_to_make_months_keeps_no_other_from_starting() {
    let schema = Schema::new();
    drop(schema.open().await);
    drop_months(&schema).await;
    let (slow, config) = (schema.client().await, schema.config());
    let turn = format!("hashtextextended('semel months {}', 0)", schema.name);
    let take = format!("SELECT pg_advisory_lock({turn})");
    slow.batch_execute(&take).await.unwrap();
    let starting = tokio::spawn(async move { config.connect().await });
    // Whoever waits for a lock waits by the server's account, and longer than for a row.
    let waits = format!(
        "pg_locks WHERE locktype = 'advisory' AND NOT granted AND \
         (classid::bigint << 32 | objid::bigint) = {turn}"
    );
    while count(&schema, &waits).await == 0 {
        assert!(!starting.is_finished(), "it does not wait");
    }
    slow.batch_execute("SELECT pg_sleep(0.5)").await.unwrap();
    let give = format!("SELECT pg_advisory_unlock({turn})");
    slow.batch_execute(&give).await.unwrap();
    let store = starting.await.unwrap().expect("it starts in its turn");
    granted(&store, "k").await;
}

#[tokio::test]
async fn a_schema_that_exists_without_tables_is_used() {
    let schema = Schema::new();
    let create = format!("CREATE SCHEMA {}", schema.name);
    schema.client().await.batch_execute(&create).await.unwrap();
    granted(&schema.open().await, "k").await;
}

/// How far a source had come before positions had partitions is where its one reader goes on.
#[tokio::test]
async fn positions_of_older_tables_are_those_of_the_nameless_partition() {
    let schema = Schema::new();
    let (client, s) = (schema.client().await, &schema.name);
    let old = [
        include_str!("../migrations/0001_records.sql"),
        include_str!("../migrations/0002_inbox.sql"),
        "INSERT INTO {s}semel_meta (name, value) VALUES ('schema_version', 2);",
        "INSERT INTO {s}semel_positions (source, position, changed_ms) VALUES ('file', 'line 7', 1);",
    ];
    let old = old.concat().replace("{s}", &format!("{s}."));
    let create = format!("CREATE SCHEMA {s}; {old}");
    client.batch_execute(&create).await.unwrap();
    let partitions = vec![String::new(), "1".to_owned()];
    let store = schema.open().await;
    let taken = store.take_positions("file".to_owned(), partitions).await;
    let taken = taken.unwrap();
    let found = taken.iter().map(|t| (t.position.as_deref(), t.epoch));
    let expected = [(Some("line 7"), 1), (None, 1)];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn newer_tables_are_refused_and_left_alone() {
    let schema = Schema::new();
    granted(&schema.open().await, "k").await;
    let newer = format!(
        "UPDATE {}.semel_meta SET value = 99 WHERE name = 'schema_version'",
        schema.name
    );
    schema.client().await.batch_execute(&newer).await.unwrap();
    let error = schema.config().connect().await.unwrap_err();
    assert_eq!(error.kind(), Kind::NewerVersion, "{error}");
    assert!(error.to_string().contains("99"), "{error}");
    assert_eq!(count(&schema, "{s}.semel_meta WHERE value = 99").await, 1);
    assert_eq!(count(&schema, "{s}.semel_records").await, 1);
}

#[tokio::test]
async fn tools_that_only_look_make_no_tables() {
    let schema = Schema::new();
    let error = schema.config().must_exist().connect().await.unwrap_err();
    assert_eq!(error.kind(), Kind::Invalid, "{error}");
    assert!(
        error.to_string().contains("no store in this database"),
        "{error}"
    );
    assert!(!schema.config().has_tables().await.unwrap());
    let there = format!("pg_namespace WHERE nspname = '{}'", schema.name);
    assert_eq!(count(&schema, &there).await, 0);
    schema.open().await;
    assert!(schema.config().has_tables().await.unwrap());
    assert!(schema.config().must_exist().connect().await.is_ok());
}

#[tokio::test]
async fn tables_that_are_dropped_under_a_store_are_missed_and_nothing_is_granted() {
    let schema = Schema::new();
    let store = schema.open().await;
    let lease = granted(&store, "k").await;
    let drop = format!("DROP SCHEMA {} CASCADE", schema.name);
    schema.client().await.batch_execute(&drop).await.unwrap();
    for key in ["k", "other"] {
        let error = store.claim_one(request(key)).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Damaged, "{error}");
        assert!(error.to_string().contains("does not exist"), "{error}");
    }
    let error = store
        .settle_one(settle(&lease.claim, "done"))
        .await
        .unwrap_err();
    assert_eq!(error.kind(), Kind::Damaged, "{error}");
    assert_eq!(
        store.look_up_one(identity("k")).await.unwrap_err().kind(),
        Kind::Damaged
    );
    assert_eq!(store.sweep(10).await.unwrap_err().kind(), Kind::Damaged);
    // A user who makes the store anew has a store that works.
    let anew = schema.open().await;
    granted(&anew, "k").await;
    granted(&store, "other").await;
}
