//! Loads rows of lanes: a few around where something happens, and more only if the rules ask for them.

use std::collections::BTreeMap;

use semel_core::Result;
use semel_core::inbox::Plan;
use semel_core::inbox::lanes::{Event, Row, Spot};

use super::super::rows::{WORK_COLUMNS, Work};
use super::{LaneKey, Lanes, sql_sequence, texts};
use crate::session::{Driver, Session};
use crate::value::Value;

/// How many of the first rows of each lane are loaded to begin with.
const FIRST: usize = 6;
/// How many rows on each side of an arrival are loaded to begin with.
const BESIDE: usize = 2;

/// A spot of a lane around which rows are wanted.
pub(super) type Wanted = (LaneKey, Spot);

impl<D: Driver> Session<'_, D> {
    /// Loads what the events of lanes will probably ask for.
    pub(super) async fn load_lanes(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
    ) -> Result<(), D::Error> {
        let (mut arrivals, mut others) = (Vec::new(), Vec::new());
        for (key, held) in &lanes.all {
            let is_arrival = |event: &Event| matches!(event, Event::Arrive(_));
            let spots = held.events.iter().filter(|event| is_arrival(event));
            arrivals.extend(spots.map(|event| (key.clone(), event.spot())));
            if !held.events.iter().all(is_arrival) {
                others.push(key.clone());
            }
        }
        if !others.is_empty() {
            self.load_first(plan, lanes, &others).await?;
        }
        if !arrivals.is_empty() {
            self.load_around(plan, lanes, &arrivals, BESIDE).await?;
        }
        Ok(())
    }

    async fn load_first(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
        keys: &[LaneKey],
    ) -> Result<(), D::Error> {
        let mut params = vec![Value::text(plan.consumer.to_string())];
        params.extend(texts(keys.iter()));
        params.push(count(FIRST));
        let rows = self.driver.rows(&self.sql.inbox.lane_first, params).await?;
        let mut found: BTreeMap<LaneKey, Vec<Row>> = BTreeMap::new();
        for row in &rows {
            let work = Work::of(row)?;
            let key = work.lane_key().unwrap_or_else(|| keys[0].clone());
            found.entry(key).or_default().push(work.row());
            lanes.learn(work);
        }
        for key in keys {
            let rows = found.remove(key).unwrap_or_default();
            if let Some(held) = lanes.all.get_mut(key) {
                let is_all = rows.len() < FIRST;
                held.window.load_first(rows, is_all);
            }
        }
        Ok(())
    }

    /// Loads so many rows on each side of spots.
    pub(super) async fn load_around(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
        wanted: &[Wanted],
        limit: usize,
    ) -> Result<(), D::Error> {
        let mut params = vec![Value::text(plan.consumer.to_string())];
        params.extend(texts(wanted.iter().map(|(key, _)| key)));
        let spots = || wanted.iter().map(|(_, spot)| spot);
        params.push(Value::ints(spots().map(|spot| sql_sequence(spot.sequence))));
        params.push(Value::ints(spots().map(|spot| spot.number)));
        let places = 0..i64::try_from(wanted.len()).unwrap_or(i64::MAX);
        params.push(Value::ints(places));
        params.push(count(limit));
        let rows = self
            .driver
            .rows(&self.sql.inbox.lane_around, params)
            .await?;
        let mut sides: Vec<[Vec<Row>; 2]> = vec![Default::default(); wanted.len()];
        for row in &rows {
            let work = Work::of(row)?;
            let at = usize::try_from(row.number(WORK_COLUMNS)?).unwrap_or(usize::MAX);
            let side = usize::from(row.number(WORK_COLUMNS + 1)? != 0);
            if let Some(sides) = sides.get_mut(at) {
                sides[side].push(work.row());
            }
            lanes.learn(work);
        }
        for ((key, spot), [before, after]) in wanted.iter().zip(sides) {
            if let Some(held) = lanes.all.get_mut(key) {
                let (begins, ends) = (before.len() < limit, after.len() < limit);
                held.window.load_around(*spot, before, begins, after, ends);
            }
        }
        Ok(())
    }

    /// Looks for what runs in lanes in which people have changed the order of things.
    pub(crate) async fn load_moving(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
    ) -> Result<(), D::Error> {
        if lanes.all.is_empty() {
            return Ok(());
        }
        let mut params = vec![Value::text(plan.consumer.to_string())];
        params.extend(lanes.texts());
        for row in &self.driver.rows(&self.sql.inbox.moving, params).await? {
            let key = LaneKey {
                lane: row.word(0)?.to_owned(),
                tenant: row.word(1)?.to_owned(),
            };
            let sequence = row
                .int(2)?
                .and_then(|sequence| u64::try_from(sequence).ok());
            let number = row.number(3)?;
            if let Some(held) = lanes.all.get_mut(&key) {
                held.window.load_moving(Spot { sequence, number });
            }
        }
        Ok(())
    }
}

impl Lanes {
    /// A row as it is stored, unless it has been changed since.
    fn learn(&mut self, work: Work) {
        self.works.entry(work.number).or_insert(work);
    }
}

fn count(limit: usize) -> Value {
    Value::int(i64::try_from(limit).unwrap_or(i64::MAX))
}
