//! Effects that may be asked for twice: ready statements for the tables of rusqlite users.
//!
//! The inbox keeps a message from running twice; an effect that itself knows what it has done is safe also where that is not
//! enough, such as in a replay that rebuilds. Each helper is one statement on the user's own table, to be called in
//! the transaction that finishes the message ([`crate::inbox::finish_in`]), and says whether it changed anything:
//!
//! - [`upsert_newer`]: a projection's row is written only by a newer version than the one it shows;
//! - [`transition`]: a row goes from one state to another only if it is in the first;
//! - [`create_once`]: a row is created only if none of its key exists. A key that follows from the message, by
//!   [`semel_core::Template`] for example, makes it once per message.
//!
//! Names of tables and columns are plain identifiers (letters, digits and underscores, a table also as `schema.table`); they
//! are quoted, so reserved words may be used. Values are bound, never written into a statement. What these helpers do not do: they
//! create no table and open no transaction.
//!
//! ```
//! use rusqlite::Connection;
//! use semel_sqlite::helpers::{Projection, create_once, transition, upsert_newer};
//!
//! let connection = Connection::open_in_memory()?;
//! connection.execute_batch(
//!     "CREATE TABLE orders (id TEXT PRIMARY KEY, version INTEGER NOT NULL, state TEXT, total INTEGER);
//!      CREATE TABLE payments (id TEXT PRIMARY KEY, order_id TEXT, amount INTEGER)",
//! )?;
//!
//! // Version 7 came first: version 6 says nothing new.
//! let at = |version| Projection { table: "orders", key: ("id", &"o-1"), version: ("version", version) };
//! assert!(upsert_newer(&connection, &at(7), &[("state", &"placed"), ("total", &1_999)])?);
//! assert!(!upsert_newer(&connection, &at(6), &[("state", &"draft"), ("total", &0)])?);
//!
//! // Two deliveries of "paid": one of them makes the change.
//! let order = ("id", &"o-1" as &dyn rusqlite::ToSql);
//! assert!(transition(&connection, "orders", order, &[("state", &"placed")], &[("state", &"paid")])?);
//! assert!(!transition(&connection, "orders", order, &[("state", &"placed")], &[("state", &"paid")])?);
//!
//! // The payment's id follows from the message, so there is one payment per message.
//! let payment = ("id", &"payment-for-evt-1" as &dyn rusqlite::ToSql);
//! let columns: [(&str, &dyn rusqlite::ToSql); 2] = [("order_id", &"o-1"), ("amount", &1_999)];
//! assert!(create_once(&connection, "payments", payment, &columns)?);
//! assert!(!create_once(&connection, "payments", payment, &columns)?);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use rusqlite::{Connection, ToSql};
use semel_core::{Error, Kind, Result};

use crate::error::from_sqlite;

/// The longest name of a table or column, in bytes.
pub const NAME_BYTES_MAX: usize = 63;
/// The most columns of one statement.
pub const COLUMNS_MAX: usize = 100;

/// A column and its value.
pub type Column<'a> = (&'a str, &'a dyn ToSql);

/// The row of a projection that a version of an aggregate is written to.
#[derive(Clone, Copy)]
pub struct Projection<'a> {
    /// The table.
    pub table: &'a str,
    /// The column that names the row, which must be unique in the table, and its value.
    pub key: Column<'a>,
    /// The column that holds the version, and the version that is written.
    pub version: (&'a str, u64),
}

impl std::fmt::Debug for Projection<'_> {
    /// The key may be a secret: only names show.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            table,
            key,
            version,
        } = self;
        write!(
            f,
            "Projection({table}.{}, {} {})",
            key.0, version.0, version.1
        )
    }
}

/// Writes a row unless it shows this version or a newer one already; whether it was written.
///
/// A row that does not exist is inserted. A row whose version is null counts as older than any.
pub fn upsert_newer(
    connection: &Connection,
    to: &Projection<'_>,
    columns: &[Column<'_>],
) -> Result<bool> {
    let version = i64::try_from(to.version.1).map_err(|_| {
        Error::invalid(format!(
            "a version is at most {}, found {}",
            i64::MAX,
            to.version.1
        ))
    })?;
    let mut all: Vec<Column<'_>> = vec![to.key, (to.version.0, &version)];
    all.extend(columns);
    let names = quoted_all(&all)?;
    let assignments: Vec<String> = names[1..]
        .iter()
        .map(|name| format!("{name} = excluded.{name}"))
        .collect();
    let sql = format!(
        "INSERT INTO {table} AS semel_row ({columns}) VALUES ({places}) \
         ON CONFLICT ({key}) DO UPDATE SET {assignments} \
         WHERE semel_row.{version} IS NULL OR excluded.{version} > semel_row.{version}",
        table = quoted_table(to.table)?,
        columns = names.join(", "),
        places = places(names.len()),
        key = names[0],
        assignments = assignments.join(", "),
        version = names[1],
    );
    changed(connection, &sql, all.iter().map(|(_, value)| *value))
}

/// Changes a row only if it is as expected: compare and set. Whether it was.
///
/// `false` also means that there is no such row. A null in `from` is equal to a null.
pub fn transition(
    connection: &Connection,
    table: &str,
    key: Column<'_>,
    from: &[Column<'_>],
    to: &[Column<'_>],
) -> Result<bool> {
    if from.is_empty() || to.is_empty() {
        return Err(Error::invalid(
            "a transition must say which columns it compares and which it sets, found none",
        ));
    }
    let compared: Vec<Column<'_>> = std::iter::once(key).chain(from.iter().copied()).collect();
    let conditions: Vec<String> = quoted_all(&compared)?
        .iter()
        // Named with its row, a column that does not exist is an error and never a text.
        .map(|name| format!("semel_row.{name} IS ?"))
        .collect();
    let assignments: Vec<String> = quoted_all(to)?
        .iter()
        .map(|name| format!("{name} = ?"))
        .collect();
    let sql = format!(
        "UPDATE {} AS semel_row SET {} WHERE {}",
        quoted_table(table)?,
        assignments.join(", "),
        conditions.join(" AND ")
    );
    let values = to.iter().chain(&compared).map(|(_, value)| *value);
    changed(connection, &sql, values)
}

/// Creates a row unless one with this key exists; whether it was created.
///
/// The key's column must be unique in the table. A row that exists stays as it is, whatever its other columns say; another
/// rule of the table that the row would break is an error.
pub fn create_once(
    connection: &Connection,
    table: &str,
    key: Column<'_>,
    columns: &[Column<'_>],
) -> Result<bool> {
    let all: Vec<Column<'_>> = std::iter::once(key)
        .chain(columns.iter().copied())
        .collect();
    let names = quoted_all(&all)?;
    let sql = format!(
        "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO NOTHING",
        quoted_table(table)?,
        names.join(", "),
        places(names.len()),
        names[0],
    );
    changed(connection, &sql, all.iter().map(|(_, value)| *value))
}

fn changed<'a>(
    connection: &Connection,
    sql: &str,
    values: impl Iterator<Item = &'a dyn ToSql>,
) -> Result<bool> {
    let values: Vec<&dyn ToSql> = values.collect();
    let run = || connection.prepare_cached(sql)?.execute(values.as_slice());
    let changed = run().map_err(|e| from_sqlite("writing to a table of the user's", e))?;
    Ok(changed > 0)
}

fn places(count: usize) -> String {
    vec!["?"; count].join(", ")
}

/// The names of columns, quoted; each must be there once.
fn quoted_all(columns: &[Column<'_>]) -> Result<Vec<String>> {
    if columns.len() > COLUMNS_MAX {
        let message = format!(
            "a statement has at most {COLUMNS_MAX} columns, found {}",
            columns.len()
        );
        return Err(Error::new(Kind::Limit, message));
    }
    let mut names: Vec<String> = Vec::with_capacity(columns.len());
    for (name, _) in columns {
        let quoted = quoted(name)?;
        if names
            .iter()
            .any(|other| other.eq_ignore_ascii_case(&quoted))
        {
            let message = format!("a column is named once, found {name} twice");
            return Err(Error::invalid(message));
        }
        names.push(quoted);
    }
    Ok(names)
}

fn quoted_table(name: &str) -> Result<String> {
    match name.split_once('.') {
        Some((schema, table)) => Ok(format!("{}.{}", quoted(schema)?, quoted(table)?)),
        None => quoted(name),
    }
}

fn quoted(name: &str) -> Result<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let is_valid = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with(|c: char| c.is_ascii_digit());
    match is_valid {
        true => Ok(format!("\"{name}\"")),
        false => Err(Error::invalid(format!(
            "the name of a table or column has 1 to {NAME_BYTES_MAX} letters, digits and underscores and begins with \
             no digit, found {name:?}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn orders() -> Connection {
        let connection = Connection::open_in_memory().unwrap();
        let sql = "CREATE TABLE \"order\" (id TEXT PRIMARY KEY, version INTEGER, state TEXT, other TEXT UNIQUE)";
        connection.execute_batch(sql).unwrap();
        connection
    }

    fn at(version: u64) -> Projection<'static> {
        Projection {
            table: "order",
            key: ("id", &"o-1"),
            version: ("version", version),
        }
    }

    fn row(connection: &Connection) -> (Option<i64>, Option<String>) {
        let sql = "SELECT version, state FROM \"order\" WHERE id = 'o-1'";
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        connection.query_row(sql, [], read).unwrap()
    }

    #[test]
    fn only_a_newer_version_is_written() {
        let connection = orders();
        for (version, state, applies) in [
            (3, "c", true),
            (2, "b", false),
            (3, "again", false),
            (5, "e", true),
            (4, "d", false),
        ] {
            let columns: [Column<'_>; 1] = [("state", &state)];
            let applied = upsert_newer(&connection, &at(version), &columns).unwrap();
            assert_eq!(applied, applies, "version {version}");
        }
        assert_eq!(row(&connection), (Some(5), Some("e".to_owned())));
    }

    #[test]
    fn a_row_without_a_version_is_older_than_any() {
        let connection = orders();
        let sql = "INSERT INTO \"order\" (id, state) VALUES ('o-1', 'imported')";
        connection.execute(sql, []).unwrap();
        assert!(upsert_newer(&connection, &at(0), &[("state", &"first")]).unwrap());
        assert_eq!(row(&connection), (Some(0), Some("first".to_owned())));
    }

    #[test]
    fn a_transition_happens_once_and_only_from_where_it_begins() {
        let connection = orders();
        let key: Column<'_> = ("id", &"o-1");
        let go = |from: Option<&str>, to: &str| {
            transition(
                &connection,
                "order",
                key,
                &[("state", &from)],
                &[("state", &to)],
            )
            .unwrap()
        };
        assert!(!go(None, "placed"), "there is no row yet");
        assert!(create_once(&connection, "order", key, &[]).unwrap());
        assert!(go(None, "placed"));
        assert!(go(Some("placed"), "paid"));
        assert!(!go(Some("placed"), "paid"));
        assert!(!go(None, "placed"));
        assert_eq!(row(&connection).1.as_deref(), Some("paid"));
    }

    #[test]
    fn a_row_is_created_once_and_other_rules_still_hold() {
        let connection = orders();
        let create = |id: &str, other: &str| {
            create_once(&connection, "main.order", ("id", &id), &[("other", &other)])
        };
        assert!(create("o-1", "x").unwrap());
        assert!(!create("o-1", "y").unwrap());
        create("o-2", "x").expect_err("another column is unique too");
    }

    #[test]
    fn names_that_are_no_identifiers_are_refused() {
        let connection = orders();
        let key: Column<'_> = ("id", &"o-1");
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for bad in ["", "a b", "a\"b", "a;--", "1a", "a.b.c", "é", &long] {
            let error = create_once(&connection, bad, key, &[]).unwrap_err();
            assert_eq!(error.kind(), Kind::Invalid, "{bad:?}");
            let error = create_once(&connection, "order", (bad, &1), &[]).unwrap_err();
            assert_eq!(error.kind(), Kind::Invalid, "{bad:?}");
        }
        create_once(&connection, "order", key, &[("ID", &1)]).expect_err("named twice");
        let many = vec![("state", &1 as &dyn ToSql); COLUMNS_MAX];
        let error = create_once(&connection, "order", key, &many).unwrap_err();
        assert_eq!(error.kind(), Kind::Limit);
    }

    #[test]
    fn a_column_that_does_not_exist_is_an_error_and_never_a_text() {
        let connection = orders();
        let key: Column<'_> = ("id", &"o-1");
        create_once(&connection, "order", key, &[]).unwrap();
        let from: [Column<'_>; 1] = [("stat", &"stat")];
        let to: [Column<'_>; 1] = [("state", &"paid")];
        transition(&connection, "order", key, &from, &to).expect_err("there is no such column");
        let nothing = transition(&connection, "order", key, &[], &to);
        nothing.expect_err("what is compared must be said");
    }
}
