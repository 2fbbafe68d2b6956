//! How far sources have been received, per partition, and the epochs of their readers.
//!
//! A receive holds the rows of its positions before it looks at anything else, and until it commits. So a reader that takes a partition
//! sees everything that the one before it has received, or refuses it.

use std::collections::HashMap;

use semel_core::inbox::{Progress, Taken};
use semel_core::{Result, Timestamp};

use super::rows::unsigned;
use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::error::damaged;
use crate::session::{Driver, Session};
use crate::value::Value;

/// Makes the caller the owner of positions. Made again because its answer was lost, it takes them from itself.
pub(crate) struct Taking<'a> {
    pub(crate) source: &'a str,
    pub(crate) partitions: &'a [String],
}

impl Call for Taking<'_> {
    type Answer = Vec<Taken>;

    const DOING: &'static str = "taking positions";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<Vec<Taken>, Failure> {
        let params = [
            Value::text(self.source),
            Value::texts(self.partitions.iter().map(String::as_str)),
        ];
        let sql = &engine.sql.inbox.take_positions;
        let mut found = HashMap::with_capacity(self.partitions.len());
        for row in &link.ask_alone(sql, &params).await? {
            let position = row.text(1)?.map(str::to_owned);
            found.insert(row.word(0)?.to_owned(), (position, epoch(row.number(2)?)));
        }
        let taken = self.partitions.iter().map(|partition| {
            let (position, epoch) = found
                .remove(partition)
                .ok_or_else(|| damaged("a position was not taken"))?;
            Ok(Taken {
                partition: partition.clone(),
                position,
                epoch,
            })
        });
        Ok(taken.collect::<Result<_>>()?)
    }
}

impl<D: Driver> Session<'_, D> {
    /// Holds positions until the transaction ends; an error if one of them has another owner.
    pub(crate) async fn hold_positions(&mut self, all: &[Progress]) -> Result<(), D::Error> {
        if all.is_empty() {
            return Ok(());
        }
        let params = vec![
            Value::texts(all.iter().map(|one| one.source.as_str())),
            Value::texts(all.iter().map(|one| one.partition.as_str())),
        ];
        let rows = self
            .driver
            .rows(&self.sql.inbox.hold_positions, params)
            .await?;
        let mut newest = HashMap::with_capacity(rows.len());
        for row in &rows {
            newest.insert((row.word(0)?, row.word(1)?), epoch(row.number(2)?));
        }
        for one in all {
            let newest = newest.get(&(one.source.as_str(), one.partition.as_str()));
            one.check_owner(newest.copied().unwrap_or(0))?;
        }
        Ok(())
    }

    /// Moves positions on that are held.
    pub(crate) async fn move_positions(
        &mut self,
        all: &[Progress],
        now: Timestamp,
    ) -> Result<(), D::Error> {
        if all.is_empty() {
            return Ok(());
        }
        let params = vec![
            Value::int(now.as_millis()),
            Value::texts(all.iter().map(|one| one.source.as_str())),
            Value::texts(all.iter().map(|one| one.partition.as_str())),
            Value::texts(all.iter().map(|one| one.position.as_str())),
        ];
        let moved = self.driver.rows(&self.sql.inbox.stand_at, params);
        moved.await.map(drop)
    }
}

fn epoch(number: i64) -> u64 {
    unsigned(Some(number)).unwrap_or(0)
}
