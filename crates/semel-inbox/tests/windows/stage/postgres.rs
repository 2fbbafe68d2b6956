//! A schema with Semel's tables and the user's own.

use std::sync::Arc;

use semel_core::Outcome;
use semel_core::inbox::{Finished, Inbox};
use semel_inbox::{Ctx, Done, Failure};
use semel_postgres::Config;
use semel_postgres::tx::Tables;
use tokio_postgres::{Client, NoTls};

use super::BeforeCommit;

/// The URL of the server that tests use.
pub(super) fn url() -> String {
    std::env::var("SEMEL_TEST_POSTGRES_URL").expect(
        "SEMEL_TEST_POSTGRES_URL is not set: run `cargo xtask test`, or \
         `cargo xtask services up postgres` and export what it prints",
    )
}

fn config(url: &str, schema: &str) -> Config {
    let config = Config::from_url(url).and_then(|config| config.schema(schema));
    // Several cases run at the same time, each with several processes.
    config.unwrap().sweep_every(None).connections(2)
}

pub(super) async fn open(url: &str, schema: &str) -> Arc<dyn Inbox> {
    Arc::new(config(url, schema).connect().await.unwrap())
}

async fn connect(url: &str) -> Result<Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

pub(super) async fn prepare(url: &str, schema: &str) {
    let sql = format!(
        "CREATE TABLE {schema}.effects (number bigserial PRIMARY KEY, message text NOT NULL)"
    );
    let client = connect(url).await.unwrap();
    client.batch_execute(&sql).await.unwrap();
}

pub(super) async fn remove(url: &str, schema: &str) {
    let sql = format!("DROP SCHEMA IF EXISTS {schema} CASCADE");
    // A failed clean-up must not hide why a test failed.
    if let Ok(client) = connect(url).await {
        let _ = client.batch_execute(&sql).await;
    }
}

pub(super) async fn apply(
    url: &str,
    schema: &str,
    ctx: &Ctx,
    before_commit: BeforeCommit,
) -> Result<Done, Failure> {
    let tables = Tables::new(&config(url, schema));
    let mut client = connect(url).await?;
    let mut tx = client.transaction().await?;
    let id = ctx.message().identity().key().as_str();
    if ctx.is_replay() {
        let sql = format!("DELETE FROM {schema}.effects WHERE message = $1");
        tx.execute(&sql, &[&id]).await?;
    }
    let sql = format!("INSERT INTO {schema}.effects (message) VALUES ($1)");
    tx.execute(&sql, &[&id]).await?;
    let finish = ctx.finish(Outcome::succeeded("applied"))?;
    let finished = tables.finish(&mut tx, ctx.plan(), &[finish]).await?;
    if finished != [Finished::Done] {
        return Err(Failure::retryable("the claim was lost"));
    }
    before_commit()?;
    tx.commit().await?;
    Ok(Done::in_transaction())
}

pub(super) async fn rows(url: &str, schema: &str) -> Vec<String> {
    let sql = format!("SELECT message FROM {schema}.effects ORDER BY number");
    let client = connect(url).await.unwrap();
    let rows = client.query(&sql, &[]).await.unwrap();
    rows.iter().map(|row| row.get(0)).collect()
}
