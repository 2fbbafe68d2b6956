//! Rows of work that are locked, changed and written back.

use std::collections::HashMap;

use semel_core::Timestamp;
use semel_core::inbox::Plan;
use uuid::Uuid;

use super::rows::Work;
use crate::records::{sql_fence, sql_ms};
use crate::session::{Driver, Session};
use crate::value::Value;

impl<D: Driver> Session<'_, D> {
    /// Locks rows of work until the transaction ends.
    pub(crate) async fn lock_work(
        &mut self,
        digests: Vec<Uuid>,
    ) -> Result<HashMap<Uuid, Work>, D::Error> {
        let params = vec![Value::Uuids(digests)];
        let rows = self.driver.rows(&self.sql.inbox.lock_work, params).await?;
        let mut found = HashMap::with_capacity(rows.len());
        for row in &rows {
            let work = Work::of(row)?;
            found.insert(work.digest, work);
        }
        Ok(found)
    }

    /// Writes rows back.
    pub(crate) async fn save(&mut self, all: &[Work]) -> Result<(), D::Error> {
        if all.is_empty() {
            return Ok(());
        }
        let ints = |of: &dyn Fn(&Work) -> Option<i64>| Value::Ints(all.iter().map(of).collect());
        let texts =
            |of: &dyn Fn(&Work) -> Option<String>| Value::Texts(all.iter().map(of).collect());
        let params = vec![
            Value::Uuids(all.iter().map(|w| w.digest).collect()),
            ints(&|w| Some(w.changed_ms)),
            ints(&|w| w.due_ms),
            ints(&|w| w.deadline_ms),
            ints(&|w| w.sequence),
            ints(&|w| Some(w.attempts)),
            ints(&|w| Some(w.generation)),
            ints(&|w| Some(i64::from(w.state.number()))),
            ints(&|w| Some(i64::from(w.replay))),
            ints(&|w| Some(i64::from(w.stepped))),
            texts(&|w| w.worker.clone()),
            texts(&|w| w.lane.clone()),
            texts(&|w| w.cause.map(|cause| cause.name().to_owned())),
            texts(&|w| w.error.clone()),
            texts(&|w| w.tenant.clone()),
            ints(&|w| w.first_ms),
            ints(&|w| Some(w.key_generation)),
            ints(&|w| Some(i64::from(w.rebuild))),
            ints(&|w| Some(sql_fence(w.fence))),
        ];
        let saved = self.driver.rows(&self.sql.inbox.save, params);
        saved.await.map(drop)
    }

    /// Settles the records of rows that were passed over; the rows stay as long as the records.
    pub(crate) async fn settle_skipped(
        &mut self,
        plan: &Plan,
        digests: Vec<Uuid>,
        now: Timestamp,
    ) -> Result<(), D::Error> {
        if digests.is_empty() {
            return Ok(());
        }
        let keep = plan.retention;
        self.archive_ended(plan, &digests).await?;
        let params = vec![
            Value::Uuids(digests),
            Value::int(now.as_millis()),
            Value::int(sql_ms(keep.keep())),
            Value::int(if keep.archive() { 2 } else { 0 }),
        ];
        let settled = self.driver.rows(&self.sql.inbox.skip, params);
        settled.await.map(drop)
    }

    /// Archives records that are past their retention and about to be replaced.
    pub(crate) async fn archive_ended(
        &mut self,
        plan: &Plan,
        digests: &[Uuid],
    ) -> Result<(), D::Error> {
        if !plan.retention.archive() {
            return Ok(());
        }
        let params = vec![Value::Uuids(digests.to_vec())];
        let archived = self.driver.rows(&self.sql.inbox.archive_ended, params);
        archived.await.map(drop)
    }
}
