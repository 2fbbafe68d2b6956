//! A schema of its own for each test, gone with it, and a pool that leads to it.

#![allow(dead_code, unreachable_pub, reason = "each test uses some of this")]

#[path = "../../../semel-postgres/tests/support/bouncer.rs"]
pub mod bouncer;

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use semel_postgres::{Config, PostgresStore};
use semel_sqlx::{Consumer, Tables};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{AssertSqlSafe, Connection, PgConnection, PgPool};

/// Nothing that a test waits for takes longer.
pub const PATIENCE: Duration = Duration::from_secs(30);

static SCHEMAS: AtomicU64 = AtomicU64::new(0);

/// The URL of the server that tests use.
pub fn url() -> String {
    std::env::var("SEMEL_TEST_POSTGRES_URL").expect(
        "SEMEL_TEST_POSTGRES_URL is not set: run `cargo xtask test`, or \
         `cargo xtask services up postgres` and export what it prints",
    )
}

/// A schema that only one test uses.
#[derive(Debug)]
pub struct Schema {
    pub name: String,
}

impl Schema {
    pub fn new() -> Self {
        let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_sqlx_{}_{number}", std::process::id());
        Self { name }
    }

    /// A configuration without a sweep in the background, so that tests decide when.
    pub fn config(&self) -> Config {
        let config = Config::from_url(&url()).and_then(|config| config.schema(&self.name));
        config
            .expect("a valid URL")
            .sweep_every(None)
            .connections(2)
    }

    /// A store in this schema.
    pub async fn open(&self) -> PostgresStore {
        self.config().connect().await.expect("the server answers")
    }

    /// A pool whose connections bear the schema's name.
    pub async fn pool(&self, connections: u32) -> PgPool {
        self.pool_at(&url(), connections).await
    }

    /// The same through another address, such as a proxy's.
    pub async fn pool_at(&self, url: &str, connections: u32) -> PgPool {
        let options: PgConnectOptions = url.parse().expect("a valid URL");
        let pool = PgPoolOptions::new()
            .max_connections(connections)
            // A look at a connection before it is used would hide that it is broken.
            .test_before_acquire(false)
            .acquire_timeout(PATIENCE);
        let pool = pool
            .connect_with(options.application_name(&self.name))
            .await;
        pool.expect("the server answers")
    }

    /// A connection of the test's own, which does not bear the schema's name.
    pub async fn connection(&self) -> PgConnection {
        PgConnection::connect(&url())
            .await
            .expect("the server answers")
    }

    /// Runs a statement in which `{s}` stands for the schema.
    pub async fn run(&self, connection: &mut PgConnection, sql: &str) {
        let sql = self.sql(sql);
        let ran = sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await;
        ran.expect("a statement that is right");
    }

    /// A statement in which `{s}` stood for the schema.
    pub fn sql(&self, sql: &str) -> String {
        sql.replace("{s}", &self.name)
    }
}

/// An account beside the tables of a store.
pub struct Account {
    pub store: PostgresStore,
    pub tables: Tables,
    pub pool: PgPool,
    pub deposit: String,
    pub schema: Schema,
}

impl Account {
    pub async fn new() -> Self {
        let schema = Schema::new();
        let store = schema.open().await;
        let pool = schema.pool(4).await;
        let mut connection = pool.acquire().await.expect("the server answers");
        let make = "CREATE TABLE {s}.account (cents bigint); INSERT INTO {s}.account VALUES (0)";
        schema.run(&mut connection, make).await;
        Self {
            store,
            tables: Tables::new(&schema.config()),
            pool,
            deposit: schema.sql("UPDATE {s}.account SET cents = cents + 100"),
            schema,
        }
    }

    pub fn consumer(&self, scope: &str) -> Consumer {
        Consumer::new(
            self.pool.clone(),
            &self.schema.config(),
            scope.parse().expect("a valid scope"),
        )
    }

    pub async fn cents(&self) -> i64 {
        let sql = self.schema.sql("SELECT cents FROM {s}.account");
        sqlx::query_scalar(AssertSqlSafe(sql))
            .fetch_one(&self.pool)
            .await
            .expect("the server answers")
    }
}

pub async fn run(sql: &str, connection: &mut PgConnection) -> Result<u64, sqlx::Error> {
    let done = sqlx::query(AssertSqlSafe(sql)).execute(connection).await?;
    Ok(done.rows_affected())
}

impl Drop for Schema {
    fn drop(&mut self) {
        let name = self.name.clone();
        // A runtime cannot be entered from inside of another one, so this has a thread of its own.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime
                .expect("a runtime can be built")
                .block_on(async move {
                    if let Ok(mut connection) = PgConnection::connect(&url()).await {
                        let drop = format!("DROP SCHEMA IF EXISTS {name} CASCADE");
                        let _ = sqlx::raw_sql(AssertSqlSafe(drop))
                            .execute(&mut connection)
                            .await;
                    }
                });
        });
        // A failed clean-up must not hide why a test failed.
        let _ = dropped.join();
    }
}
