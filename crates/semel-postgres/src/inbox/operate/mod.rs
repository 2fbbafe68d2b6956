//! Changes by an operator's hand: select, lock, change, let the lanes go on, write it into the audit. A dry run does all
//! of it and rolls it back.

mod apply;
mod select;

use std::collections::BTreeSet;

use semel_core::inbox::operate::OPERATE_MAX;
use semel_core::inbox::{Cause, Operation, Plan, Report};
use semel_core::{Result, Timestamp};
use uuid::Uuid;

use self::apply::Applying;
use self::select::Selected;
use super::lanes::Care;
use super::rows::signed;
use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::session::{Driver, Session};
use crate::value::Value;

/// The most messages that a report shows.
const SAMPLE_MAX: usize = 10;

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
        select::check(&operation.select)?;
        self.call(&Operating(operation)).await
    }
}

/// Whether a message has a place in a lane.
fn has_lane(plan: &Plan, selected: &Selected) -> bool {
    let (lane, sequence) = (selected.lane.is_some(), selected.sequence.is_some());
    plan.order.has_lane(lane, sequence)
}

impl<D: Driver> Session<'_, D> {
    async fn operate(&mut self, operation: &Operation) -> Result<Operated, D::Error> {
        let plan = &operation.plan;
        let hold = &self.sql.inbox.hold_months;
        self.driver.rows(hold, Vec::new()).await?;
        let mut selected = self.select(operation).await?;
        let more = selected.len() > OPERATE_MAX;
        selected.truncate(OPERATE_MAX);
        let lanes: BTreeSet<String> = selected
            .iter()
            .filter(|selected| has_lane(plan, selected))
            .filter_map(|selected| selected.lane.clone())
            .collect();
        let lanes = self.lock_lanes(plan, lanes).await?;
        let digests: Vec<Uuid> = selected.iter().map(|selected| selected.digest).collect();
        let work = self.lock_work(digests).await?;
        let now = self.now().await?;
        let mut applying = Applying::new(operation, lanes, now);
        applying.apply(&selected, work);
        self.write_applied(plan, &mut applying).await?;
        let due = self
            .turn(plan, &mut applying.lanes, Care::Thorough, now)
            .await?;
        let report = report(&selected, &applying, more);
        if !operation.dry_run {
            self.note_audit(operation, &report, now).await?;
        }
        Ok(Operated {
            due: due || applying.due,
            report,
        })
    }

    async fn write_applied(
        &mut self,
        plan: &Plan,
        applying: &mut Applying<'_>,
    ) -> Result<(), D::Error> {
        let sql = &self.sql.inbox;
        let now = applying.now;
        self.save(&applying.saved).await?;
        if !applying.replayed.is_empty() {
            let params = vec![
                Value::Uuids(applying.replayed.iter().map(|s| s.digest).collect()),
                Value::ints(applying.replayed.iter().map(|s| s.received_ms)),
            ];
            for row in &self.driver.rows(&sql.generations, params).await? {
                applying.generation(row.digest(0)?, row.number(1)? + 1);
            }
            let params = applying.enter_values(plan);
            let entered = self.driver.rows(&sql.enter, params).await?;
            let entered: BTreeSet<Uuid> = entered
                .iter()
                .map(|row| row.digest(0))
                .collect::<Result<_>>()?;
            applying.note_entered(&entered);
        }
        let forgotten = std::mem::take(&mut applying.forgotten);
        if !forgotten.is_empty() {
            let params = vec![Value::Uuids(forgotten)];
            self.driver.rows(&sql.forget_steps, params).await?;
        }
        let skipped = std::mem::take(&mut applying.skipped);
        self.settle_skipped(plan, skipped, now).await?;
        self.note_transitions(&applying.notes).await
    }

    async fn note_audit(
        &mut self,
        operation: &Operation,
        report: &Report,
        now: Timestamp,
    ) -> Result<(), D::Error> {
        let params = vec![
            Value::int(now.as_millis()),
            Value::text(operation.by.as_str()),
            Value::text(operation.verb),
            Value::text(operation.action.name()),
            Value::text(operation.plan.consumer.to_string()),
            Value::text(operation.select.describe()),
            Value::int(signed(report.changed)),
            Value::Text(operation.reason.clone()),
        ];
        let noted = self.driver.rows(&self.sql.inbox.note_audit, params);
        noted.await.map(drop)
    }
}

fn report(selected: &[Selected], applying: &Applying<'_>, more: bool) -> Report {
    let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
    let changed: Vec<&Selected> = selected
        .iter()
        .filter(|selected| applying.changed.contains(&selected.digest))
        .collect();
    let conflicts = changed
        .iter()
        .filter(|selected| selected.cause == Some(Cause::Conflict));
    let gone = selected.iter().filter(|selected| selected.is_gone).count();
    Report {
        matched: count(selected.len()),
        changed: count(changed.len()),
        skipped: count(selected.len() - changed.len() - gone),
        settled: 0,
        older: 0,
        waiting: 0,
        conflicts: count(conflicts.count()),
        gone: count(gone),
        more,
        sample: changed
            .iter()
            .take(SAMPLE_MAX)
            .map(|selected| selected.identity.clone())
            .collect(),
    }
}
