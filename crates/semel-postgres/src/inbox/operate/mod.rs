//! Changes by an operator's hand: select, lock, change, let the lanes go on, write it into the audit. A dry run does all
//! of it and rolls it back.

mod apply;
mod contents;
mod select;

use std::collections::{BTreeSet, HashMap, HashSet};

use semel_core::inbox::operate::OPERATE_MAX;
use semel_core::inbox::{Operation, Plan, Report};
use semel_core::store::AuditEntry;
use semel_core::{Result, Timestamp};
use uuid::Uuid;

use self::apply::Applying;
use self::select::Selected;
use super::lanes::{LaneKey, Lanes};
use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::session::{Driver, Session};
use crate::value::Value;

/// What an operation did.
#[derive(Debug)]
pub(crate) struct Operated {
    pub(crate) report: Report,
    /// Whether something became due.
    pub(crate) due: bool,
}

/// An operation on its way.
struct Operating<'a>(&'a Operation);

impl Call for Operating<'_> {
    type Answer = Operated;

    const DOING: &'static str = "changing messages by hand";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<Operated, Failure> {
        link.begin_patiently().await?;
        let operated = Session::new(link, &engine.sql).operate(self.0).await;
        match operated {
            Ok(mut predicted) if self.0.dry_run => {
                link.roll_back().await?;
                predicted.due = false;
                Ok(predicted)
            }
            operated => link.end(operated).await,
        }
    }
}

impl Engine {
    /// Changes messages by hand, or says what it would do.
    pub(crate) async fn operate(&self, operation: &Operation) -> Result<Operated> {
        operation.check_edit()?;
        select::check(&operation.select)?;
        self.call(&Operating(operation)).await
    }
}

impl<D: Driver> Session<'_, D> {
    async fn operate(&mut self, operation: &Operation) -> Result<Operated, D::Error> {
        let plan = &operation.plan;
        let hold = &self.sql.inbox.hold_months;
        self.driver.rows(hold, Vec::new()).await?;
        let mut selected = self.select(operation).await?;
        let more = selected.len() > OPERATE_MAX;
        selected.truncate(OPERATE_MAX);
        let digests: Vec<Uuid> = selected.iter().map(|selected| selected.digest).collect();
        let mut lanes = self.lanes_of_selected(plan, &selected, &digests).await?;
        self.load_moving(plan, &mut lanes).await?;
        let work = self.lock_work(digests.clone()).await?;
        self.look_again(operation.action, &mut selected, &work)
            .await?;
        let settled = self.settled(digests).await?;
        let now = self.now().await?;
        let mut applying = Applying::new(operation, lanes, settled, now);
        applying.report.more = more;
        applying.apply(selected, work)?;
        self.enter_replayed(&mut applying).await?;
        self.write_applied(plan, &mut applying).await?;
        applying.apply_to_waiting()?;
        self.write_applied(plan, &mut applying).await?;
        if !operation.dry_run {
            let line = audit_of(operation, &applying.report, now);
            self.note_audit(&line).await?;
        }
        Ok(Operated {
            due: applying.due,
            report: applying.report,
        })
    }

    /// Locks the lanes that messages belong to, and those in which they stand.
    async fn lanes_of_selected(
        &mut self,
        plan: &Plan,
        selected: &[Selected],
        digests: &[Uuid],
    ) -> Result<Lanes, D::Error> {
        let mut keys: BTreeSet<LaneKey> = selected
            .iter()
            .filter_map(|selected| Some(apply::home(plan, selected)?.0))
            .collect();
        let params = vec![Value::Uuids(digests.to_vec())];
        for row in &self.driver.rows(&self.sql.inbox.lanes_of, params).await? {
            keys.insert(LaneKey {
                lane: row.word(0)?.to_owned(),
                tenant: row.word(1)?.to_owned(),
            });
        }
        self.lock_lanes(plan, keys).await
    }

    /// Those of these messages whose records are settled.
    async fn settled(&mut self, digests: Vec<Uuid>) -> Result<HashSet<Uuid>, D::Error> {
        let params = vec![Value::Uuids(digests)];
        let rows = self.driver.rows(&self.sql.inbox.settled, params).await?;
        Ok(rows
            .iter()
            .map(|row| row.digest(0))
            .collect::<Result<_>>()?)
    }

    /// Makes work of completed messages that run once more.
    async fn enter_replayed(&mut self, applying: &mut Applying<'_>) -> Result<(), D::Error> {
        if applying.replayed.is_empty() {
            return Ok(());
        }
        let sql = &self.sql.inbox;
        let params = vec![
            Value::Uuids(applying.replayed.iter().map(|s| s.digest).collect()),
            Value::ints(applying.replayed.iter().map(|s| s.received_ms)),
        ];
        let mut generations = HashMap::new();
        for row in &self.driver.rows(&sql.generations, params).await? {
            generations.insert(row.digest(0)?, (row.number(1)? + 1, row.number(2)?));
        }
        let params = applying.enter_values(&generations);
        let entered = self.driver.rows(&sql.enter, params).await?;
        let entered: Vec<Uuid> = entered
            .iter()
            .map(|row| row.digest(0))
            .collect::<Result<_>>()?;
        let entered = self.lock_work(entered).await?;
        Ok(applying.entered(entered)?)
    }

    /// Sets the lanes right and writes what has changed.
    async fn write_applied(
        &mut self,
        plan: &Plan,
        applying: &mut Applying<'_>,
    ) -> Result<(), D::Error> {
        let (now, changed) = (applying.now, std::mem::take(&mut applying.changed));
        let settled = self
            .settle_lanes(plan, &mut applying.lanes, changed, now)
            .await?;
        applying.due |= settled.due;
        let forgotten = std::mem::take(&mut applying.forgotten);
        if !forgotten.is_empty() {
            let params = vec![Value::Uuids(forgotten)];
            self.driver
                .rows(&self.sql.inbox.forget_steps, params)
                .await?;
        }
        let skipped = std::mem::take(&mut applying.skipped);
        self.settle_skipped(plan, skipped, now).await?;
        if let Some(edited) = applying.edited.take() {
            self.note_edit(applying.operation, edited, now).await?;
        }
        let erased = std::mem::take(&mut applying.erased);
        if !erased.is_empty() {
            let params = vec![
                Value::Uuids(erased.iter().map(|(digest, _)| *digest).collect()),
                Value::ints(erased.iter().map(|(_, expires_ms)| *expires_ms)),
                Value::int(now.as_millis()),
            ];
            self.driver.rows(&self.sql.inbox.erase, params).await?;
        }
        let notes = std::mem::take(&mut applying.notes);
        self.note_transitions(&notes).await
    }
}

/// The line that an operation leaves.
fn audit_of(operation: &Operation, report: &Report, at: Timestamp) -> AuditEntry {
    AuditEntry {
        at,
        by: operation.by.as_str().to_owned(),
        verb: operation.verb.to_owned(),
        action: operation.action.name().to_owned(),
        scope: operation.plan.consumer.clone(),
        selection: operation.select.describe(),
        changed: report.changed,
        reason: operation.reason.clone(),
    }
}
