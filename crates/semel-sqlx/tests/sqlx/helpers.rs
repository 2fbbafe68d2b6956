//! Effects that may be asked for twice, as queries of sqlx.

use semel_sqlx::helpers::{Unbound, create_once, transition, upsert_newer};
use sqlx::{AssertSqlSafe, PgPool};

use crate::support::Schema;

async fn orders() -> (Schema, PgPool, String) {
    let schema = Schema::new();
    let _store = schema.open().await;
    let pool = schema.pool(2).await;
    let table = format!("{}.orders", schema.name);
    let make = format!("CREATE TABLE {table} (id text PRIMARY KEY, version bigint, state text)");
    let made = sqlx::query(AssertSqlSafe(make)).execute(&pool).await;
    made.expect("a table");
    (schema, pool, table)
}

async fn changed(query: Unbound, pool: &PgPool) -> bool {
    let done = query.execute(pool).await.expect("a statement");
    done.rows_affected() == 1
}

#[tokio::test]
async fn helpers_change_a_row_once() {
    let (_schema, pool, table) = orders().await;
    for (version, applies) in [(2_i64, true), (1, false), (2, false), (3, true)] {
        let query = upsert_newer(&table, "id", "version", &["state"]).expect("a query");
        let query = query.bind("o-1").bind(version).bind("placed");
        assert_eq!(changed(query, &pool).await, applies, "version {version}");
    }
    for applies in [true, false] {
        let query = transition(&table, "id", &["state"], &["state"]).expect("a query");
        let query = query.bind("o-1").bind("placed").bind("paid");
        assert_eq!(changed(query, &pool).await, applies);
    }
    for applies in [true, false] {
        let query = create_once(&table, "id", &["version"]).expect("a query");
        let query = query.bind("o-2").bind(1_i64);
        assert_eq!(changed(query, &pool).await, applies);
    }
}
