//! A plain inbox table on PostgreSQL: a claim is one statement with `SKIP LOCKED`, a completion another, each a
//! transaction of its own, each worker on a connection of its own.

use std::sync::{Mutex, MutexGuard, PoisonError};

use semel_core::{Error, Kind, Result};
use tokio::sync::Semaphore;
use tokio_postgres::{Client, Config, Statement};

use super::{CONSUMER, Dealt, Queue};
use crate::baseline::Done;
use crate::baseline::postgres::{connect, failed};
use crate::inbox::Letter;
use crate::inbox::letter::{KIND, TOPIC, VERSION};

/// The columns of an inbox table as they are usually given, and the index that pending messages are found by.
const TABLE: &str = "
    CREATE TABLE {table} (
        consumer_name text NOT NULL,
        message_id text NOT NULL,
        topic text NOT NULL,
        partition_id int,
        offset_value bigint,
        message_key text,
        event_type text NOT NULL,
        event_version int NOT NULL,
        payload bytea NOT NULL,
        headers jsonb NOT NULL DEFAULT '{}'::jsonb,
        status text NOT NULL,
        received_at timestamptz NOT NULL,
        locked_until timestamptz,
        attempts int NOT NULL DEFAULT 0,
        last_error text,
        processed_at timestamptz,
        PRIMARY KEY (consumer_name, message_id)
    );
    CREATE INDEX ON {table} (consumer_name, status, received_at)
        WHERE status IN ('RECEIVED', 'FAILED_RETRYABLE')";

const RECEIVE: &str = "
    INSERT INTO {table} (consumer_name, message_id, topic, event_type, event_version, payload, status, received_at)
    SELECT $1, message_id, $2, $3, $4, payload, 'RECEIVED', clock_timestamp()
    FROM unnest($5::text[], $6::bytea[]) AS arrived (message_id, payload)
    ON CONFLICT DO NOTHING";

/// One status alone: a second one would have the whole backlog sorted for every batch.
const CLAIM: &str = "
    WITH due AS MATERIALIZED (
        SELECT consumer_name, message_id FROM {table}
        WHERE consumer_name = $1 AND status = 'RECEIVED' AND (locked_until IS NULL OR locked_until < now())
        ORDER BY received_at LIMIT $2
        FOR UPDATE SKIP LOCKED
    )
    UPDATE {table} AS message
    SET status = 'IN_PROGRESS', locked_until = now() + interval '30 seconds', attempts = attempts + 1
    FROM due
    WHERE message.consumer_name = due.consumer_name AND message.message_id = due.message_id
    RETURNING message.message_id, message.payload";

const COMPLETE: &str = "
    UPDATE {table} SET status = 'COMPLETED', processed_at = now(), locked_until = NULL
    WHERE consumer_name = $1 AND message_id = ANY($2)";

/// The planner must not remember how small the table was when the statements were prepared.
const SESSION: &str = "
    SET enable_seqscan = off; SET enable_hashjoin = off; SET enable_mergejoin = off; SET jit = off;
    SET plan_cache_mode = force_generic_plan";

/// As many connections as there are workers.
#[derive(Debug)]
pub struct RawPostgresInbox {
    /// A std mutex, not an async one: it is held for a push or a pop.
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

struct Connection {
    client: Client,
    receive: Statement,
    claim: Statement,
    complete: Statement,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection")
    }
}

impl RawPostgresInbox {
    /// Makes an empty table in `schema`, and so many connections to it.
    pub async fn connect(server: &Config, schema: &str, connections: usize) -> Result<Self> {
        let table = format!("{schema}.inbox_message");
        let make = format!(
            "CREATE SCHEMA IF NOT EXISTS {schema}; {}",
            sql(TABLE, &table)
        );
        connect(server)
            .await?
            .batch_execute(&make)
            .await
            .map_err(failed)?;
        let mut idle = Vec::with_capacity(connections);
        for _ in 0..connections {
            idle.push(Connection::open(server, &table).await.map_err(failed)?);
        }
        Ok(Self {
            idle: Mutex::new(idle),
            permits: Semaphore::new(connections),
        })
    }

    fn idle(&self) -> MutexGuard<'_, Vec<Connection>> {
        // A push or a pop cannot be half-done, so a poisoned lock protects nothing.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn with<T>(
        &self,
        work: impl AsyncFnOnce(&Connection) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T> {
        let closed = |_| Error::new(Kind::Internal, "the baseline was closed");
        let _permit = self.permits.acquire().await.map_err(closed)?;
        let connection = self.idle().pop();
        let connection =
            connection.ok_or_else(|| Error::new(Kind::Internal, "a permit is a connection"))?;
        let done = work(&connection).await.map_err(failed);
        self.idle().push(connection);
        done
    }
}

impl Connection {
    async fn open(server: &Config, table: &str) -> Result<Self, tokio_postgres::Error> {
        let (client, connection) = server.connect(tokio_postgres::NoTls).await?;
        tokio::spawn(connection);
        client.batch_execute(SESSION).await?;
        Ok(Self {
            receive: client.prepare(&sql(RECEIVE, table)).await?,
            claim: client.prepare(&sql(CLAIM, table)).await?,
            complete: client.prepare(&sql(COMPLETE, table)).await?,
            client,
        })
    }

    async fn receive(&self, letters: &[Letter]) -> Result<(), tokio_postgres::Error> {
        let ids: Vec<&str> = letters.iter().map(|letter| letter.id.as_str()).collect();
        let payloads: Vec<&[u8]> = letters.iter().map(|letter| &letter.payload[..]).collect();
        let version = i32::try_from(VERSION).unwrap_or(i32::MAX);
        self.client
            .execute(
                &self.receive,
                &[&CONSUMER, &TOPIC, &KIND, &version, &ids, &payloads],
            )
            .await
            .map(drop)
    }

    async fn deal(&self, max: i64) -> Result<usize, tokio_postgres::Error> {
        let claimed = self.client.query(&self.claim, &[&CONSUMER, &max]).await?;
        let mut ids = Vec::with_capacity(claimed.len());
        for row in &claimed {
            // A worker reads what it claimed.
            let _payload: &[u8] = row.try_get(1)?;
            ids.push(row.try_get::<_, &str>(0)?);
        }
        if !ids.is_empty() {
            self.client
                .execute(&self.complete, &[&CONSUMER, &ids])
                .await?;
        }
        Ok(ids.len())
    }
}

impl Queue for RawPostgresInbox {
    fn name(&self) -> &str {
        "a plain table"
    }

    fn receive(&self, letters: Vec<Letter>) -> Done<'_> {
        Box::pin(async move {
            self.with(async |connection| connection.receive(&letters).await)
                .await
        })
    }

    fn deal(&self, max: usize) -> Dealt<'_> {
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        Box::pin(async move {
            self.with(async |connection| connection.deal(max).await)
                .await
        })
    }
}

/// Vacuums all tables of these schemas, so that every turn begins alike instead of when the server sees fit.
pub async fn rest(server: &Config, schemas: &[String]) -> Result<()> {
    let client = connect(server).await?;
    let tables = client
        .query(
            "SELECT format('%I.%I', schemaname, tablename) FROM pg_tables WHERE schemaname = ANY($1)",
            &[&schemas],
        )
        .await
        .map_err(failed)?;
    for table in tables {
        let vacuum = format!("VACUUM (ANALYZE) {}", table.get::<_, &str>(0));
        client.batch_execute(&vacuum).await.map_err(failed)?;
    }
    Ok(())
}

fn sql(text: &str, table: &str) -> String {
    text.replace("{table}", table)
}
