//! Statements of the inbox: prepared once per connection, their errors in the core's words.

use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OptionalExtension, Row};
use semel_core::inbox::{Cause, State};
use semel_core::{Error, Result};

use crate::error::from_sqlite;

/// Values for a statement.
pub(super) type Values<'a> = &'a [&'a dyn ToSql];

/// An error of SQLite at work on the inbox, as an error of the core.
pub(super) fn failed(error: rusqlite::Error) -> Error {
    from_sqlite("at the inbox", error)
}

/// Runs a statement; how many rows it changed.
pub(super) fn run(connection: &Connection, sql: &str, values: Values<'_>) -> Result<usize> {
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    statement.execute(values).map_err(failed)
}

/// The first row of an answer, if there is one.
pub(super) fn one<T>(
    connection: &Connection,
    sql: &str,
    values: Values<'_>,
    read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Option<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let found = statement.query_row(values, read).optional();
    found.map_err(failed)
}

/// All rows of an answer.
pub(super) fn all<T>(
    connection: &Connection,
    sql: &str,
    values: Values<'_>,
    read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
) -> Result<Vec<T>> {
    let mut statement = connection.prepare_cached(sql).map_err(failed)?;
    let found = statement.query_map(values, read).map_err(failed)?;
    found.collect::<rusqlite::Result<_>>().map_err(failed)
}

/// A state as a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct SqlState(pub(super) State);

impl FromSql for SqlState {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        let number = i16::column_result(value)?;
        let state = State::from_number(number);
        state
            .map(Self)
            .ok_or(FromSqlError::OutOfRange(number.into()))
    }
}

impl ToSql for SqlState {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.0.number().into())
    }
}

/// A cause as a column; one that this version does not know reads as none.
#[derive(Debug, Clone, Copy)]
pub(super) struct SqlCause(pub(super) Option<Cause>);

impl FromSql for SqlCause {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Ok(Self(value.as_str_or_null()?.and_then(Cause::from_name)))
    }
}

impl ToSql for SqlCause {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let name = self.0.map(Cause::name);
        Ok(name.map_or(ToSqlOutput::Borrowed(ValueRef::Null), ToSqlOutput::from))
    }
}
