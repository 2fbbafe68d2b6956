//! Lanes that go on by themselves: waits for missing versions that have lasted too long, what a change of plan left behind, and what a
//! call left to do because it was too much for one transaction.

use std::collections::{BTreeMap, BTreeSet};

use semel_core::Result;
use semel_core::inbox::lanes::Event;
use semel_core::inbox::{Order, Plan};
use uuid::Uuid;

use super::lanes::LaneKey;
use super::tries::Call;
use crate::connection::{Failure, Link};
use crate::engine::Engine;
use crate::session::{Driver, Session};
use crate::value::Value;

/// The most rows of one step.
const STEP_MAX: usize = 1_024;

/// A step on its way.
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

    const DOING: &'static str = "moving lanes on";

    async fn make(&self, engine: &Engine, link: &mut Link) -> Result<Advanced, Failure> {
        let mut session = Session::new(link, &engine.sql);
        session
            .advance_lanes(self.plan, self.limit.min(STEP_MAX))
            .await
    }
}

impl<D: Driver> Session<'_, D> {
    async fn advance_lanes(&mut self, plan: &Plan, limit: usize) -> Result<Advanced, D::Error> {
        let params = vec![
            Value::text(plan.consumer.to_string()),
            Value::int(i64::try_from(limit).unwrap_or(i64::MAX)),
            Value::int(match plan.order {
                Order::None => 0,
                Order::Sequence { .. } => 1,
                Order::Arrival { .. } => 2,
            }),
        ];
        let rows = self.driver.rows(&self.sql.inbox.overdue, params).await?;
        if rows.is_empty() {
            return Ok(Advanced::default());
        }
        let mut overdue: BTreeMap<Uuid, LaneKey> = BTreeMap::new();
        for row in &rows {
            let key = LaneKey {
                lane: row.word(1)?.to_owned(),
                tenant: row.word(2)?.to_owned(),
            };
            overdue.insert(row.digest(0)?, key);
        }
        self.look_at(plan, overdue).await
    }

    /// Looks at lanes because of these rows, whose time has come.
    pub(crate) async fn look_at(
        &mut self,
        plan: &Plan,
        overdue: BTreeMap<Uuid, LaneKey>,
    ) -> Result<Advanced, D::Error> {
        let keys: BTreeSet<LaneKey> = overdue.values().cloned().collect();
        let mut lanes = self.lock_lanes(plan, keys).await?;
        self.load_moving(plan, &mut lanes).await?;
        let digests = overdue.into_keys().collect();
        let mut locked: Vec<_> = self.lock_work(digests).await?.into_values().collect();
        locked.sort_by_key(|work| work.number);
        let now = self.now().await?;
        for work in locked {
            let Some(key) = work.lane_key() else {
                continue;
            };
            let row = work.row();
            lanes.keep(work);
            lanes.happen(&key, Event::Overdue(row))?;
        }
        let settled = self
            .settle_lanes(plan, &mut lanes, BTreeSet::new(), now)
            .await?;
        let answers = settled.answers.values().flatten();
        Ok(Advanced {
            changed: answers.filter(|answer| answer.is_some()).count(),
            due: settled.due,
        })
    }
}
