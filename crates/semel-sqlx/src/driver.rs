//! One statement on sqlx's connection: parameters in, rows out, errors by their meaning.

use bytes::Bytes;
use semel_core::{Error, Kind, Result};
use semel_postgres::tx::{Driver, Row, Value, from_driver};
use sqlx::postgres::{PgArguments, PgRow};
use sqlx::query::Query;
use sqlx::{AssertSqlSafe, Column, PgConnection, Postgres, Row as _, TypeInfo};
use uuid::Uuid;

/// A connection that is inside a transaction.
pub(crate) struct Sqlx<'a>(pub(crate) &'a mut PgConnection);

impl Driver for Sqlx<'_> {
    type Error = Error;

    async fn rows(&mut self, sql: &str, params: Vec<Value>) -> Result<Vec<Row>> {
        // The text is one of the store's own statements; what differs from call to call is bound.
        // A named statement would not outlive the transaction behind a pooler.
        let query = sqlx::query(AssertSqlSafe(sql)).persistent(false);
        let query = params.iter().fold(query, bind);
        let rows = query.fetch_all(&mut *self.0).await;
        let rows = rows.map_err(|error| from_sqlx("in a transaction", error))?;
        rows.iter().map(read).collect()
    }
}

fn bind<'q>(
    query: Query<'q, Postgres, PgArguments>,
    value: &Value,
) -> Query<'q, Postgres, PgArguments> {
    match value {
        Value::Int(value) => query.bind(*value),
        Value::Text(value) => query.bind(value.clone()),
        Value::Bytes(value) => query.bind(value.as_ref().map(|bytes| bytes.to_vec())),
        Value::Uuid(value) => query.bind(*value),
        Value::Ints(values) => query.bind(values.clone()),
        Value::Texts(values) => query.bind(values.clone()),
        Value::ByteStrings(values) => {
            let owned = values
                .iter()
                .map(|value| value.as_ref().map(|bytes| bytes.to_vec()));
            query.bind(owned.collect::<Vec<_>>())
        }
        Value::Uuids(values) => query.bind(values.clone()),
    }
}

fn read(row: &PgRow) -> Result<Row> {
    let columns = row.columns().iter().map(|column| read_column(row, column));
    let columns = columns.collect::<Result<_, sqlx::Error>>();
    columns.map(Row::new).map_err(|error| {
        Error::new(Kind::Damaged, "postgres, a column is not of its type").caused_by(error)
    })
}

fn read_column(row: &PgRow, column: &sqlx::postgres::PgColumn) -> Result<Value, sqlx::Error> {
    let at = column.ordinal();
    Ok(match column.type_info().name() {
        "INT8" => Value::Int(row.try_get(at)?),
        "INT4" => Value::Int(row.try_get::<Option<i32>, _>(at)?.map(i64::from)),
        "INT2" => Value::Int(row.try_get::<Option<i16>, _>(at)?.map(i64::from)),
        "BOOL" => Value::Int(row.try_get::<Option<bool>, _>(at)?.map(i64::from)),
        "BYTEA" => {
            let bytes = row.try_get::<Option<&[u8]>, _>(at)?;
            Value::Bytes(bytes.map(Bytes::copy_from_slice))
        }
        "UUID" => Value::Uuid(row.try_get::<Option<Uuid>, _>(at)?),
        _ => Value::Text(row.try_get(at)?),
    })
}

/// An error of sqlx while something was being done, by its SQLSTATE if the server gave one.
pub(crate) fn from_sqlx(doing: &str, error: sqlx::Error) -> Error {
    let state = state_of(&error);
    from_driver(doing, state.as_deref(), error)
}

/// Whether nothing is known about what a statement did: a server that answers, be it with an error, has rolled back.
pub(crate) fn is_lost(error: &sqlx::Error) -> bool {
    state_of(error).is_none()
}

fn state_of(error: &sqlx::Error) -> Option<String> {
    let code = error.as_database_error().and_then(|error| error.code());
    code.map(|code| code.into_owned())
}
