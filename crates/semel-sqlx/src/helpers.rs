//! Effects that may be asked for twice, as queries of sqlx: the values are bound in the order that each function says, and
//! one row is affected if something changed.
//!
//! ```no_run
//! use semel_sqlx::helpers::{create_once, transition, upsert_newer};
//!
//! # async fn project(pool: &sqlx::PgPool) -> Result<(), Box<dyn std::error::Error>> {
//! let mut tx = pool.begin().await?;
//! let query = upsert_newer("orders", "id", "version", &["total"])?;
//! let done = query.bind("o-1").bind(7_i64).bind(1_999_i64).execute(&mut *tx).await?;
//! let is_news = done.rows_affected() == 1;
//!
//! let query = transition("orders", "id", &["state"], &["state"])?;
//! let paid = query.bind("o-1").bind("placed").bind("paid").execute(&mut *tx).await?.rows_affected() == 1;
//!
//! // The payment's id follows from the message, so there is one payment per message.
//! let query = create_once("payments", "id", &["amount"])?;
//! let created = query.bind("payment-for-evt-1").bind(1_999_i64).execute(&mut *tx).await?.rows_affected() == 1;
//! tx.commit().await?;
//! # let _ = (is_news, paid, created);
//! # Ok(()) }
//! ```

use semel_core::Result;
use semel_postgres::helpers::statement;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Postgres};

/// A query whose values are still to be bound.
pub type Unbound = Query<'static, Postgres, PgArguments>;

/// Writes a row unless it shows this version or a newer one. Bind the key, the version, and the columns in their order.
pub fn upsert_newer(table: &str, key: &str, version: &str, columns: &[&str]) -> Result<Unbound> {
    statement::upsert_newer(table, key, version, columns).map(query)
}

/// Changes a row only if it is as expected: compare and set. Bind the key, the columns that are compared, and those that are set.
pub fn transition(table: &str, key: &str, from: &[&str], to: &[&str]) -> Result<Unbound> {
    statement::transition(table, key, from, to).map(query)
}

/// Creates a row unless one with this key exists. Bind the key and the columns in their order.
pub fn create_once(table: &str, key: &str, columns: &[&str]) -> Result<Unbound> {
    statement::create_once(table, key, columns).map(query)
}

/// The names in the text are checked and quoted; a named statement would not outlive the transaction behind a pooler.
fn query(sql: String) -> Unbound {
    sqlx::query(AssertSqlSafe(sql)).persistent(false)
}
