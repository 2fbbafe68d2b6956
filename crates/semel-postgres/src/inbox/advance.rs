//! Housekeeping of lanes: waits for missing versions that have lasted too long, and what claims left for their lanes to hear.

use std::collections::BTreeSet;

use semel_core::inbox::{Cause, Order, Plan, State};
use semel_core::{Result, Timestamp};
use uuid::Uuid;

use super::lanes::{Care, Places, stick};
use super::notes::Transition;
use super::rows::Work;
use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::session::{Driver, Session};
use crate::value::Value;

/// The most rows of one step.
const STEP_MAX: usize = 1_024;

/// A step of housekeeping on its way.
pub(crate) struct Advancing<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) limit: usize,
}

/// What a step did.
#[derive(Debug, Default)]
pub(crate) struct Advanced {
    pub(crate) changed: usize,
    pub(crate) due: bool,
}

impl Call for Advancing<'_> {
    type Answer = Advanced;

    const DOING: &'static str = "advancing lanes";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<Advanced, Failure> {
        let mut session = Session::new(link, &engine.sql);
        session
            .advance_lanes(self.plan, self.limit.min(STEP_MAX))
            .await
    }
}

impl<D: Driver> Session<'_, D> {
    async fn advance_lanes(&mut self, plan: &Plan, limit: usize) -> Result<Advanced, D::Error> {
        let sql = match plan.order {
            Order::None => &self.sql.inbox.stranded,
            Order::Arrival { .. } | Order::Sequence { .. } => &self.sql.inbox.overdue,
        };
        let params = vec![
            Value::text(plan.consumer.to_string()),
            Value::int(i64::try_from(limit).unwrap_or(i64::MAX)),
        ];
        let rows = self.driver.rows(sql, params).await?;
        if rows.is_empty() {
            return Ok(Advanced::default());
        }
        let (mut digests, mut names): (Vec<Uuid>, BTreeSet<String>) = (Vec::new(), BTreeSet::new());
        for row in &rows {
            digests.push(row.digest(0)?);
            names.insert(row.word(1)?.to_owned());
        }
        let lanes = self.lock_lanes(plan, names).await?;
        let mut places = self.look_into(plan, lanes).await?;
        let locked = self.lock_work(digests).await?;
        let now = self.now().await?;
        let patience = Patience::ended(plan, &mut places, locked.into_values(), now);
        self.save(&patience.saved).await?;
        self.note_transitions(&patience.notes).await?;
        let due = self.turn(plan, &mut places.lanes, Care::Usual, now).await?;
        let changed = match plan.order {
            Order::None => places.lanes.len(),
            Order::Arrival { .. } | Order::Sequence { .. } => patience.changed,
        };
        Ok(Advanced { changed, due })
    }
}

/// What becomes of rows that have waited long enough.
#[derive(Debug, Default)]
struct Patience {
    saved: Vec<Work>,
    notes: Vec<Transition>,
    changed: usize,
}

impl Patience {
    fn ended(
        plan: &Plan,
        places: &mut Places,
        rows: impl Iterator<Item = Work>,
        now: Timestamp,
    ) -> Self {
        let mut ended = Self::default();
        for work in rows {
            let overdue = work.deadline_ms.is_some_and(|at| at <= now.as_millis());
            if overdue && work.state == State::Parked {
                ended.end(plan, places, work, now);
            }
        }
        ended.saved.sort_by_key(|work| work.digest);
        ended
    }

    fn end(&mut self, plan: &Plan, places: &mut Places, mut work: Work, now: Timestamp) {
        let Some(name) = work.lane.clone() else {
            return;
        };
        let missing = work
            .sequence
            .is_some_and(|sequence| places.is_missing_before(&name, sequence));
        work.deadline_ms = None;
        if work.is_stuck() {
            // Its worker was lost, and whoever found out knew nothing of lanes.
            self.changed += 1;
            if let Some(lane) = places.lanes.get_mut(&name) {
                stick(plan, lane, &mut work);
            }
        } else if missing {
            self.changed += 1;
            work.cause = Some(Cause::GapExpired);
            self.notes
                .push(Transition::of(&work, Cause::GapExpired, now));
        }
        // Otherwise everything that it waits for has arrived, and there is nothing to run out of.
        self.saved.push(work);
    }
}
