//! Lanes in which messages wait for others.

use semel_core::inbox::WaitingLane;
use semel_core::inbox::seen::WAITING_MAX;
use semel_core::store::PAGE_MAX;
use semel_core::{Result, Scope, Timestamp};

use super::super::rows::unsigned;
use super::list::{ENTRY_COLUMNS, entry_of};
use crate::engine::Engine;
use crate::value::{Row, Value};

impl Engine {
    /// The lanes of a consumer in which messages wait for others, that with the oldest of them first.
    pub(crate) async fn waiting_lanes(
        &self,
        consumer: &Scope,
        limit: usize,
    ) -> Result<Vec<WaitingLane>> {
        let number = |number: usize| Value::int(i64::try_from(number).unwrap_or(i64::MAX));
        let params = [
            Value::text(consumer.to_string()),
            number(WAITING_MAX),
            number(limit.min(PAGE_MAX)),
        ];
        let sql = &self.sql.inbox.waiting_lanes;
        let rows = self
            .read("looking for lanes that wait", sql, &params)
            .await?;
        rows.iter().map(lane_of).collect()
    }
}

fn lane_of(row: &Row) -> Result<WaitingLane> {
    Ok(WaitingLane {
        head: entry_of(row, 0)?,
        waiting: unsigned(row.int(ENTRY_COLUMNS)?).unwrap_or(0),
        oldest: Timestamp::from_millis(row.number(ENTRY_COLUMNS + 1)?),
    })
}
