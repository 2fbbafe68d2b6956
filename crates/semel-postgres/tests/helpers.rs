//! Effects that may be asked for twice, on tables of the user's.

mod support;

use semel_postgres::helpers::{Projection, create_once, transition, upsert_newer};
use support::Schema;
use tokio_postgres::Client;

async fn orders() -> (Schema, Client, String) {
    let schema = Schema::new();
    let _store = schema.open().await;
    let client = schema.client().await;
    let table = format!("{}.order", schema.name);
    let make = format!(
        "CREATE TABLE {}.\"order\" (id text PRIMARY KEY, version bigint, state text, other text UNIQUE)",
        schema.name
    );
    client.batch_execute(&make).await.expect("a table");
    (schema, client, table)
}

async fn row(schema: &Schema, client: &Client) -> (Option<i64>, Option<String>) {
    let sql = format!(
        "SELECT version, state FROM {}.\"order\" WHERE id = 'o-1'",
        schema.name
    );
    let row = client.query_one(&sql, &[]).await.expect("a row");
    (row.get(0), row.get(1))
}

#[tokio::test]
async fn only_a_newer_version_is_written() {
    let (schema, client, table) = orders().await;
    for (version, state, applies) in [
        (3_i64, "c", true),
        (2, "b", false),
        (3, "again", false),
        (5, "e", true),
        (4, "d", false),
    ] {
        let to = Projection {
            table: &table,
            key: ("id", &"o-1"),
            version: ("version", &version),
        };
        let applied = upsert_newer(&client, &to, &[("state", &state)]).await;
        assert_eq!(applied.expect("a statement"), applies, "version {version}");
    }
    assert_eq!(row(&schema, &client).await, (Some(5), Some("e".to_owned())));
}

#[tokio::test]
async fn a_transition_happens_once_and_only_from_where_it_begins() {
    let (schema, client, table) = orders().await;
    let go = async |from: Option<&str>, to: &str| {
        let (from, to) = ([("state", &from as _)], [("state", &to as _)]);
        let went = transition(&client, &table, ("id", &"o-1"), &from, &to).await;
        went.expect("a statement")
    };
    assert!(!go(None, "placed").await, "there is no row yet");
    assert!(
        create_once(&client, &table, ("id", &"o-1"), &[])
            .await
            .expect("a statement")
    );
    assert!(go(None, "placed").await);
    assert!(go(Some("placed"), "paid").await);
    assert!(!go(Some("placed"), "paid").await);
    assert_eq!(row(&schema, &client).await.1.as_deref(), Some("paid"));
}

#[tokio::test]
async fn a_row_is_created_once_and_other_rules_still_hold() {
    let (_schema, client, table) = orders().await;
    let create = async |id: &str, other: &str| {
        create_once(&client, &table, ("id", &id), &[("other", &other)]).await
    };
    assert!(create("o-1", "x").await.expect("a statement"));
    assert!(!create("o-1", "y").await.expect("a statement"));
    create("o-2", "x")
        .await
        .expect_err("another column is unique too");
}
