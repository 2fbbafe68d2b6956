//! Housekeeping: what belongs to messages that are past their retention. The messages themselves go by months.

use crate::session::{Driver, Session};
use crate::value::Value;

/// The tables that follow their messages.
const NOTES: [&str; 4] = [
    "semel_attempts",
    "semel_transitions",
    "semel_steps",
    "semel_duplicates",
];

impl<D: Driver> Session<'_, D> {
    /// One bounded step; says whether there is more to do.
    pub(crate) async fn sweep_inbox(&mut self, limit: usize) -> Result<bool, D::Error> {
        let count = i64::try_from(limit).unwrap_or(i64::MAX);
        let sql = &self.sql.inbox;
        let mut more = false;
        for statement in [&sql.sweep_skipped, &sql.sweep_rest] {
            let gone = self.driver.rows(statement, vec![Value::int(count)]).await?;
            more |= gone.len() >= limit;
        }
        for table in NOTES {
            let statement = sql.sweep_notes.replace("{table}", table);
            let rows = self
                .driver
                .rows(&statement, vec![Value::int(count)])
                .await?;
            let looked_at = rows.first().map_or(Ok(0), |row| row.number(0))?;
            more |= looked_at >= count;
        }
        Ok(more)
    }
}
