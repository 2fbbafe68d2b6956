//! Effects that may be asked for twice: ready statements for tables of the user's.
//!
//! The inbox keeps a message from running twice; an effect that itself knows what it has done is safe also where that is not
//! enough, such as in a replay that rebuilds. Each helper is one statement on the user's own table, to be called in
//! the transaction that finishes the message, and says whether it changed anything:
//!
//! - [`upsert_newer`]: a projection's row is written only by a newer version than the one it shows;
//! - [`transition`]: a row goes from one state to another only if it is in the first;
//! - [`create_once`]: a row is created only if none of its key exists. A key that follows from the message, by
//!   [`semel_core::Template`] for example, makes it once per message.
//!
//! Names of tables and columns are plain identifiers (letters, digits and underscores, a table also as `schema.table`); they
//! are quoted, so capitals matter and reserved words may be used. Values are bound, never written into a statement. What these helpers do not do: they
//! create no table and open no transaction. For other drivers [`statement`] has the texts.
//!
//! ```no_run
//! use semel_postgres::helpers::{Projection, create_once, transition, upsert_newer};
//!
//! # async fn project(client: &mut tokio_postgres::Client) -> Result<(), Box<dyn std::error::Error>> {
//! let tx = client.transaction().await?;
//! let order = Projection { table: "orders", key: ("id", &"o-1"), version: ("version", &7_i64) };
//! let is_news = upsert_newer(&tx, &order, &[("state", &"placed"), ("total", &1_999_i64)]).await?;
//!
//! let paid = transition(&tx, "orders", ("id", &"o-1"), &[("state", &"placed")], &[("state", &"paid")]).await?;
//!
//! // The payment's id follows from the message, so there is one payment per message.
//! let created = create_once(&tx, "payments", ("id", &"payment-for-evt-1"), &[("amount", &1_999_i64)]).await?;
//! tx.commit().await?;
//! # let _ = (is_news, paid, created);
//! # Ok(()) }
//! ```

pub mod statement;

use semel_core::Result;
use tokio_postgres::GenericClient;
use tokio_postgres::types::ToSql;

use crate::error::from_postgres;

/// A column and its value.
pub type Column<'a> = (&'a str, &'a (dyn ToSql + Sync));

/// The row of a projection that a version of an aggregate is written to.
#[derive(Clone, Copy)]
pub struct Projection<'a> {
    /// The table.
    pub table: &'a str,
    /// The column that names the row, which must be unique in the table, and its value.
    pub key: Column<'a>,
    /// The column that holds the version, and the version that is written.
    pub version: Column<'a>,
}

impl std::fmt::Debug for Projection<'_> {
    /// The key may be a secret: only names show.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            table,
            key,
            version,
        } = self;
        write!(f, "Projection({table}.{}, {})", key.0, version.0)
    }
}

/// Writes a row unless it shows this version or a newer one already; whether it was written.
///
/// A row that does not exist is inserted. A row whose version is null counts as older than any.
pub async fn upsert_newer<C: GenericClient + Sync>(
    client: &C,
    to: &Projection<'_>,
    columns: &[Column<'_>],
) -> Result<bool> {
    let sql = statement::upsert_newer(to.table, to.key.0, to.version.0, &names(columns))?;
    let values = [to.key, to.version].into_iter();
    changed(client, &sql, values.chain(columns.iter().copied())).await
}

/// Changes a row only if it is as expected: compare and set. Whether it was.
///
/// `false` also means that there is no such row. A null in `from` is equal to a null.
pub async fn transition<C: GenericClient + Sync>(
    client: &C,
    table: &str,
    key: Column<'_>,
    from: &[Column<'_>],
    to: &[Column<'_>],
) -> Result<bool> {
    let sql = statement::transition(table, key.0, &names(from), &names(to))?;
    let values = std::iter::once(key).chain(from.iter().chain(to).copied());
    changed(client, &sql, values).await
}

/// Creates a row unless one with this key exists; whether it was created.
///
/// The key's column must be unique in the table. A row that exists stays as it is, whatever its other columns say; another
/// rule of the table that the row would break is an error.
pub async fn create_once<C: GenericClient + Sync>(
    client: &C,
    table: &str,
    key: Column<'_>,
    columns: &[Column<'_>],
) -> Result<bool> {
    let sql = statement::create_once(table, key.0, &names(columns))?;
    let values = std::iter::once(key).chain(columns.iter().copied());
    changed(client, &sql, values).await
}

fn names<'a>(columns: &[Column<'a>]) -> Vec<&'a str> {
    columns.iter().map(|(name, _)| *name).collect()
}

async fn changed<'a, C: GenericClient + Sync>(
    client: &C,
    sql: &str,
    columns: impl Iterator<Item = Column<'a>>,
) -> Result<bool> {
    let values: Vec<&(dyn ToSql + Sync)> = columns.map(|(_, value)| value).collect();
    let changed = client.execute(sql, &values).await;
    let changed = changed.map_err(|e| from_postgres("writing to a table of the user's", e))?;
    Ok(changed > 0)
}
