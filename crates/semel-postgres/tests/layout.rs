//! How the tables are used: updates in place, no scans, months, one sweep for all.

#![expect(
    clippy::unwrap_used,
    reason = "helpers of tests fail as tests do; clippy knows the tests only"
)]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use semel_core::record::{Claim, EventKind};
use semel_core::store::{Query, SettleAnswer, Swept, all};
use semel_core::{Identity, Store, StoreExt};
use semel_postgres::PostgresStore;
use support::Schema;
use support::verbs::{
    granted, identity, kinds, lease_of, request, settle, settle_for, short, until,
};
use tokio_postgres::Client;
use uuid::Uuid;

/// Claims and settles `pairs` operations, a hundred at a time.
async fn pairs(store: &PostgresStore, pairs: usize, keep_ms: u64, archive: bool) {
    for first in (0..pairs).step_by(100) {
        let keys = (first..pairs.min(first + 100)).map(|n| format!("k{n}"));
        let asked = keys.map(|key| request(&key)).collect();
        let answers = all(store.claim(asked).await).unwrap();
        let settles = answers
            .into_iter()
            .map(|answer| settle_for(&lease_of(answer).claim, keep_ms, archive));
        let settled = all(store.settle(settles.collect()).await).unwrap();
        assert!(
            settled
                .iter()
                .all(|answer| *answer == SettleAnswer::Settled)
        );
    }
}

async fn number(client: &Client, sql: &str) -> i64 {
    client.query_one(sql, &[]).await.unwrap().get(0)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settles_are_made_in_place() {
    let schema = Schema::new();
    let store = schema.open().await;
    pairs(&store, 2_000, 3_600_000, false).await;
    let client = schema.client().await;
    let sql = format!(
        "SELECT n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables \
         WHERE schemaname = '{}' AND relname = 'semel_records'",
        schema.name
    );
    // The server's own counters come a moment later.
    let mut counted = (0, 0);
    until("the updates are counted", async || {
        let row = client.query_one(&sql, &[]).await.unwrap();
        counted = (row.get::<_, i64>(0), row.get::<_, i64>(1));
        counted.0 >= 2_000
    })
    .await;
    let (updates, hot) = counted;
    assert!(
        hot * 100 >= updates * 80,
        "expected 80 % in place, found {hot} of {updates}"
    );
}

/// What a session of the store runs under, read from one of them.
const SETTINGS: [&str; 6] = [
    "plan_cache_mode",
    "enable_seqscan",
    "enable_hashjoin",
    "enable_mergejoin",
    "jit",
    "lock_timeout",
];

/// The statements that the store is built from, and the types of their parameters.
const STATEMENTS: [(&str, &str, &str); 30] = [
    (
        "follow",
        include_str!("../src/sql/follow.sql"),
        "bigint,bigint,bigint",
    ),
    ("relook", include_str!("../src/sql/relook.sql"), "bigint"),
    (
        "ended",
        include_str!("../src/sql/ended.sql"),
        "bigint,bigint",
    ),
    (
        "retire",
        include_str!("../src/sql/retire.sql"),
        "bigint,bigint,bigint,bigint,bigint,bigint",
    ),
    ("take", include_str!("../src/sql/take.sql"), ""),
    (
        "bound",
        include_str!("../src/sql/bound.sql"),
        "bigint,bigint,bigint,bigint,bigint,bigint",
    ),
    (
        "claim",
        include_str!("../src/sql/claim.sql"),
        "uuid[],text[],text[],bigint[],text[],bytea[],bigint[],bigint[],text[]",
    ),
    (
        "claim_alone",
        include_str!("../src/sql/claim_alone.sql"),
        "uuid,text,text,bigint,text,bytea,bigint,bigint,text",
    ),
    (
        "claim_in",
        include_str!("../src/sql/claim_in.sql"),
        "uuid,text,text,bigint,text,bytea,bigint,bigint,text",
    ),
    (
        "settle",
        include_str!("../src/sql/settle.sql"),
        "uuid[],bigint[],bigint[],bigint[],bigint[],bigint[],bytea[],bytea[],bigint[],bytea[]",
    ),
    (
        "settle_alone",
        include_str!("../src/sql/settle_alone.sql"),
        "uuid,bigint,bigint,bigint,bigint,bigint,bytea,bytea,bigint,bytea",
    ),
    (
        "renew",
        include_str!("../src/sql/renew.sql"),
        "uuid[],bigint[],bigint[]",
    ),
    ("load", include_str!("../src/sql/load.sql"), "uuid[]"),
    ("lock", include_str!("../src/sql/lock.sql"), "uuid[]"),
    (
        "lock_free",
        include_str!("../src/sql/lock_free.sql"),
        "uuid[]",
    ),
    (
        "known",
        include_str!("../src/sql/inbox/known.sql"),
        "uuid[],bigint",
    ),
    (
        "settled",
        include_str!("../src/sql/inbox/settled.sql"),
        "uuid[]",
    ),
    (
        "renew_work",
        include_str!("../src/sql/inbox/renew.sql"),
        "uuid[],bigint[],bigint",
    ),
    (
        "save",
        include_str!("../src/sql/inbox/save.sql"),
        "uuid[],bigint[],bigint[],bigint[],bigint[],bigint[],bigint[],bigint[],bigint[],bigint[],text[],text[],text[],text[],text[],bigint[],bigint[],bigint[],bigint[]",
    ),
    (
        "complete",
        include_str!("../src/sql/inbox/complete.sql"),
        "text,bigint,bigint,uuid[],bigint[],text[],text[],bigint[],bigint[],bigint[],bytea[],bytea[],bigint[],bytea[]",
    ),
    (
        "states",
        include_str!("../src/sql/inbox/states.sql"),
        "uuid[]",
    ),
    (
        "lanes_of",
        include_str!("../src/sql/inbox/lanes_of.sql"),
        "uuid[]",
    ),
    (
        "lock_lanes",
        include_str!("../src/sql/inbox/lock_lanes.sql"),
        "text,text[],text[]",
    ),
    (
        "lane_first",
        include_str!("../src/sql/inbox/lane_first.sql"),
        "text,text[],text[],bigint",
    ),
    (
        "lane_around",
        include_str!("../src/sql/inbox/lane_around.sql"),
        "text,text[],text[],bigint[],bigint[],bigint[],bigint",
    ),
    (
        "take_positions",
        include_str!("../src/sql/inbox/take_positions.sql"),
        "text,text[]",
    ),
    (
        "hold_positions",
        include_str!("../src/sql/inbox/hold_positions.sql"),
        "text[],text[]",
    ),
    (
        "stand_at",
        include_str!("../src/sql/inbox/stand_at.sql"),
        "bigint,text[],text[],text[]",
    ),
    (
        "overdue",
        include_str!("../src/sql/inbox/overdue.sql"),
        "text,bigint,bigint",
    ),
    (
        "claimed",
        include_str!("../src/sql/inbox/claimed.sql"),
        "text,bigint,text",
    ),
];

/// The plans that a session of the store makes now.
async fn plans(schema: &Schema) -> Vec<(&'static str, Vec<String>)> {
    let client = schema.client().await;
    client
        .batch_execute(
            "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
             SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off",
        )
        .await
        .unwrap();
    let now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let mut plans = Vec::new();
    for (name, text, types) in STATEMENTS {
        let text = text
            .replace(
                "{followed}",
                "(SELECT value FROM {s}semel_meta WHERE name = 'open_fence')",
            )
            .replace("{fence}", "{s}semel_draw()")
            .replace("{now}", now)
            .replace("{brief}", "set_config('lock_timeout', '30', true)")
            .replace("{s}", &format!("{}.", schema.name));
        let text = text
            .replace("{record}", "r.*")
            .replace("{work}", "w.*")
            .replace("{message}", "m.payload")
            .replace("{settled_anew}", "ON CONFLICT (digest) DO NOTHING");
        let (types, nulls) = match types {
            "" => (String::new(), String::new()),
            _ => {
                let nulls = vec!["NULL"; types.split(',').count()].join(", ");
                (format!("({types})"), format!("({nulls})"))
            }
        };
        client
            .batch_execute(&format!("PREPARE {name} {types} AS {text}"))
            .await
            .unwrap();
        let explain = format!("EXPLAIN EXECUTE {name} {nulls}");
        let lines = client.query(&explain, &[]).await.unwrap();
        plans.push((name, lines.iter().map(|row| row.get(0)).collect()));
    }
    plans
}

/// Whether a plan goes over all rows of a table, be it along an index.
fn reads_all(plan: &[String]) -> bool {
    let after = plan[1..].iter().map(String::as_str).chain([""]);
    plan.iter().zip(after).any(|(line, next)| {
        let along_an_index = line.contains("Index Scan") || line.contains("Index Only Scan");
        let on_ours = line.contains(" on semel_");
        on_ours && (line.contains("Seq Scan") || along_an_index && !next.contains("Index Cond"))
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_verb_reads_the_whole_table() {
    let schema = Schema::new();
    let store = schema.open().await;
    pairs(&store, 500, 3_600_000, false).await;
    for (name, plan) in plans(&schema).await {
        assert!(!reads_all(&plan), "{name}: {}", plan.join("\n"));
    }
}

/// A plan is kept: one that is made while a table is empty is used when it no longer is.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_verb_that_was_planned_on_an_empty_table_reads_the_whole_table() {
    let schema = Schema::new();
    let store = schema.open().await;
    pairs(&store, 500, 3_600_000, false).await;
    let client = schema.client().await;
    let s = &schema.name;
    let empty = format!("DELETE FROM {s}.semel_records");
    client.batch_execute(&empty).await.unwrap();
    for table in ["semel_records", "semel_work", "semel_open", "semel_ranges"] {
        let vacuum = format!("VACUUM (ANALYZE) {s}.{table}");
        client.batch_execute(&vacuum).await.unwrap();
    }
    for (name, plan) in plans(&schema).await {
        assert!(!reads_all(&plan), "{name}: {}", plan.join("\n"));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sessions_run_under_the_settings_that_their_plans_need() {
    let schema = Schema::new();
    let store = schema.open().await;
    // The store's settings come with its connections; a trigger sees them from inside.
    let s = &schema.name;
    let list = SETTINGS
        .map(|name| format!("''{name}='' || current_setting(''{name}'')"))
        .join(" || '' '' || ");
    let client = schema.client().await;
    client
        .batch_execute(&format!(
            "CREATE TABLE {s}.seen (doing text, settings text); \
             CREATE FUNCTION {s}.see() RETURNS trigger LANGUAGE plpgsql AS \
                 'BEGIN INSERT INTO {s}.seen SELECT TG_OP, {list}; RETURN NEW; END'; \
             CREATE TRIGGER see BEFORE INSERT OR UPDATE ON {s}.semel_records FOR EACH ROW EXECUTE FUNCTION {s}.see()"
        ))
        .await
        .unwrap();
    lease_of(store.claim_one(short("k", 1)).await.unwrap());
    until("the sweep has written that the lease ended", async || {
        store.sweep(100).await.unwrap().leases_ended == 1
    })
    .await;
    let seen = format!("SELECT settings FROM {s}.seen WHERE doing = $1");
    // Others wait for a round trip of claims, so that it waits for locks only briefly; no caller waits for the sweep.
    for (doing, lock_timeout) in [("INSERT", "30ms"), ("UPDATE", "250ms")] {
        let row = client.query_one(&seen, &[&doing]).await.unwrap();
        let expected = format!(
            "plan_cache_mode=force_generic_plan enable_seqscan=off enable_hashjoin=off enable_mergejoin=off jit=off \
             lock_timeout={lock_timeout}"
        );
        assert_eq!(row.get::<_, String>(0), expected, "{doing}");
    }
}

/// An event of long ago, in a month of its own.
async fn long_ago(client: &Client, s: &str, identity: &Identity, event: &str) {
    let digest = Uuid::from_bytes(identity.digest().short());
    client
        .batch_execute(&format!(
            "INSERT INTO {s}.semel_history (digest, at_ms, fence, event, flags, status) \
             VALUES ('{digest}', 1583020800001, 1, '{event}', 0, 0)"
        ))
        .await
        .unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn old_months_are_dropped_whole_and_late_outcomes_of_live_records_stay() {
    let schema = Schema::new();
    let first = schema.open().await;
    let s = &schema.name;
    let client = schema.client().await;
    client
        .batch_execute(&format!(
            "CREATE TABLE {s}.semel_history_2020_03 PARTITION OF {s}.semel_history \
             FOR VALUES FROM (1583020800000) TO (1585699200000)"
        ))
        .await
        .unwrap();
    let live = granted(&first, "live").await;
    first.settle_one(settle(&live.claim, "done")).await.unwrap();
    for key in ["live", "gone"] {
        long_ago(&client, s, &identity(key), "late-outcome").await;
        long_ago(&client, s, &identity(key), "released").await;
    }
    // A process that has not looked yet this month does the work, whichever way it comes to it.
    let second = schema.open().await;
    second.sweep(100).await.unwrap();
    let month = format!(
        "SELECT count(*) FROM pg_class WHERE oid = to_regclass('{s}.semel_history_2020_03')"
    );
    assert_eq!(number(&client, &month).await, 0, "the month is gone");
    assert_eq!(
        number(&client, &format!("SELECT count(*) FROM {s}.semel_history")).await,
        1
    );
    let events = kinds(&second, "live").await;
    assert!(
        matches!(events[..], [EventKind::LateOutcome(_)]),
        "{events:?}"
    );
    // It stays as long as its record does, and no longer.
    client
        .batch_execute(&format!("DELETE FROM {s}.semel_records"))
        .await
        .unwrap();
    assert_eq!(second.sweep(100).await.unwrap().events_deleted, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn archived_records_land_in_the_month_of_their_end() {
    let schema = Schema::new();
    let store = schema.open().await;
    pairs(&store, 10, 1, true).await;
    let client = schema.client().await;
    let mut archived = 0;
    until("all are archived", async || {
        archived += store.sweep(100).await.unwrap().archived;
        archived == 10
    })
    .await;
    let s = &schema.name;
    let parts = format!(
        "SELECT count(*) FROM {s}.semel_archive WHERE tableoid::regclass::text = \
         '{s}.semel_archive_' || to_char(to_timestamp(expires_ms / 1000.0) AT TIME ZONE 'UTC', 'YYYY_MM')"
    );
    assert_eq!(number(&client, &parts).await, 10);
    let query = Query {
        state: Some(semel_core::store::StateFilter::Archived),
        ..Query::default()
    };
    assert_eq!(store.list(query).await.unwrap().records.len(), 10);
}

/// More than are counted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_archived_is_counted_up_to_a_limit_and_estimated_beyond() {
    let schema = Schema::new();
    let (store, client, s) = (schema.open().await, schema.client().await, &schema.name);
    let archive = async |count: i64| {
        let sql = format!(
            "INSERT INTO {s}.semel_archive SELECT n, 1, 1, 1, 'a', 'p', 'k', '', 1, 1, 0, 2, 0 FROM generate_series(1, {count}) n"
        );
        client.batch_execute(&sql).await.unwrap();
    };
    archive(10).await;
    assert_eq!(store.stats().await.unwrap().archived, 10);
    archive(210_000).await;
    let analyze = format!("ANALYZE {s}.semel_archive");
    client.batch_execute(&analyze).await.unwrap();
    archive(1_000).await;
    assert_eq!(store.stats().await.unwrap().archived, 210_010);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_stores_share_the_walk_and_each_record_is_deleted_once() {
    let schema = Schema::new();
    let (one, two) = (schema.open().await, schema.open().await);
    pairs(&one, 1_000, 1, false).await;
    let keep = granted(&one, "keep").await;
    one.settle_one(settle(&keep.claim, "done")).await.unwrap();
    let mut deleted = 0;
    until("everything that has expired is deleted", async || {
        let (a, b): (Result<Swept, _>, Result<Swept, _>) =
            tokio::join!(one.sweep(50), two.sweep(50));
        deleted += a.unwrap().deleted + b.unwrap().deleted;
        deleted >= 1_000
    })
    .await;
    for store in [&one, &two] {
        deleted += store.sweep(50).await.unwrap().deleted;
    }
    assert_eq!(deleted, 1_000, "each once");
    let stats = one.stats().await.unwrap();
    assert_eq!((stats.settled, stats.unknown), (1, 0));
    assert!(two.look_up_one(identity("keep")).await.unwrap().is_some());
}

/// Grants of one operation in a row, by competitors who release at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn fences_grow_however_many_claim_and_release() {
    let schema = Schema::new();
    let stores = [
        schema.open().await,
        schema.open().await,
        schema.open().await,
    ];
    // The contest ends at a number of grants, not of tries: where commits are slow, refusals are
    // many times as frequent.
    let grants = AtomicUsize::new(0);
    let contend = async |store: &PostgresStore| {
        let mut held: Vec<Claim> = Vec::new();
        while grants.load(Ordering::Relaxed) < 60 {
            if let semel_core::store::ClaimAnswer::Granted(lease) =
                store.claim_one(short("k", 30_000)).await.unwrap()
            {
                store.release_one(lease.claim.clone()).await.unwrap();
                held.push(lease.claim);
                grants.fetch_add(1, Ordering::Relaxed);
            }
        }
        held
    };
    let held = join_all(
        stores
            .iter()
            .flat_map(|store| [contend(store), contend(store)]),
    )
    .await;
    // Each competitor saw its own fences grow, and nobody saw one twice.
    let mut all = Vec::new();
    for fences in held {
        let fences: Vec<u64> = fences.iter().map(|claim| claim.fence.get()).collect();
        assert!(fences.is_sorted(), "{fences:?}");
        all.extend(fences);
    }
    let granted = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), granted);
    assert!(granted >= 60, "expected a contest, found {granted} grants");
    // What the database remembers of the releases says the same, in the order in which they happened.
    let sql = format!(
        "SELECT count(*) FROM (SELECT fence, lag(fence) OVER (ORDER BY id) AS before FROM {}.semel_history) h \
         WHERE fence <= before",
        schema.name
    );
    assert_eq!(number(&schema.client().await, &sql).await, 0);
}
