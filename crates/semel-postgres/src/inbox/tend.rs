//! Housekeeping of lanes: waits for missing versions that have lasted too long, and what claims left for their lanes to hear.

use std::collections::BTreeSet;

use semel_core::Result;
use semel_core::inbox::{Cause, OnTerminal, Order, Plan, State};
use uuid::Uuid;

use super::lanes::{Care, by_sequence};
use super::notes::Transition;
use super::rows::Work;
use super::tries::Call;
use crate::engine::Engine;
use crate::link::{Failure, Link};
use crate::session::{Driver, Session};
use crate::value::Value;

/// The most rows of one step.
const STEP_MAX: usize = 1_024;

/// A step of housekeeping on its way.
pub(crate) struct Tending<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) limit: usize,
}

/// What a step did.
#[derive(Debug, Default)]
pub(crate) struct Tended {
    pub(crate) changed: usize,
    pub(crate) due: bool,
}

impl Call for Tending<'_> {
    type Answer = Tended;

    const DOING: &'static str = "tending lanes";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<Tended, Failure> {
        let mut session = Session::new(link, &engine.sql);
        session.tend(self.plan, self.limit.min(STEP_MAX)).await
    }
}

impl<D: Driver> Session<'_, D> {
    async fn tend(&mut self, plan: &Plan, limit: usize) -> Result<Tended, D::Error> {
        let count = Value::int(i64::try_from(limit).unwrap_or(i64::MAX));
        let sql = match plan.order {
            Order::None => &self.sql.inbox.stranded,
            Order::Arrival { .. } | Order::Sequence { .. } => &self.sql.inbox.overdue,
        };
        let params = vec![Value::text(plan.consumer.to_string()), count];
        let rows = self.driver.rows(sql, params).await?;
        if rows.is_empty() {
            return Ok(Tended::default());
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
        let (mut changed, mut notes, mut count) = (Vec::new(), Vec::new(), 0);
        for mut work in locked.into_values() {
            let overdue = work.deadline_ms.is_some_and(|at| at <= now.as_millis());
            let Some(name) = work
                .lane
                .clone()
                .filter(|_| overdue && work.state == State::Parked)
            else {
                continue;
            };
            work.deadline_ms = None;
            let missing = work
                .sequence
                .is_some_and(|s| places.is_missing_before(&name, s));
            let Some(lane) = places.lanes.get_mut(&name) else {
                continue;
            };
            if work.is_stuck() {
                count += 1;
                // Its worker was lost, and whoever found out knew nothing of lanes.
                match plan.order.on_terminal() {
                    OnTerminal::Park => lane.stick(),
                    OnTerminal::Advance => {
                        if by_sequence(plan.order) {
                            lane.advance(work.sequence);
                        }
                        work.leave();
                    }
                }
            } else if missing {
                // Otherwise everything that it waits for has arrived.
                count += 1;
                work.cause = Some(Cause::GapExpired);
                notes.push(Transition::of(&work, Cause::GapExpired, now));
            }
            changed.push(work);
        }
        changed.sort_by_key(|work: &Work| work.digest);
        self.save(&changed).await?;
        self.note_transitions(&notes).await?;
        let due = self.turn(plan, &mut places.lanes, Care::Usual, now).await?;
        let count = if plan.order == Order::None {
            places.lanes.len()
        } else {
            count
        };
        Ok(Tended {
            changed: count,
            due,
        })
    }
}
