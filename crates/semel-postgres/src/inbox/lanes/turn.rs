//! The turn of lanes after something in them has changed.

use std::collections::{BTreeMap, BTreeSet};

use semel_core::Timestamp;
use semel_core::inbox::{OnTerminal, Plan, State};
use uuid::Uuid;

use super::super::rows::Work;
use super::front::moves;
use super::{Lanes, by_sequence};
use crate::session::{Driver, Session};
use crate::value::Value;

/// How many of each lane are looked at first; more if they do not tell.
const FRONT: usize = 4;
/// The most rows that one look brings.
const FRONT_MAX: usize = 1_024;

/// How closely a turn looks whether something of a lane moves already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Care {
    /// At the front, where it usually is.
    Usual,
    /// Everywhere: a person has changed the order of things.
    Thorough,
}

impl<D: Driver> Session<'_, D> {
    /// Lets lanes go on as far as they can: their next messages become due, older ones are skipped, those behind a head that
    /// is stuck are parked, and those whose head no longer is are let go. Says whether anything became due.
    pub(crate) async fn turn(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
        care: Care,
        now: Timestamp,
    ) -> Result<bool, D::Error> {
        if lanes.is_empty() {
            return Ok(false);
        }
        self.turn_stuck(plan, lanes, now).await?;
        let elsewhere = match care {
            Care::Thorough if !by_sequence(plan.order) => self.moving(plan, lanes).await?,
            Care::Usual | Care::Thorough => BTreeSet::new(),
        };
        let mut open: Vec<String> = lanes.keys().cloned().collect();
        let (mut due, mut limit) = (false, FRONT);
        while !open.is_empty() {
            let mut fronts = self.fronts(plan, &open, limit).await?;
            let (mut changed, mut notes) = (Vec::new(), Vec::new());
            open.retain(|name| {
                let front = fronts.remove(name).unwrap_or_default();
                let whole = front.len() < limit;
                let lane = lanes.get_mut(name).expect("the lane is locked");
                let moves = moves(plan, lane, front, elsewhere.contains(name), now);
                due |= moves.due;
                let more = !moves.stands && !whole;
                changed.extend(moves.changed);
                notes.extend(moves.notes);
                more
            });
            self.save(&changed).await?;
            self.note_transitions(&notes).await?;
            let skipped = |work: &&Work| work.state == State::SkippedDuplicate;
            let skipped: Vec<Uuid> = changed.iter().filter(skipped).map(|w| w.digest).collect();
            self.settle_skipped(plan, skipped, now).await?;
            if changed.is_empty() && limit == FRONT_MAX {
                // More marks than that wait for what is missing; nothing can go on before it comes.
                break;
            }
            limit = (limit * 8).min(FRONT_MAX);
        }
        self.save_lanes(plan, lanes).await?;
        Ok(due)
    }

    /// Those behind the first that is stuck are parked, those before it are not.
    async fn turn_stuck(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
        now: Timestamp,
    ) -> Result<(), D::Error> {
        let doubtful: Vec<String> = lanes
            .iter()
            .filter(|(_, lane)| lane.stuck)
            .map(|(name, _)| name.clone())
            .collect();
        if doubtful.is_empty() {
            return Ok(());
        }
        let mut stuck: BTreeMap<String, (Option<i64>, i64)> = BTreeMap::new();
        if plan.order.on_terminal() == OnTerminal::Park {
            let params = vec![
                Value::text(plan.consumer.to_string()),
                Value::texts(doubtful.iter().map(String::as_str)),
            ];
            let sql = &self.sql.inbox.first_stuck;
            for row in &self.driver.rows(sql, params).await? {
                stuck.insert(row.word(0)?.to_owned(), (row.int(1)?, row.number(2)?));
            }
        }
        for name in &doubtful {
            let lane = lanes.get_mut(name).expect("the lane is locked");
            let is_stuck = stuck.contains_key(name);
            lane.changed |= lane.stuck != is_stuck;
            lane.stuck = is_stuck;
        }
        let bounds = |names: &[String]| {
            let bound = |name: &String| stuck.get(name).copied();
            let texts = Value::texts(names.iter().map(String::as_str));
            let sequences = names.iter().map(|name| bound(name).and_then(|(s, _)| s));
            let numbers = names.iter().map(|name| bound(name).map(|(_, n)| n));
            vec![
                Value::text(plan.consumer.to_string()),
                texts,
                Value::Ints(sequences.collect()),
                Value::Ints(numbers.collect()),
                Value::int(now.as_millis()),
            ]
        };
        let sql = &self.sql.inbox;
        self.driver
            .rows(&sql.release_behind, bounds(&doubtful))
            .await?;
        let held: Vec<String> = stuck.keys().cloned().collect();
        if !held.is_empty() {
            self.driver.rows(&sql.hold_behind, bounds(&held)).await?;
        }
        Ok(())
    }

    async fn moving(&mut self, plan: &Plan, lanes: &Lanes) -> Result<BTreeSet<String>, D::Error> {
        let params = vec![
            Value::text(plan.consumer.to_string()),
            Value::texts(lanes.keys().map(String::as_str)),
        ];
        let rows = self.driver.rows(&self.sql.inbox.moving, params).await?;
        let mut names = BTreeSet::new();
        for row in &rows {
            names.insert(row.word(0)?.to_owned());
        }
        Ok(names)
    }

    async fn fronts(
        &mut self,
        plan: &Plan,
        names: &[String],
        limit: usize,
    ) -> Result<BTreeMap<String, Vec<Work>>, D::Error> {
        let params = vec![
            Value::text(plan.consumer.to_string()),
            Value::texts(names.iter().map(String::as_str)),
            Value::int(i64::try_from(limit).unwrap_or(i64::MAX)),
        ];
        let rows = self.driver.rows(&self.sql.inbox.fronts, params).await?;
        let mut fronts: BTreeMap<String, Vec<Work>> = BTreeMap::new();
        for row in &rows {
            let work = Work::of(row)?;
            let name = work.lane.clone().unwrap_or_default();
            fronts.entry(name).or_default().push(work);
        }
        Ok(fronts)
    }
}
