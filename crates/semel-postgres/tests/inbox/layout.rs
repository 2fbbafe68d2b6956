//! How the tables are used.

use semel_core::inbox::work::ErrorText;
use semel_core::inbox::{Cause, Disposition, Finish, Query, State};
use semel_core::{Inbox, Kind};
use semel_postgres::PostgresStore;
use tokio_postgres::Client;

use crate::support::Schema;
use crate::verbs::{arrivals, claimed, complete, ids, plan, received};

/// Receives messages and parks them all.
async fn park(store: &PostgresStore, all: &[String]) {
    received(store, &plan(), all).await;
    for _ in all.chunks(1_000) {
        let jobs = claimed(store, &plan(), 1_000).await;
        let park = |claim| Finish {
            claim,
            took: std::time::Duration::ZERO,
            disposition: Disposition::Park {
                cause: Cause::Handler,
                error: ErrorText::new("a person must look"),
            },
        };
        let items = jobs.iter().map(|job| park(job.claim.clone())).collect();
        store.finish(plan(), items).await.unwrap();
    }
}

async fn explained(client: &Client, sql: &str) -> String {
    let lines = client.query(&format!("EXPLAIN {sql}"), &[]).await.unwrap();
    let lines: Vec<String> = lines.iter().map(|row| row.get(0)).collect();
    lines.join("\n")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_parked_is_not_in_the_index_that_claims_look_at() {
    let schema = Schema::new();
    let store = schema.open().await;
    park(&store, &ids(2_000)).await;
    let client = schema.client().await;
    let s = &schema.name;
    client
        .batch_execute(&format!("ANALYZE {s}.semel_work"))
        .await
        .unwrap();
    let definition = format!("SELECT pg_get_indexdef('{s}.semel_work_ready'::regclass)");
    let definition: String = client.query_one(&definition, &[]).await.unwrap().get(0);
    assert!(
        definition.ends_with("WHERE (due_ms IS NOT NULL)"),
        "{definition}"
    );
    let inside = format!("SELECT count(*) FROM {s}.semel_work WHERE due_ms IS NOT NULL");
    let inside: i64 = client.query_one(&inside, &[]).await.unwrap().get(0);
    assert_eq!(inside, 0);
    let due = format!(
        "SELECT digest FROM {s}.semel_work WHERE consumer = 'mailer@1' AND due_ms <= 1 ORDER BY due_ms, number LIMIT 100"
    );
    let plan = explained(&client, &due).await;
    assert!(plan.contains("semel_work_ready"), "{plan}");
    let still = format!(
        "SELECT count(*) FROM {s}.semel_work WHERE consumer = 'mailer@1' AND due_ms IS NULL AND state = 5"
    );
    client
        .batch_execute("SET enable_seqscan = off")
        .await
        .unwrap();
    let plan = explained(&client, &still).await;
    assert!(plan.contains("semel_work_still"), "{plan}");
    let counts = store.counts().await.unwrap();
    assert_eq!((counts[0].parked, counts[0].pending()), (2_000, 0));
}

/// The columns of a message, as the store asks for them.
const MESSAGE: &str = "m.tenant, m.scope, m.version, m.key, m.fingerprint, m.lane, m.sequence, m.kind, m.schema_version, \
    m.topic, m.topic_partition, m.topic_offset, m.headers, m.payload, m.received_ms";

/// The statement of a claim, as the store sends it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_goes_by_index_and_to_one_month() {
    let schema = Schema::new();
    let store = schema.open().await;
    received(&store, &plan(), &ids(500)).await;
    let client = schema.client().await;
    client
        .batch_execute(
            "SET plan_cache_mode = force_generic_plan; SET enable_seqscan = off; \
             SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off",
        )
        .await
        .unwrap();
    let now = "floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint";
    let text = include_str!("../../src/sql/inbox/claim.sql")
        .replace("{fence}", "{s}semel_draw()")
        .replace("{now}", now)
        .replace("{message}", MESSAGE)
        .replace("{s}", &format!("{}.", schema.name));
    client
        .batch_execute(&format!(
            "PREPARE claim (text, bigint, text, bigint, bigint, bigint, bigint) AS {text}"
        ))
        .await
        .unwrap();
    let explain = "ANALYZE, TIMING OFF) EXECUTE claim ('mailer@1', 100, 'w', 1000, 0, 7, 1000000)";
    let lines = client
        .query(&format!("EXPLAIN ({explain}"), &[])
        .await
        .unwrap();
    let lines: Vec<String> = lines.iter().map(|row| row.get(0)).collect();
    let plan = lines.join("\n");
    assert!(!plan.contains("Seq Scan"), "{plan}");
    assert!(plan.contains("semel_work_ready"), "{plan}");
    let looked_at = lines.iter().filter(|line| !line.contains("never executed"));
    let month = |line: &String| {
        let name = line.split(" on semel_messages_").nth(1)?;
        Some(name.split(' ').next()?.to_owned())
    };
    let months: std::collections::BTreeSet<String> = looked_at.filter_map(month).collect();
    assert_eq!(months.len(), 1, "{plan}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_count_that_has_reached_its_limit_is_the_least_there_may_be() {
    const COUNTS: &str = include_str!("../../src/sql/inbox/counts.sql");
    let schema = Schema::new();
    let store = schema.open().await;
    park(&store, &ids(3)).await;
    received(&store, &plan(), &["waits".to_owned()]).await;
    let sql = COUNTS.replace("{now}", "0::bigint");
    let sql = sql.replace("{s}", &format!("{}.", schema.name));
    let client = schema.client().await;
    for (limit, parked, at_least) in [(4_i64, 3_i64, 0_i64), (3, 3, 1), (2, 2, 1)] {
        let row = client.query_one(&sql, &[&limit]).await.unwrap();
        let found: (i64, i64) = (row.get(6), row.get(12));
        assert_eq!(found, (parked, at_least), "{limit}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_completed_leaves_no_work_behind() {
    let schema = Schema::new();
    let store = schema.open().await;
    received(&store, &plan(), &ids(1_500)).await;
    for _ in 0..2 {
        let jobs = claimed(&store, &plan(), 1_000).await;
        complete(&store, &plan(), &jobs).await;
    }
    let client = schema.client().await;
    for (table, expected) in [
        ("semel_work", 0_i64),
        ("semel_records", 1_500),
        ("semel_messages", 1_500),
        ("semel_attempts", 0),
        ("semel_transitions", 0),
        ("semel_lanes", 0),
        ("semel_duplicates", 0),
    ] {
        let sql = format!("SELECT count(*) FROM {}.{table}", schema.name);
        let count: i64 = client.query_one(&sql, &[]).await.unwrap().get(0);
        assert_eq!(count, expected, "{table}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_are_listed_without_a_look_at_what_is_done() {
    let schema = Schema::new();
    let store = schema.open().await;
    park(&store, &["dead".to_owned()]).await;
    received(&store, &plan(), &ids(300)).await;
    let jobs = claimed(&store, &plan(), 300).await;
    complete(&store, &plan(), &jobs).await;
    let query = Query {
        states: vec![State::Parked, State::FailedTerminal],
        ..Query::default()
    };
    let page = store.list_messages(query).await.unwrap();
    let found: Vec<&str> = page
        .entries
        .iter()
        .map(|e| e.identity.key().as_str())
        .collect();
    assert_eq!((found, page.next), (vec!["dead"], None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn processed_messages_are_exposed_and_nothing_of_the_users_is_replaced() {
    let schema = Schema::new();
    let store = schema.open().await;
    received(&store, &plan(), &ids(2)).await;
    let jobs = claimed(&store, &plan(), 1).await;
    complete(&store, &plan(), &jobs).await;
    store
        .expose_processed("processed_messages".to_owned())
        .await
        .unwrap();
    let client = schema.client().await;
    let sql = format!(
        "SELECT consumer_name, message_id, processed_at <= clock_timestamp() FROM {}.processed_messages",
        schema.name
    );
    let rows = client.query(&sql, &[]).await.unwrap();
    let seen: Vec<(String, String, bool)> = rows
        .iter()
        .map(|row| (row.get(0), row.get(1), row.get(2)))
        .collect();
    assert_eq!(seen, [("mailer".to_owned(), "m-0".to_owned(), true)]);
    for (create, name) in [
        ("TABLE {s}.their_table (id bigint)", "their_table"),
        (
            "VIEW {s}.their_view AS SELECT 1 AS consumer_name",
            "their_view",
        ),
    ] {
        let create = format!("CREATE {}", create.replace("{s}", &schema.name));
        client.batch_execute(&create).await.unwrap();
        let error = store.expose_processed(name.to_owned()).await.unwrap_err();
        assert_eq!(error.kind(), Kind::Invalid, "{error}");
        assert!(error.to_string().contains("something else"), "{error}");
    }
}

/// A batch of payloads that no single statement should carry.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_payloads_go_in_pieces_and_in_one_transaction() {
    let schema = Schema::new();
    let store = schema.open().await;
    let mut batch = arrivals(&plan(), &[]);
    for n in 0..5_u8 {
        let identity = crate::verbs::message_to(&plan(), &format!("m-{n}"))
            .identity()
            .clone();
        let payload = vec![n; 4 * 1024 * 1024];
        let message = semel_core::inbox::Message::new(identity, payload).unwrap();
        batch.messages.push(message);
    }
    store.receive(batch).await.unwrap();
    let jobs = claimed(&store, &plan(), 10).await;
    let sizes: Vec<usize> = jobs.iter().map(|job| job.message.payload().len()).collect();
    assert_eq!(sizes, [4 * 1024 * 1024; 5]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn lanes_in_which_nothing_stands_are_forgotten_in_time() {
    use semel_core::Store;
    use semel_core::inbox::{Baseline, OnGap, OnTerminal, Order};
    let on_terminal = OnTerminal::Park;
    let by_sequence = |baseline| Order::Sequence {
        baseline,
        on_gap: OnGap::default(),
        on_terminal,
    };
    for (order, is_forgotten) in [
        (Order::Arrival { on_terminal }, true),
        (by_sequence(Baseline::FirstSeen), true),
        (by_sequence(Baseline::After(0)), false),
    ] {
        let schema = Schema::new();
        let (store, client, s) = (schema.open().await, schema.client().await, &schema.name);
        let plan = semel_core::inbox::Plan { order, ..plan() };
        let in_lane = |lane: &str, n: u64| {
            let message = crate::verbs::message_to(&plan, &format!("{lane}-{n}"));
            let lane = semel_core::Key::new(lane).unwrap();
            message.with_lane(lane).with_sequence(n).unwrap()
        };
        let mut batch = arrivals(&plan, &[]);
        batch.messages = vec![in_lane("done", 1), in_lane("waits", 1), in_lane("waits", 2)];
        store.receive(batch).await.unwrap();
        let jobs = claimed(&store, &plan, 10).await;
        complete(&store, &plan, &jobs).await;
        let lanes = async || -> Vec<String> {
            store.sweep(100).await.unwrap();
            let sql = format!("SELECT lane FROM {s}.semel_lanes ORDER BY lane");
            let rows = client.query(&sql, &[]).await.unwrap();
            rows.iter().map(|row| row.get(0)).collect()
        };
        assert_eq!(lanes().await, ["done", "waits"], "{order:?}: not yet");
        let pass = format!("UPDATE {s}.semel_lanes SET forget_ms = 0 WHERE forget_ms IS NOT NULL");
        client.batch_execute(&pass).await.unwrap();
        let left: &[&str] = if is_forgotten {
            &["waits"]
        } else {
            &["done", "waits"]
        };
        assert_eq!(lanes().await, left, "{order:?}");
        // A lane that was forgotten is made again by the next message.
        let mut batch = arrivals(&plan, &[]);
        batch.messages = vec![in_lane("done", 2)];
        store.receive(batch).await.unwrap();
        let jobs = claimed(&store, &plan, 10).await;
        assert_eq!(jobs.len(), 2, "{order:?}: the next of each lane");
    }
}
