//! A view of what was processed, for people and tools that look for such a table.

use rusqlite::params;
use semel_core::{Error, Result};

use super::super::sql;
use crate::verbs::Session;

/// The longest name of a view, in bytes.
const NAME_BYTES_MAX: usize = 63;

/// Refuses names that are no plain identifiers, or ours.
pub(in crate::inbox) fn check(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let is_valid = (1..=NAME_BYTES_MAX).contains(&name.len())
        && name.chars().all(is_plain)
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.starts_with("semel_")
        && !name.starts_with("sqlite_");
    match is_valid {
        true => Ok(()),
        false => Err(Error::invalid(format!(
            "the name of a view has 1 to {NAME_BYTES_MAX} letters a-z, digits and underscores, begins with no digit \
             and not with semel_ or sqlite_, found {name:?}"
        ))),
    }
}

impl Session<'_> {
    /// Makes the view; its name has been checked.
    pub(in crate::inbox) fn expose_processed(&mut self, name: &str) -> Result<()> {
        let create = format!(
            "CREATE VIEW \"{name}\" AS \
             SELECT n.scope || '@' || n.version AS consumer_name, c.key AS message_id, \
             strftime('%Y-%m-%dT%H:%M:%fZ', o.settled_ms / 1000.0, 'unixepoch') AS processed_at \
             FROM semel_outcomes o JOIN semel_claims c USING (fence) \
             JOIN semel_consumers n ON n.scope = c.scope AND n.version = c.version"
        );
        let sql = "SELECT sql FROM sqlite_schema WHERE lower(name) = ?1";
        let found = sql::one(self.connection, sql, params![name], |row| {
            row.get::<_, Option<String>>(0)
        })?;
        match found.map(Option::unwrap_or_default) {
            None => self.connection.execute_batch(&create).map_err(sql::failed),
            Some(existing) if existing == create => Ok(()),
            Some(_) => Err(Error::invalid(format!(
                "the file has something else under the name {name:?}; choose another name for the view"
            ))),
        }
    }
}
