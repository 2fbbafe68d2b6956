//! Carries out what happens to lanes, and writes what it changed.

use std::collections::{BTreeMap, BTreeSet};

use semel_core::inbox::lanes::{Change, Placed, Window};
use semel_core::inbox::operate::OPERATE_MAX;
use semel_core::inbox::{Plan, State};
use semel_core::{Error, Kind, Timestamp};

use super::super::notes::Transition;
use super::super::rows::Work;
use super::load::Wanted;
use super::{LaneKey, Lanes, forget_after, texts};
use crate::session::{Driver, Session};
use crate::value::Value;

/// How many rows around a spot are loaded when the rules ask for more, at first and at most.
const AROUND: usize = 64;
const AROUND_MAX: usize = 1_024;
/// How often more rows are loaded.
const ROUNDS_MAX: usize = 200;

/// What the events of one lane answered, in their order.
pub(crate) type Answers = BTreeMap<LaneKey, Vec<Option<Placed>>>;

/// What became of lanes.
#[derive(Debug, Default)]
pub(crate) struct Settled {
    pub(crate) answers: Answers,
    /// Whether something became due.
    pub(crate) due: bool,
    /// What the rules changed of messages that are not stored yet, by their numbers.
    pub(crate) unstored: BTreeMap<i64, Change>,
    /// The lanes as they are afterwards.
    after: BTreeMap<LaneKey, Window>,
}

impl<D: Driver> Session<'_, D> {
    /// Lets everything happen that was noted, and writes what it changed. `changed` are the rows that the caller itself has changed.
    pub(crate) async fn settle_lanes(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
        changed: BTreeSet<i64>,
        now: Timestamp,
    ) -> Result<Settled, D::Error> {
        let settled = self.decide_lanes(plan, lanes, now).await?;
        self.write_lanes(plan, lanes, &settled, changed, now)
            .await?;
        Ok(settled)
    }

    /// What becomes of lanes by what was noted. Nothing is written.
    pub(crate) async fn decide_lanes(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
        now: Timestamp,
    ) -> Result<Settled, D::Error> {
        self.load_lanes(plan, lanes).await?;
        let (after, answers) = self.carry_out(plan, lanes, now).await?;
        let mut settled = Settled {
            answers,
            ..Settled::default()
        };
        for change in after.values().flat_map(Window::changes) {
            settled.due |= change.row.is_due;
            let number = change.row.spot.number;
            if !lanes.works.contains_key(&number) {
                settled.unstored.insert(number, *change);
            }
        }
        settled.after = after;
        Ok(settled)
    }

    /// Writes what was decided.
    pub(crate) async fn write_lanes(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
        settled: &Settled,
        mut changed: BTreeSet<i64>,
        now: Timestamp,
    ) -> Result<(), D::Error> {
        let (mut skipped, mut notes) = (Vec::new(), Vec::new());
        for (key, window) in &settled.after {
            for change in window.changes() {
                let number = change.row.spot.number;
                let Some(work) = lanes.works.get_mut(&number) else {
                    continue;
                };
                apply(plan, key, change, work, now);
                changed.insert(number);
                if change.is_skipped {
                    skipped.push(work.digest);
                }
            }
            notes.extend(window.notes().iter().filter_map(|(spot, note)| {
                let work = lanes.works.get(&spot.number)?;
                let mut noted = Transition::of(work, note.cause, now);
                noted.state = note.to;
                Some(noted)
            }));
            if let Some(held) = lanes.all.get_mut(key) {
                (held.window, held.events) = (window.clone().written(), Vec::new());
            }
        }
        let rows = changed.iter().filter_map(|number| lanes.works.get(number));
        let rows: Vec<Work> = rows.cloned().collect();
        self.save(&rows).await?;
        self.settle_skipped(plan, skipped, now).await?;
        self.note_transitions(&notes).await?;
        self.save_lanes(plan, &settled.after).await
    }

    /// The lanes as they are afterwards, and what their events answered. Whenever the rules ask for a row that was not loaded, more
    /// are loaded and that lane begins anew.
    async fn carry_out(
        &mut self,
        plan: &Plan,
        lanes: &mut Lanes,
        now: Timestamp,
    ) -> Result<(BTreeMap<LaneKey, Window>, Answers), D::Error> {
        let (mut after, mut answers) = (BTreeMap::new(), Answers::new());
        let happens = |lanes: &Lanes| -> Vec<LaneKey> {
            let some = lanes.all.iter().filter(|(_, held)| !held.events.is_empty());
            some.map(|(key, _)| key.clone()).collect()
        };
        let (mut open, mut around) = (happens(lanes), AROUND);
        for _ in 0..ROUNDS_MAX {
            let mut wanted: Vec<Wanted> = Vec::new();
            for key in std::mem::take(&mut open) {
                let held = &lanes.all[&key];
                let mut window = held.window.clone();
                match window.run(plan.order, now, &held.events, OPERATE_MAX) {
                    Ok(said) => {
                        answers.insert(key.clone(), said);
                        after.insert(key, window);
                    }
                    Err(beyond) => {
                        wanted.push((key.clone(), beyond.0));
                        open.push(key);
                    }
                }
            }
            if wanted.is_empty() {
                return Ok((after, answers));
            }
            self.load_around(plan, lanes, &wanted, around).await?;
            around = (around * 4).min(AROUND_MAX);
        }
        let message = "postgres, a lane is longer than one call can look at";
        Err(Error::new(Kind::Limit, message).into())
    }

    /// Writes lanes back that have moved on.
    async fn save_lanes(
        &mut self,
        plan: &Plan,
        lanes: &BTreeMap<LaneKey, Window>,
    ) -> Result<(), D::Error> {
        let moved = lanes
            .iter()
            .filter_map(|(key, window)| Some((key, window.passed()?)));
        let moved: Vec<_> = moved.collect();
        if moved.is_empty() {
            return Ok(());
        }
        let mut params = vec![Value::text(plan.consumer.to_string())];
        params.extend(texts(moved.iter().map(|(key, _)| *key)));
        params.push(Value::ints(moved.iter().map(|(_, next)| {
            i64::try_from(next.0).unwrap_or(i64::MAX).saturating_sub(1)
        })));
        params.push(Value::Int(forget_after(plan)));
        let saved = self.driver.rows(&self.sql.inbox.save_lanes, params);
        saved.await.map(drop)
    }
}

/// Puts a row where the rules have put it.
fn apply(plan: &Plan, key: &LaneKey, change: &Change, work: &mut Work, now: Timestamp) {
    let row = &change.row;
    if (work.state, work.cause) != (row.state, row.cause) {
        work.changed_ms = now.as_millis();
    }
    (work.state, work.cause) = (row.state, row.cause);
    work.due_ms = match (row.is_due, work.due_ms) {
        (false, _) => None,
        (true, due_ms) => due_ms.or(Some(now.as_millis())),
    };
    work.deadline_ms = change.deadline.map(Timestamp::as_millis);
    if change.has_left {
        work.leave();
        if work.state == State::SkippedDuplicate {
            work.deadline_ms = Some(now.after(plan.retention.keep()).as_millis());
        }
    } else {
        (work.lane, work.tenant) = (Some(key.lane.clone()), Some(key.tenant.clone()));
    }
}
