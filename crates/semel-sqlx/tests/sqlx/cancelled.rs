//! Callers that go away, at every point of a message.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use semel_sqlx::{Message, Processed};
use semel_testkit::random::{Random, fresh_seed};
use sqlx::AssertSqlSafe;

use crate::support::{Account, Schema, run};

/// More often than this no message waits, unless another transaction is in its way.
const WAITS_MAX: usize = 32;

/// Lets a future go on until it has waited `waits` times, and drops it: at once, or when what it waits for has come.
async fn dropped_after<F: Future>(waits: usize, when_woken: bool, future: F) -> Option<F::Output> {
    let (mut future, mut waited) = (pin!(future), 0);
    std::future::poll_fn(|cx| {
        if waited == waits {
            return Poll::Ready(None);
        }
        match future.as_mut().poll(cx) {
            Poll::Ready(output) => return Poll::Ready(Some(output)),
            Poll::Pending => waited += 1,
        }
        match waited == waits && !when_woken {
            true => Poll::Ready(None),
            false => Poll::Pending,
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_that_is_cancelled_leaves_nothing_behind() {
    let account = Account::new().await;
    let consumer = account.consumer("deposits@1");
    let message = Message::new("m").unwrap().payload(b"100");
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let cancelled = tokio::spawn({
        let (consumer, message, deposit) =
            (consumer.clone(), message.clone(), account.deposit.clone());
        async move {
            consumer
                .process(&message, async |tx| {
                    run(&deposit, tx).await.unwrap();
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
        .process(&message, async |tx| run(&account.deposit, tx).await)
        .await;
    assert!(matches!(processed, Processed::Done(1)), "{processed:?}");
    assert_eq!(account.cents().await, 100);
}

/// With one connection, whoever comes next gets the one that was left. If it were inside of a transaction that
/// nobody knows of, their statement would never be committed.
#[tokio::test(flavor = "multi_thread")]
async fn wherever_a_caller_goes_away_the_next_statement_of_its_connection_is_committed() {
    let schema = Schema::new();
    let _store = schema.open().await;
    let mut outside = schema.connection().await;
    let make = "CREATE TABLE {s}.effect (key text); CREATE TABLE {s}.next (number bigint)";
    schema.run(&mut outside, make).await;
    let pool = schema.pool(1).await;
    let config = schema.config();
    let consumer = semel_sqlx::Consumer::new(pool.clone(), &config, "c@1".parse().unwrap());
    let effect = schema.sql("INSERT INTO {s}.effect VALUES ('k')");
    let (next, seen) = (
        schema.sql("INSERT INTO {s}.next VALUES (1)"),
        schema.sql("SELECT count(*) FROM {s}.next"),
    );
    let mut finished = 0;
    for (waits, when_woken) in (0..WAITS_MAX).flat_map(|waits| [(waits, false), (waits, true)]) {
        let message = Message::new(&format!("{when_woken}-{waits}")).unwrap();
        let handler = async |tx: &mut sqlx::Transaction<'_, _>| run(&effect, tx).await;
        let processed = consumer.process(&message, handler);
        let processed = dropped_after(waits, when_woken, processed).await;
        finished += i64::from(matches!(processed, Some(Processed::Done(1))));
        let before = count(&seen, &mut outside).await;
        let mut inside = pool.acquire().await.unwrap();
        run(&next, &mut inside).await.unwrap();
        let after = count(&seen, &mut outside).await;
        assert_eq!(
            after,
            before + 1,
            "dropped after {waits} waits, when woken: {when_woken}"
        );
    }
    assert!(
        finished > 0,
        "expected that a message needs fewer than {WAITS_MAX} waits"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storms_of_cancelled_callers_leave_no_transaction_and_no_second_effect() {
    const CONNECTIONS: u32 = 3;
    const MESSAGES: u64 = 60;
    const CALLERS: u64 = 8;
    const DELIVERIES: u64 = 100;
    let seed = fresh_seed();
    let schema = Arc::new(Schema::new());
    let _store = schema.open().await;
    let mut outside = schema.connection().await;
    let make = "CREATE TABLE {s}.effect (key text); CREATE TABLE {s}.next (number bigint)";
    schema.run(&mut outside, make).await;
    let pool = schema.pool(CONNECTIONS).await;
    let config = schema.config();
    let consumer = semel_sqlx::Consumer::new(pool.clone(), &config, "c@1".parse().unwrap());
    let deliver = {
        let schema = Arc::clone(&schema);
        async move |number: u64, waits: Option<usize>, when_woken: bool| {
            let effect = schema.sql(&format!("INSERT INTO {{s}}.effect VALUES ('{number}')"));
            let message = Message::new(&number.to_string()).unwrap();
            let handler = async |tx: &mut sqlx::Transaction<'_, _>| run(&effect, tx).await;
            let processed = consumer.process(&message, handler);
            dropped_after(waits.unwrap_or(usize::MAX), when_woken, processed).await
        }
    };
    let next = schema.sql("INSERT INTO {s}.next VALUES (1)");
    let mut callers = tokio::task::JoinSet::new();
    for caller in 0..CALLERS {
        let (deliver, pool, next) = (deliver.clone(), pool.clone(), next.clone());
        callers.spawn(async move {
            let mut random = Random::new(seed.wrapping_add(caller * 2));
            for _ in 0..DELIVERIES {
                let waits = usize::try_from(random.below(24)).unwrap();
                deliver(random.below(MESSAGES), Some(waits), random.chance(50)).await;
                // Somebody else's statement, on whichever connection is free.
                let mut inside = pool.acquire().await.unwrap();
                run(&next, &mut inside).await.unwrap();
            }
        });
    }
    callers.join_all().await;
    nothing_is_open(&schema, &pool, CONNECTIONS, seed).await;
    let seen = count(&schema.sql("SELECT count(*) FROM {s}.next"), &mut outside).await;
    assert_eq!(
        u64::try_from(seen).unwrap(),
        CALLERS * DELIVERIES,
        "seed {seed}"
    );
    let before = effects(&schema, &mut outside).await;
    assert!(
        before.values().all(|count| *count == 1),
        "seed {seed}: {before:?}"
    );
    for number in 0..MESSAGES {
        let processed = deliver(number, None, false)
            .await
            .expect("it is not dropped");
        assert!(processed.is_acknowledged(), "seed {seed}: {processed:?}");
    }
    let after = effects(&schema, &mut outside).await;
    assert_eq!(u64::try_from(after.len()).unwrap(), MESSAGES);
    assert!(
        after.values().all(|count| *count == 1),
        "seed {seed}: {after:?}"
    );
}

/// Takes every connection, so that all of them have been given back, and asks the server what they are in.
async fn nothing_is_open(schema: &Schema, pool: &sqlx::PgPool, connections: u32, seed: u64) {
    let mut all = Vec::new();
    for _ in 0..connections {
        all.push(pool.acquire().await.expect("the server answers"));
    }
    let mut outside = schema.connection().await;
    let open: Vec<(String, String)> = sqlx::query_as(
        "SELECT state, query FROM pg_stat_activity WHERE application_name = $1 AND state <> 'idle'",
    )
    .bind(&schema.name)
    .fetch_all(&mut outside)
    .await
    .expect("the server answers");
    assert_eq!(open, [], "seed {seed}");
}

async fn count(sql: &str, connection: &mut sqlx::PgConnection) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(sql))
        .fetch_one(connection)
        .await
        .expect("the server answers")
}

async fn effects(schema: &Schema, connection: &mut sqlx::PgConnection) -> HashMap<String, i64> {
    let sql = schema.sql("SELECT key, count(*) FROM {s}.effect GROUP BY key");
    let rows: Vec<(String, i64)> = sqlx::query_as(AssertSqlSafe(sql))
        .fetch_all(connection)
        .await
        .expect("the server answers");
    rows.into_iter().collect()
}
