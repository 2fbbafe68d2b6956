//! A view of processed messages under a name that people choose.

use semel_core::{Error, Result};

use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::sql;

/// The most bytes of a name that PostgreSQL keeps.
const NAME_BYTES_MAX: usize = 63;
/// By this a view is known as ours.
const MARK: &str = "semel: processed messages";

/// The view on its way.
struct Exposing<'a>(&'a str);

impl Call for Exposing<'_> {
    type Answer = ();

    const DOING: &'static str = "making a view of processed messages";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<(), Failure> {
        let (schema, name) = (&engine.schema, self.0);
        // Two processes may do this at once, and the second must find it done.
        let alone =
            format!("SELECT pg_advisory_xact_lock(hashtextextended('semel view {schema}', 0))");
        link.run(&alone).await?;
        let there = format!(
            "SELECT c.relkind::text, obj_description(c.oid, 'pg_class') FROM pg_class c \
             WHERE c.relnamespace = '{schema}'::regnamespace AND c.relname = '{name}'"
        );
        let rows = link.ask(&there, &[]).await?;
        match rows.first() {
            None => link.run(&sql::text(schema, &create(name))).await,
            Some(row) if row.text(0)? == Some("v") && row.text(1)? == Some(MARK) => Ok(()),
            Some(_) => Err(Error::invalid(format!(
                "{schema}.{name} should become a view of processed messages, and is something else already"
            ))
            .into()),
        }
    }
}

/// A consumer of version 1 is known by its plain name, as elsewhere.
fn create(name: &str) -> String {
    format!(
        "CREATE VIEW {{s}}{name} AS \
         SELECT CASE r.version WHEN 1 THEN r.scope ELSE r.scope || '@' || r.version END AS consumer_name, \
                r.key AS message_id, to_timestamp(r.settled_ms / 1000.0) AS processed_at \
         FROM {{s}}semel_records r \
         WHERE r.state = 2 AND r.flags & 1 = 0 AND r.expires_ms > {{now}}; \
         COMMENT ON VIEW {{s}}{name} IS '{MARK}'"
    )
}

fn check(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    let first = name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let fits = name.len() <= NAME_BYTES_MAX && !name.starts_with("semel_");
    if first && fits && name.chars().all(plain) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "a view's name has 1 to {NAME_BYTES_MAX} lowercase letters, digits and underscores, begins with no digit and \
         not with semel_, found {name:?}"
    )))
}

impl Engine {
    /// Makes a view of processed messages.
    pub(crate) async fn expose_processed(&self, view: &str) -> Result<()> {
        check(view)?;
        self.call_whole(&Exposing(view)).await
    }
}
