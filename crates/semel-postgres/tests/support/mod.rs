//! A schema of its own for each test, gone with it.

#![allow(dead_code, unreachable_pub, reason = "each test uses some of this")]

pub mod bouncer;
pub mod verbs;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use semel_core::Store;
use semel_postgres::{Config, PostgresStore};

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
    pub url: String,
}

impl Schema {
    /// On the usual server.
    pub fn new() -> Self {
        Self::at(url())
    }

    /// The schema that all processes of a crash test share: the supervisor's, which is every worker's parent.
    /// It is left alone when this goes; see [`in_one_schema`].
    pub fn of_crash_run() -> std::mem::ManuallyDrop<Self> {
        let supervisor = match is_crash_worker() {
            true => std::os::unix::process::parent_id(),
            false => std::process::id(),
        };
        std::mem::ManuallyDrop::new(Self {
            name: format!("crash_{supervisor}"),
            url: url(),
        })
    }

    /// On the server at `url`.
    pub fn at(url: String) -> Self {
        let number = SCHEMAS.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        Self { name, url }
    }

    /// A configuration without a sweep in the background, so that tests decide when.
    pub fn config(&self) -> Config {
        let config = Config::from_url(&self.url).and_then(|config| config.schema(&self.name));
        config
            .expect("a valid URL")
            .sweep_every(None)
            .connections(4)
    }

    /// The same through another address, such as a proxy's.
    pub fn config_at(&self, url: &str) -> Config {
        let config = Config::from_url(url).and_then(|config| config.schema(&self.name));
        config
            .expect("a valid URL")
            .sweep_every(None)
            .connections(4)
    }

    /// A store in this schema.
    pub async fn open(&self) -> PostgresStore {
        self.config().connect().await.expect("the server answers")
    }

    /// The same, as any store.
    pub async fn connect(&self) -> Arc<dyn Store> {
        Arc::new(self.open().await)
    }

    /// A connection of the test's own.
    pub async fn client(&self) -> tokio_postgres::Client {
        client(&self.url).await
    }
}

/// Holds up every writer of records in `schema` until the answer is dropped.
pub async fn hold_up(schema: Arc<Schema>) -> tokio_postgres::Client {
    let client = schema.client().await;
    let lock = format!(
        "BEGIN; LOCK TABLE {}.semel_records IN EXCLUSIVE MODE",
        schema.name
    );
    client.batch_execute(&lock).await.expect("the lock is free");
    client
}

fn is_crash_worker() -> bool {
    std::env::var_os("SEMEL_CRASH_WORKER").is_some()
}

/// Runs a crash test whose processes share a schema, which the supervisor drops at the end.
pub fn in_one_schema<T>(test: impl FnOnce() -> T) -> T {
    let schema = (!is_crash_worker()).then(Schema::of_crash_run);
    let done = test();
    drop(schema.map(std::mem::ManuallyDrop::into_inner));
    done
}

/// A plain connection to the server at `url`.
pub async fn client(url: &str) -> tokio_postgres::Client {
    let connected = tokio_postgres::connect(url, tokio_postgres::NoTls).await;
    let (client, connection) = connected.expect("the server answers");
    tokio::spawn(connection);
    client
}

impl Drop for Schema {
    fn drop(&mut self) {
        let (url, name) = (self.url.clone(), self.name.clone());
        // A runtime cannot be entered from inside of another one, so this has a thread of its own.
        let dropped = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime
                .expect("a runtime can be built")
                .block_on(async move {
                    let drop = format!("DROP SCHEMA IF EXISTS {name} CASCADE");
                    // A server that a test has stopped keeps nothing for anybody.
                    if let Ok((client, connection)) =
                        tokio_postgres::connect(&url, tokio_postgres::NoTls).await
                    {
                        tokio::spawn(connection);
                        let _ = client.batch_execute(&drop).await;
                    }
                });
        });
        // A failed clean-up must not hide why a test failed.
        let _ = dropped.join();
    }
}
