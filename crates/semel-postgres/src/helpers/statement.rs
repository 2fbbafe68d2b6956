//! The texts of the helpers, for any driver: parameters are `$1`, `$2`, … in the order that each function says. Each
//! affects one row if it changed something, and none if not.

use semel_core::{Error, Kind, Result};

/// The longest name of a table or column, in bytes.
pub const NAME_BYTES_MAX: usize = 63;
/// The most columns of one statement.
pub const COLUMNS_MAX: usize = 100;

/// Writes a row unless it shows this version or a newer one. Parameters: the key, the version, the columns in their order.
pub fn upsert_newer(table: &str, key: &str, version: &str, columns: &[&str]) -> Result<String> {
    let names = quoted_all([key, version].into_iter().chain(columns.iter().copied()))?;
    let assignments = names[1..].iter();
    let assignments: Vec<String> = assignments
        .map(|name| format!("{name} = excluded.{name}"))
        .collect();
    Ok(format!(
        "INSERT INTO {table} AS semel_row ({columns}) VALUES ({places}) \
         ON CONFLICT ({key}) DO UPDATE SET {assignments} \
         WHERE semel_row.{version} IS NULL OR excluded.{version} > semel_row.{version}",
        table = quoted_table(table)?,
        columns = names.join(", "),
        places = places(names.len()),
        key = names[0],
        assignments = assignments.join(", "),
        version = names[1],
    ))
}

/// Changes a row only if it is as expected. Parameters: the key, the columns that are compared, the columns that are set.
pub fn transition(table: &str, key: &str, from: &[&str], to: &[&str]) -> Result<String> {
    if from.is_empty() || to.is_empty() {
        return Err(Error::invalid(
            "a transition must say which columns it compares and which it sets, found none",
        ));
    }
    let compared = quoted_all(std::iter::once(key).chain(from.iter().copied()))?;
    let set = quoted_all(to.iter().copied())?;
    let conditions = compared.iter().enumerate();
    let conditions: Vec<String> = conditions
        .map(|(at, name)| format!("semel_row.{name} IS NOT DISTINCT FROM ${}", at + 1))
        .collect();
    let assignments = set.iter().enumerate();
    let assignments: Vec<String> = assignments
        .map(|(at, name)| format!("{name} = ${}", compared.len() + at + 1))
        .collect();
    Ok(format!(
        "UPDATE {} AS semel_row SET {} WHERE {}",
        quoted_table(table)?,
        assignments.join(", "),
        conditions.join(" AND ")
    ))
}

/// Creates a row unless one with this key exists. Parameters: the key, the columns in their order.
pub fn create_once(table: &str, key: &str, columns: &[&str]) -> Result<String> {
    let names = quoted_all(std::iter::once(key).chain(columns.iter().copied()))?;
    Ok(format!(
        "INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO NOTHING",
        quoted_table(table)?,
        names.join(", "),
        places(names.len()),
        names[0],
    ))
}

fn places(count: usize) -> String {
    let places: Vec<String> = (1..=count).map(|at| format!("${at}")).collect();
    places.join(", ")
}

/// The names of columns, quoted; each must be there once.
fn quoted_all<'a>(columns: impl Iterator<Item = &'a str>) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for name in columns {
        let quoted = quoted(name)?;
        if names.contains(&quoted) {
            let message = format!("a column is named once, found {name} twice");
            return Err(Error::invalid(message));
        }
        names.push(quoted);
    }
    if names.len() > COLUMNS_MAX {
        let found = names.len();
        let message = format!("a statement has at most {COLUMNS_MAX} columns, found {found}");
        return Err(Error::new(Kind::Limit, message));
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

    #[test]
    fn names_that_are_no_identifiers_are_refused() {
        let long = "x".repeat(NAME_BYTES_MAX + 1);
        for bad in ["", "a b", "a\"b", "a;--", "1a", "a.b.c", "é", &long] {
            assert!(create_once(bad, "id", &[]).is_err(), "{bad}");
            assert!(create_once("t", bad, &[]).is_err(), "{bad}");
            assert!(upsert_newer("t", "id", bad, &[]).is_err(), "{bad}");
            assert!(transition("t", "id", &[bad], &["a"]).is_err(), "{bad}");
        }
        assert!(create_once("s.t", "id", &["a", "a"]).is_err());
        assert!(transition("t", "id", &[], &["a"]).is_err());
        let many: Vec<String> = (0..COLUMNS_MAX).map(|n| format!("c{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(create_once("t", "id", &many).is_err());
    }
}
