//! Plain PostgreSQL: a claim and a settle are two statements, each a transaction of its own, each caller on a
//! connection of its own. What a careful service writes by hand.

use std::sync::{Mutex, PoisonError};

use semel_core::{Error, Kind, Result};
use tokio::sync::Semaphore;
use tokio_postgres::{Client, Config, NoTls, Statement};

use super::{Baseline, Done};
use crate::sample::Sample;
use crate::sweep::Held;

/// As many connections as there are callers.
#[derive(Debug)]
pub struct RawPostgres {
    /// A std mutex, not an async one: it is held for a push or a pop.
    idle: Mutex<Vec<Connection>>,
    permits: Semaphore,
}

struct Connection {
    client: Client,
    claim: Statement,
    settle: Statement,
}

impl std::fmt::Debug for Connection {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Connection")
    }
}

impl RawPostgres {
    /// Makes an empty table in `schema`, and `callers` connections to it.
    pub async fn connect(server: &Config, schema: &str, callers: usize) -> Result<Self> {
        let table = format!("{schema}.raw_pairs");
        let mut idle = Vec::with_capacity(callers);
        for n in 0..callers {
            let client = connect(server).await?;
            if n == 0 {
                let make = format!(
                    "CREATE SCHEMA IF NOT EXISTS {schema}; \
                     CREATE TABLE {table} (key bytea PRIMARY KEY, meta bytea NOT NULL, result bytea)"
                );
                client.batch_execute(&make).await.map_err(failed)?;
            }
            let claim = format!(
                "INSERT INTO {table} (key, meta) VALUES ($1, $2) ON CONFLICT (key) DO NOTHING"
            );
            let settle =
                format!("UPDATE {table} SET result = $2 WHERE key = $1 AND result IS NULL");
            idle.push(Connection {
                claim: client.prepare(&claim).await.map_err(failed)?,
                settle: client.prepare(&settle).await.map_err(failed)?,
                client,
            });
        }
        Ok(Self {
            idle: Mutex::new(idle),
            permits: Semaphore::new(callers),
        })
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Vec<Connection>> {
        // A push or a pop cannot be half-done, so a poisoned lock protects nothing.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) async fn connect(server: &Config) -> Result<Client> {
    let (client, connection) = server.connect(NoTls).await.map_err(failed)?;
    tokio::spawn(connection);
    Ok(client)
}

/// Removes a schema and all in it.
pub async fn clean(server: &Config, schema: &str) -> Result<()> {
    let drop = format!("DROP SCHEMA IF EXISTS {schema} CASCADE");
    connect(server)
        .await?
        .batch_execute(&drop)
        .await
        .map_err(failed)
}

/// What a store on PostgreSQL holds in its table of records, that table's indexes included.
pub async fn held(server: &Config, schema: &str) -> Result<Held> {
    let table = format!("{schema}.semel_records");
    let count = format!("SELECT count(*), pg_total_relation_size('{table}') FROM {table}");
    let row = connect(server).await?.query_one(&count, &[]).await;
    let row = row.map_err(failed)?;
    let number = |at: usize| u64::try_from(row.get::<_, i64>(at)).unwrap_or(0);
    Ok(Held {
        records: number(0),
        bytes: number(1),
    })
}

impl Baseline for RawPostgres {
    fn name(&self) -> &str {
        "two plain statements"
    }

    fn pair<'a>(&'a self, sample: &'a Sample) -> Done<'a> {
        Box::pin(async move {
            let closed = |_| Error::new(Kind::Internal, "the baseline was closed");
            let _permit = self.permits.acquire().await.map_err(closed)?;
            let connection = self.idle().pop();
            let connection =
                connection.ok_or_else(|| Error::new(Kind::Internal, "a permit is a connection"))?;
            let (claim, outcome) = (sample.claim_bytes(), sample.outcome_bytes());
            let (key, meta) = claim.split_at(crate::sample::IDENTITY_BYTES);
            let Connection { client, .. } = &connection;
            client
                .execute(&connection.claim, &[&key, &meta])
                .await
                .map_err(failed)?;
            let body = outcome.as_slice();
            client
                .execute(&connection.settle, &[&key, &body])
                .await
                .map_err(failed)?;
            self.idle().push(connection);
            Ok(())
        })
    }
}

pub(super) fn failed(error: tokio_postgres::Error) -> Error {
    Error::new(Kind::Unavailable, "the raw baseline on PostgreSQL").caused_by(error)
}
