//! Housekeeping: what belongs to messages that are past their retention. The messages themselves go by months.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::session::{Driver, Session};
use crate::value::Value;

/// The tables that follow their messages.
const NOTES: [&str; 5] = [
    "semel_attempts",
    "semel_transitions",
    "semel_steps",
    "semel_duplicates",
    "semel_edits",
];

/// The most lanes that one step looks at.
const LANES: usize = 1_024;

/// Where the walk over the lanes stands in this process: the last one that was looked at.
#[derive(Debug, Default)]
pub(crate) struct LaneWalk(Mutex<Stand>);

/// A consumer, a lane and a tenant.
type Stand = (String, String, String);

impl LaneWalk {
    fn stands(&self) -> MutexGuard<'_, Stand> {
        // Names are replaced at once, so a poisoned lock protects nothing.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<D: Driver> Session<'_, D> {
    /// Forgets lanes that have had their time, among the next ones of a slow walk over all.
    pub(crate) async fn sweep_lanes(&mut self, walk: &LaneWalk) -> Result<(), D::Error> {
        let (consumer, lane, tenant) = walk.stands().clone();
        let params = vec![
            Value::text(consumer),
            Value::text(lane),
            Value::text(tenant),
            Value::int(i64::try_from(LANES).unwrap_or(i64::MAX)),
        ];
        let sql = &self.sql.inbox;
        let rows = self.driver.rows(&sql.held_lanes, params).await?;
        let (mut held, mut last) = (Vec::new(), Default::default());
        for row in &rows {
            let word = |at| Ok::<_, semel_core::Error>(row.word(at)?.to_owned());
            last = (word(0)?, word(1)?, word(2)?);
            if row.number(3)? == 1 {
                held.push(last.clone());
            }
        }
        if !held.is_empty() {
            let consumers = Value::texts(held.iter().map(|(consumer, _, _)| consumer.as_str()));
            let lanes = Value::texts(held.iter().map(|(_, lane, _)| lane.as_str()));
            let tenants = Value::texts(held.iter().map(|(_, _, tenant)| tenant.as_str()));
            let params = vec![consumers, lanes, tenants];
            self.driver.rows(&sql.sweep_lanes, params).await?;
        }
        // At the end it begins anew.
        *walk.stands() = match rows.len() < LANES {
            true => Default::default(),
            false => last,
        };
        Ok(())
    }

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
