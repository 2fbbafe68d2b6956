//! A batch inside an open transaction: lock, decide, write in bulk.

use std::collections::HashMap;

use semel_core::inbox::decide::may_finish;
use semel_core::inbox::{Arrivals, BATCH_MAX, Disposition, Finish, Finished, Plan};
use semel_core::{Scope, Timestamp};
use uuid::Uuid;

use super::super::notes::Attempt;
use super::super::rows::Work;
use super::end::{Deciding, said};
use super::{FinishedBatch, complete_values, intents};
use crate::records::{digest, sql_fence, sql_ms};
use crate::session::{Driver, Session};
use crate::value::Value;

impl<D: Driver> Session<'_, D> {
    /// Ends attempts inside the open transaction.
    pub(crate) async fn finish_batch(
        &mut self,
        plan: &Plan,
        items: &[&Finish],
    ) -> Result<FinishedBatch, D::Error> {
        let digests = digests_of(items);
        let lanes = self.lock_lanes_of(plan, digests.clone()).await?;
        let mut locked = self.lock_work(digests).await?;
        let mut deciding = Deciding::new(lanes, self.now().await?);
        let (mut answers, mut completed) = (vec![None; items.len()], Vec::new());
        for (at, item) in items.iter().enumerate() {
            let held = locked
                .remove(&digest(&item.claim.identity))
                .filter(|work| may_finish(work.state, work.cause, work.fence, item.claim.fence));
            let Some(work) = held else { continue };
            answers[at] = Some(Finished::Done);
            match &item.disposition {
                Disposition::Completed { .. } => completed.push((*item, work)),
                _ => deciding.end(plan, item, work)?,
            }
        }
        self.complete(plan, &completed, &mut deciding).await?;
        self.write(plan, &mut deciding).await?;
        let mut late: Vec<usize> = (0..items.len())
            .filter(|at| answers[*at].is_none())
            .collect();
        // Messages are locked in the order of digests everywhere, so that two transactions never wait for each other.
        late.sort_by_key(|at| digest(&items[*at].claim.identity));
        for at in late {
            answers[at] = Some(self.judge_late(plan, items[at], deciding.now).await?);
        }
        Ok(FinishedBatch {
            answers: answers.into_iter().flatten().collect(),
            due: deciding.due,
        })
    }

    /// Completes messages, with their intents.
    async fn complete(
        &mut self,
        plan: &Plan,
        completed: &[(&Finish, Work)],
        deciding: &mut Deciding,
    ) -> Result<(), D::Error> {
        if completed.is_empty() {
            return Ok(());
        }
        let mut items: Vec<&Finish> = completed.iter().map(|(item, _)| *item).collect();
        items.sort_by_key(|item| digest(&item.claim.identity));
        self.archive_ended(plan, &digests_of(&items)).await?;
        let values = complete_values(plan, &items);
        self.driver.rows(&self.sql.inbox.complete, values).await?;
        for (_, work) in completed {
            deciding.applied(work)?;
        }
        self.receive_intents(completed, deciding).await
    }

    async fn receive_intents(
        &mut self,
        completed: &[(&Finish, Work)],
        deciding: &mut Deciding,
    ) -> Result<(), D::Error> {
        let mut by_target: HashMap<&Scope, Arrivals> = HashMap::new();
        for intent in completed.iter().flat_map(|(item, _)| intents(item)) {
            let arrivals = by_target.entry(&intent.plan.consumer);
            let arrivals = arrivals.or_insert_with(|| Arrivals {
                plan: intent.plan.as_ref().clone(),
                messages: Vec::new(),
                positions: Vec::new(),
            });
            arrivals.messages.push(intent.message.clone());
        }
        let mut by_target: Vec<Arrivals> = by_target.into_values().collect();
        by_target.sort_by(|a, b| a.plan.consumer.cmp(&b.plan.consumer));
        for mut arrivals in by_target {
            for piece in std::mem::take(&mut arrivals.messages).chunks(BATCH_MAX) {
                arrivals.messages = piece.to_vec();
                if self.receive(&arrivals).await?.due {
                    deciding.due.insert(arrivals.plan.consumer.clone());
                }
            }
        }
        Ok(())
    }

    async fn write(&mut self, plan: &Plan, deciding: &mut Deciding) -> Result<(), D::Error> {
        let changed = std::mem::take(&mut deciding.changed);
        let settled = self
            .settle_lanes(plan, &mut deciding.lanes, changed, deciding.now)
            .await?;
        let skipped = std::mem::take(&mut deciding.skipped);
        self.settle_skipped(plan, skipped, deciding.now).await?;
        self.note_attempts(&deciding.attempts).await?;
        self.note_transitions(&deciding.notes).await?;
        if settled.due {
            deciding.due.insert(plan.consumer.clone());
        }
        Ok(())
    }

    /// Whether this very end is what there is already; otherwise it is late, and kept as that.
    async fn judge_late(
        &mut self,
        plan: &Plan,
        item: &Finish,
        now: Timestamp,
    ) -> Result<Finished, D::Error> {
        let (digest, fence) = (digest(&item.claim.identity), item.claim.fence);
        let state = i64::from(item.disposition.state().number());
        let params = vec![
            Value::Uuid(Some(digest)),
            Value::int(sql_fence(fence)),
            Value::int(state),
        ];
        let rows = self.driver.rows(&self.sql.inbox.ended, params).await?;
        let row = rows
            .first()
            .ok_or_else(|| crate::error::damaged("no answer about an end"))?;
        if row.number(0)? != 0 {
            return Ok(Finished::Done);
        }
        let (cause, error) = said(&item.disposition);
        // An erasure leaves nothing of a message's contents, and a late attempt brings nothing back.
        let error = match error {
            Some(_) if self.is_erased(digest).await? => None,
            error => error,
        };
        let took = sql_ms(item.took);
        let late = Attempt {
            digest,
            expires_ms: row
                .int(1)?
                .unwrap_or(now.after(plan.retention.keep()).as_millis()),
            fence,
            began_ms: now.as_millis().saturating_sub(took),
            ended_ms: now.as_millis(),
            generation: row.int(2)?.unwrap_or(0),
            number: 0,
            state: item.disposition.state(),
            late: true,
            worker: None,
            cause,
            error: error.map(|error| error.as_str().to_owned()),
            answer: error.and_then(|error| error.answer().cloned()),
        };
        self.note_attempts(&[late]).await?;
        Ok(Finished::Lost)
    }

    /// Whether contents that arrived under this id were erased.
    async fn is_erased(&mut self, digest: Uuid) -> Result<bool, D::Error> {
        let params = vec![Value::Uuid(Some(digest))];
        let mut is_erased = false;
        for row in &self.driver.rows(&self.sql.inbox.erased, params).await? {
            is_erased |= row.number(0)? != 0;
        }
        Ok(is_erased)
    }
}

fn digests_of(items: &[&Finish]) -> Vec<Uuid> {
    items
        .iter()
        .map(|item| digest(&item.claim.identity))
        .collect()
}
